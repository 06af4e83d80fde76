import { clock } from '../../clock/clock.ts';
import { UpstreamFailure, type FailureClass } from '../transport/upstream-response.ts';
import type { UpstreamHealth } from './upstream-health.ts';

/** Interval of probes without calls and polls. A little less than a minute, because rounds are not exact. */
const PROBE_INTERVAL_MS = 55_000;

/**
 * Age up to which the time of polls is known. With several workers, one polls, and the others check the chain id once a
 * minute.
 */
const MAX_POLL_AGE_MS = 150_000;

/** Failures in a row, without a response in between, after which the circuit opens: fewer may be chance. */
const FAILURES_IN_A_ROW = 2;
/** Time within which failures are one with several workers: each worker makes requests of its own. */
const SAME_FAILURE_MS = 1_000;
/** Failed polls in a row that open the circuit. Rejected credentials are no chance; a rate limit may be of one busy second. */
const pollsInRow: Partial<Record<FailureClass, number>> = { auth: 1, quota: 1, 'wrong-chain': 1, rate: 3 };

/** A failure of a request of the gateway itself. */
export type FailedRequest = Pick<UpstreamFailure, 'failure' | 'message' | 'retryAfterMs'>;

/** The topic of messages about polls to the other workers. */
export const POLL_TOPIC = 'upstream-polled';

export interface PollMessage {
  readonly network: string;
  readonly upstream: string;
  /** Failure; undefined: the upstream responds again. `isOfCall`: a call got `Retry-After`. */
  readonly failed: (FailedRequest & { readonly isOfCall?: true }) | undefined;
}

export interface OwnRequestsOptions {
  readonly health: UpstreamHealth;
  /** @param outcome `response`, or the failure class */
  readonly onEnd: (outcome: string) => void;
  /** Sends what a poll shows to the other workers, which do not poll. Undefined: there are none. */
  readonly onPolled: ((failed: PollMessage['failed']) => void) | undefined;
  /** Whether a call that was sent since this time was successful. */
  readonly hasServedCall: (since: number) => boolean;
}

/**
 * Makes the requests of the gateway itself to one upstream: polls of its head, lookups of blocks, and probes. Their failures
 * open its circuit, so that a standby upstream that fails is known before it gets a call.
 */
export class OwnRequests {
  readonly #options: OwnRequestsOptions;
  #sentAt = -Infinity;
  #failedAt = -Infinity;
  #failuresInRow = 0;
  respondedAt = -Infinity;
  /** Durations of the last polls, in ms. */
  #lastMs: number | undefined;
  #pollMs: number | undefined;
  #polledAt = -Infinity;

  constructor(options: OwnRequestsOptions) {
    this.#options = options;
  }

  /** The faster of the last two polls, in ms: the first one includes the connection. Undefined: they are not known, or old. */
  get pollMs(): number | undefined {
    return clock.now() - this.#polledAt > MAX_POLL_AGE_MS ? undefined : this.#pollMs;
  }

  /** @param calledAt time of the last response to a call */
  isProbeDue(calledAt: number, now: number): boolean {
    return now - Math.max(calledAt, this.#sentAt) >= PROBE_INTERVAL_MS;
  }

  /**
   * Makes a request and records its outcome.
   * @param isPoll a poll of the head, or a check of the chain id: it fails only if the upstream as a whole does
   * @param prepare a check of the chain id before it, which takes none of its time
   * @throws the error of `request` or `prepare`
   */
  async send<T>(request: (sentAt: number) => Promise<T>, isPoll: boolean, prepare?: () => Promise<void>): Promise<T> {
    const { onEnd, onPolled } = this.#options;
    const startedAt = clock.now();
    this.#sentAt = startedAt;
    try {
      if (prepare !== undefined) await prepare();
      const sentAt = clock.now();
      const result = await request(sentAt);
      onEnd('response');
      if (isPoll) this.#recordPollTime(clock.now() - sentAt);
      if (isPoll && this.#failedAt > this.respondedAt) onPolled?.(undefined);
      this.#recordResponse(startedAt);
      return result;
    } catch (error) {
      if (error instanceof UpstreamFailure) {
        const { failure, message, retryAfterMs } = error;
        onEnd(failure);
        if (isPoll) onPolled?.({ failure, message, retryAfterMs });
        this.#recordFailure(error, startedAt, isPoll);
      }
      throw error;
    }
  }

  /** Follows another worker, which has polled the upstream. */
  follow(failed: PollMessage['failed']): void {
    const now = clock.now();
    if (failed === undefined) this.#recordResponse(now);
    else if (failed.isOfCall === true) this.#options.health.recordFailure({ ...failed, detail: failed.message }, now);
    else this.#recordFailure(failed, now, true);
  }

  #recordPollTime(ms: number): void {
    if (this.#lastMs !== undefined) this.#pollMs = Math.min(ms, this.#lastMs);
    this.#lastMs = ms;
    this.#polledAt = clock.now();
  }

  #recordResponse(startedAt: number): void {
    const { health } = this.#options;
    this.respondedAt = clock.now();
    // It is a trial too: an upstream that is ranked below a working one may get no call.
    if (!health.circuit.isClosed && this.#isTrial(startedAt)) health.recordSuccess(startedAt, true);
  }

  /** Whether a request is a trial: after the cooldown, or after a failed request of the gateway, it shows what calls would get. */
  #isTrial(startedAt: number): boolean {
    const { circuit, openedAt } = this.#options.health;
    const hasFailed = this.#failedAt >= openedAt && this.#failedAt < startedAt;
    return circuit.isCooldownOver(this.respondedAt) || (hasFailed && circuit.pauseMs(this.respondedAt) === undefined);
  }

  #recordFailure({ failure, message, retryAfterMs }: FailedRequest, startedAt: number, isPoll: boolean): void {
    const { health, hasServedCall, onPolled } = this.#options;
    const now = clock.now();
    if (failure === 'node-state') {
      this.respondedAt = now;
      return;
    }
    const inRow = (isPoll || failure === 'wrong-chain' ? pollsInRow[failure] : undefined) ?? FAILURES_IN_A_ROW;
    const failedAt = this.#failedAt;
    // Simultaneous requests fail together.
    const isSameFailure = startedAt - (onPolled === undefined ? 0 : SAME_FAILURE_MS) <= failedAt;
    if (!isSameFailure) {
      const hasResponded = this.respondedAt > failedAt || hasServedCall(failedAt);
      this.#failuresInRow = hasResponded ? 1 : this.#failuresInRow + 1;
      this.#failedAt = now;
    }
    if (inRow > 1 && (isSameFailure || this.#failuresInRow < inRow)) return;
    const hasOpened = health.recordFailure({ failure, detail: message, retryAfterMs }, now);
    health.logFailure(failure, message, hasOpened);
  }
}
