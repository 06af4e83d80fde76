import type { Random } from './random.ts';

/** How an upstream of a scenario takes its time. */
export interface UpstreamShape {
  /** Latency of a call: evenly distributed between two times, or lognormal with a median. Default: none. */
  readonly latency?: readonly [minMs: number, maxMs: number] | { readonly medianMs: number; readonly sigma: number };
  /** The calls of a batch are worked on one after the other. */
  readonly hasSerialBatches?: true;
  /** Calls that are worked on at once. Others wait. */
  readonly concurrency?: number;
  /** Others get HTTP 429 in place of waiting. */
  readonly refuses?: true;
  /** The latency is multiplied by 1 + calls in progress ÷ this number. */
  readonly slowsBy?: number;
}

/** Decides when an upstream responds to a request. */
export class UpstreamBehaviour {
  readonly #shape: UpstreamShape;
  readonly #random: Random;
  #inProgress = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(shape: UpstreamShape, random: Random) {
    this.#shape = shape;
    this.#random = random;
  }

  /** @param respond called when the response is due; true: the request is refused */
  handle(calls: number, respond: (isRefused: boolean) => void): void {
    const { concurrency = Infinity, refuses } = this.#shape;
    if (this.#inProgress < concurrency) this.#work(calls, respond);
    else if (refuses === true) respond(true);
    else
      this.#waiting.push(() => {
        this.#work(calls, respond);
      });
  }

  #work(calls: number, respond: (isRefused: boolean) => void): void {
    const { hasSerialBatches, slowsBy = Infinity } = this.#shape;
    this.#inProgress++;
    const times = Array.from({ length: calls }, () => this.#latencyMs());
    const ms = hasSerialBatches === true ? times.reduce((sum, time) => sum + time, 0) : Math.max(...times);
    const end = (): void => {
      this.#inProgress--;
      this.#waiting.shift()?.();
      respond(false);
    };
    const delayMs = ms * (1 + this.#inProgress / slowsBy);
    if (delayMs === 0) end();
    else setTimeout(end, delayMs);
  }

  #latencyMs(): number {
    const { latency } = this.#shape;
    if (latency === undefined) return 0;
    if ('medianMs' in latency) return latency.medianMs * Math.exp(latency.sigma * this.#random.normal());
    const [min, max] = latency;
    return min + (max - min) * this.#random.next();
  }
}
