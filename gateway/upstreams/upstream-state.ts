import type { Drain } from '../drains/drains.ts';
import type { UpstreamMetrics } from '../metrics/metrics.ts';
import type { Availability, HistoryBucket } from '../metrics/history.ts';
import type { UpstreamHealth, UpstreamTrouble } from './health/upstream-health.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import type { WithoutBatches } from './transport/transport.ts';
import type { MarkReason, UnsupportedMethods } from './unsupported-methods.ts';

export interface MarkState {
  readonly method: string;
  readonly reason: MarkReason;
  /** Seconds until the mark expires. */
  readonly forS: number;
}

/**
 * `unused`: no response and no failure yet. `failing`: the circuit is not closed, or calls failed without any response.
 * `overtaken`: the circuit is not closed, but only because hedged requests responded first, and it has responded since.
 */
export type ConnectionState = 'up' | 'unused' | 'overtaken' | 'failing' | 'other-chain' | 'drained';

/** Facts of an upstream for the status page. Contains no secrets. */
export interface UpstreamState {
  readonly name: string;
  /** Start and end of the drain; undefined: the upstream is not drained. */
  readonly drain: Pick<Drain, 'at' | 'until'> | undefined;
  /** Why and since when the circuit is open; undefined: it is closed. */
  readonly trouble: UpstreamTrouble | undefined;
  /** Seconds since the upstream last worked; undefined: not since the gateway started. */
  readonly workedS: number | undefined;
  /** Buckets of the last minutes, oldest first. */
  readonly history: readonly HistoryBucket[];
  /** Availability in the last 24 hours; undefined: not used yet. */
  readonly availability: Availability | undefined;
  /** The calls that may be in progress there, if latency or refusals have lowered that. */
  readonly concurrencyLimit: number | undefined;
  /** Why the calls of client batches are sent singly. */
  readonly withoutBatches: WithoutBatches | undefined;
  /** Methods for which other upstreams are selected first. */
  readonly marks: readonly MarkState[];
}

interface ConnectionParts {
  readonly health: UpstreamHealth;
  readonly isOnOtherChain: boolean;
  readonly drain: Drain | undefined;
  /** A call of this process failed. The history does not show that: it has the calls of all workers, and of a previous URL. */
  readonly hasFailed: boolean;
}

/** @param respondedAt time of its last response; -Infinity: none */
export function connectionStateOf(
  { health, isOnOtherChain, drain, hasFailed }: ConnectionParts,
  respondedAt: number,
): ConnectionState {
  if (drain !== undefined) return 'drained';
  if (isOnOtherChain) return 'other-chain';
  if (!health.circuit.isClosed)
    return health.isOnlyOvertaken && respondedAt > health.openedAt ? 'overtaken' : 'failing';
  if (respondedAt !== -Infinity) return 'up';
  return hasFailed ? 'failing' : 'unused';
}

interface UpstreamParts {
  readonly name: string;
  readonly health: UpstreamHealth;
  readonly drain: Drain | undefined;
  readonly methods: UnsupportedMethods;
  readonly withoutBatches: WithoutBatches | undefined;
  readonly concurrency: Pick<ConcurrencyLimit, 'limit' | 'isLowered'>;
  readonly metrics: Pick<UpstreamMetrics, 'history' | 'availability'>;
}

/** @param respondedAt time of its last response; -Infinity: none @param now on the same clock */
export function upstreamStateOf(
  { name, health, drain, methods, withoutBatches, concurrency, metrics }: UpstreamParts,
  respondedAt: number,
  now: number,
): UpstreamState {
  const history = metrics.history();
  const hasResponded = respondedAt !== -Infinity;
  const trouble = health.trouble(now);
  const workedS = Math.round((now - respondedAt) / 1000);
  return {
    name,
    // The page may be public: it does not name the operator.
    drain: drain && { at: drain.at, ...(drain.until !== undefined && { until: drain.until }) },
    trouble,
    // Responses that made the circuit open are no sign that it works.
    workedS: hasResponded ? Math.max(workedS, trouble?.forS ?? 0) : undefined,
    // Most of the bytes of the status.
    history: history.some(({ sent, failed }) => sent + failed > 0) ? history : [],
    availability: metrics.availability(),
    concurrencyLimit: concurrency.isLowered ? concurrency.limit : undefined,
    withoutBatches,
    marks: methods.marks().map(({ method, reason, deadline }) => {
      return { method, reason, forS: Math.max(0, Math.round((deadline - now) / 1000)) };
    }),
  };
}
