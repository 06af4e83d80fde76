import { Random } from '../../bench/random.ts';
import { Account } from '../../gateway/admission/account.ts';
import { Gate } from '../../gateway/admission/gate.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { ConcurrencyLimit, type EndedCall } from '../../gateway/upstreams/concurrency-limit.ts';

type Method = EndedCall['method'];

export const lookup: Method = { group: 'lookup', reverts: false };
export const ethCall: Method = { group: 'execution', reverts: true };

/**
 * An upstream in simulated time.
 * @param timeoutMs when the gateway closes the connection
 * @returns whether it served the call; false: it refused it
 */
export type UpstreamModel = (ms: number, timeoutMs?: number) => Promise<boolean>;

/**
 * Works on some calls at once; others wait in order.
 * @param isDropping calls whose connection is closed wait no longer, as in geth
 */
export function parallel(count: number, isDropping = false): UpstreamModel {
  const slots = new Gate({ slots: count, hasOneOwner: true, rejection: () => new Error('its connection is closed') });
  const owner = new Account('owner');
  return async (ms, timeoutMs = Infinity) => {
    if (!slots.tryEnter(owner)) {
      const waiting = slots.wait(owner, isDropping ? timeoutMs : Infinity, undefined);
      if (
        await waiting.then(
          () => false,
          () => true,
        )
      )
        return true;
    }
    await clock.sleep(ms);
    slots.leave(owner);
    return true;
  };
}

/** Refuses calls beyond some at once. */
export function refusing(count: number): UpstreamModel {
  let inProgress = 0;
  return async (ms) => {
    if (inProgress >= count) {
      await clock.sleep(5);
      return false;
    }
    inProgress++;
    await clock.sleep(ms);
    inProgress--;
    return true;
  };
}

/** Is slower with each call in progress. @param factor of the time, by the calls in progress */
export function slowing(factor: (calls: number) => number): UpstreamModel {
  let inProgress = 0;
  return async (ms) => {
    inProgress++;
    await clock.sleep(ms * factor(inProgress));
    inProgress--;
    return true;
  };
}

interface Clients {
  readonly owner: Account;
  readonly count: number;
  readonly method?: Method;
  /** Time of a call without load. */
  readonly ms: (now: number) => number;
  /** The gateway waits no longer; the upstream works on. Default: any time. */
  readonly timeoutMs?: number;
  /** Pause from the end of a call to the next one. */
  readonly pauseMs?: number;
}

/** Clients that each send their next call when they have a response, through the gate of one upstream. */
export class UpstreamLoad {
  readonly slots = new Gate({ slots: 256, rejection: () => new Error('not reached') });
  readonly found: ConcurrencyLimit | undefined;
  /** Calls that were served, by owner. */
  readonly served = new Map<Account, number>();
  refused = 0;
  /** Latencies of all calls, from the first wait on, by owner. */
  readonly latencies = new Map<Account, number[]>();
  readonly #upstream: UpstreamModel;
  #isStopped = false;

  /** @param isFound false: the limit stays 256 */
  constructor(upstream: UpstreamModel, isFound = true) {
    this.#upstream = upstream;
    if (isFound) this.found = new ConcurrencyLimit(this.slots);
  }

  start({ count, ...clients }: Clients): void {
    for (let client = 0; client < count; client++) void this.#call(clients);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #call({ owner, method = lookup, ms, timeoutMs, pauseMs }: Omit<Clients, 'count'>): Promise<void> {
    const latencies: number[] = [];
    if (timeoutMs !== undefined) this.latencies.set(owner, latencies);
    while (!this.#isStopped) {
      const sentAt = clock.now();
      if (!this.slots.tryEnter(owner)) await this.slots.wait(owner, Infinity, undefined);
      const startedAt = clock.now();
      const served = this.#upstream(ms(startedAt), timeoutMs);
      const ended = timeoutMs === undefined ? served : Promise.race([served, clock.sleep(timeoutMs).then(() => true)]);
      this.found?.watch({ method, owner, startedAt }, ended);
      const isServed = await ended;
      this.slots.leave(owner);
      this.found?.record({ method, owner, startedAt, isRefused: !isServed }, clock.now());
      latencies.push(clock.now() - sentAt);
      // As the gateway waits before the next attempt.
      if (!isServed) await clock.sleep(50);
      if (isServed) this.served.set(owner, (this.served.get(owner) ?? 0) + 1);
      else this.refused++;
      if (pauseMs !== undefined && isServed) await clock.sleep(pauseMs);
    }
  }
}

/** Lognormal times with this median. @param sigma 0.5: as over the internet */
export function times(medianMs: number, sigma: number, seed = 1): () => number {
  const random = new Random(seed);
  return () => medianMs * Math.exp(sigma * random.normal());
}
