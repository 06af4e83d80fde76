import { clock } from '../../clock/clock.ts';
import { UpstreamFailure } from '../transport/upstream-response.ts';
import type { UpstreamHealth } from './upstream-health.ts';

/** For an upstream that gets neither calls nor polls. A little less than a minute, because rounds are not exact. */
const PROBE_INTERVAL_MS = 55_000;

export interface OwnRequestsOptions {
  readonly health: UpstreamHealth;
  /** @param outcome `response`, or the failure class */
  readonly onEnd: (outcome: string) => void;
  /** Whether a call was successful since this time. */
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
  respondedAt = -Infinity;

  constructor(options: OwnRequestsOptions) {
    this.#options = options;
  }

  /** @param calledAt time of the last response to a call */
  isProbeDue(calledAt: number, now: number): boolean {
    return now - Math.max(calledAt, this.#sentAt) >= PROBE_INTERVAL_MS;
  }

  /** Makes a request and records its outcome. @throws the error of `request` */
  async send<T>(request: (startedAt: number) => Promise<T>): Promise<T> {
    const { health, onEnd } = this.#options;
    const startedAt = clock.now();
    this.#sentAt = startedAt;
    try {
      const result = await request(startedAt);
      this.respondedAt = clock.now();
      onEnd('response');
      // It is a trial too: an upstream that is ranked below a working one may get no call.
      if (!health.circuit.isClosed && health.circuit.isCooldownOver(this.respondedAt))
        health.recordSuccess(startedAt, true);
      return result;
    } catch (error) {
      if (error instanceof UpstreamFailure) this.#recordFailure(error, startedAt);
      throw error;
    }
  }

  /** One failed poll may be chance. The second one without a response in between counts like the failure of a call. */
  #recordFailure({ failure, message, retryAfterMs }: UpstreamFailure, startedAt: number): void {
    const { health, onEnd, hasServedCall } = this.#options;
    const now = clock.now();
    onEnd(failure);
    if (failure === 'node-state') {
      this.respondedAt = now;
      return;
    }
    const failedAt = this.#failedAt;
    // Simultaneous requests fail together.
    const isSameFailure = startedAt < failedAt;
    const isFirst = failedAt === -Infinity || this.respondedAt > failedAt || hasServedCall(failedAt);
    if (!isSameFailure) this.#failedAt = now;
    if ((isFirst || isSameFailure) && failure !== 'wrong-chain') return;
    const hasOpened = health.recordFailure({ failure, detail: message, retryAfterMs }, now);
    health.logFailure(failure, message, hasOpened);
  }
}
