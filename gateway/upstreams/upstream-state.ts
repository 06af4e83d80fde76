import type { HistoryBucket } from '../metrics/upstream-history.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { MarkReason, UnsupportedMethods } from './unsupported-methods.ts';

export interface MarkState {
  readonly method: string;
  readonly reason: MarkReason;
  /** Seconds until the mark expires. */
  readonly forS: number;
}

/** State of an upstream for the status page. Contains no secrets. */
export interface UpstreamState {
  readonly name: string;
  /** `unused`: no response yet. `failing`: the circuit is not closed, or no request was successful. */
  readonly state: 'up' | 'unused' | 'failing' | 'other-chain';
  /** Buckets of the last minutes, oldest first. */
  readonly history: readonly HistoryBucket[];
  /** Methods for which other upstreams are selected first. */
  readonly marks: readonly MarkState[];
}

interface UpstreamParts {
  readonly name: string;
  readonly circuit: CircuitBreaker;
  readonly isOnOtherChain: boolean;
  readonly methods: UnsupportedMethods;
}

/** @param hasResponded whether the upstream has ever responded */
export function upstreamStateOf(
  { name, circuit, isOnOtherChain, methods }: UpstreamParts,
  hasResponded: boolean,
  history: readonly HistoryBucket[],
  now: number,
): UpstreamState {
  const isFailing = !circuit.isClosed || (!hasResponded && history.some(({ sent }) => sent > 0));
  return {
    name,
    state: isOnOtherChain ? 'other-chain' : isFailing ? 'failing' : hasResponded ? 'up' : 'unused',
    history,
    marks: methods.marks().map(({ method, reason, deadline }) => {
      return { method, reason, forS: Math.max(0, Math.round((deadline - now) / 1000)) };
    }),
  };
}
