import { LRUCache } from 'lru-cache';
import { atMost } from '../config/at-most.ts';
import type { FailureClass } from './reply.ts';

/** A node may be updated, or a plan changed. */
const LACKING_MS = 600_000;
/** Its results of a method cannot be right, which may be so for a while: behind a balancer, or during an update. */
const ODD_MS = 30_000;
const PASSED_OVER_MAX = 500;
/** Calls of a method in a row that took too long, while others were answered. */
const SLOW_MAX = 3;

/** The methods for which another upstream is to be asked. */
export class MethodsLacked {
  readonly #passedOver = new LRUCache<string, 'lacks' | 'odd'>({ ...atMost(PASSED_OVER_MAX), ttl: LACKING_MS });
  readonly #slow = new LRUCache<string, number>(atMost(PASSED_OVER_MAX));

  /** Whether it said of late that it lacks the method, gave what cannot be right, or was too slow again and again. */
  has(method: string): boolean {
    return this.#passedOver.size > 0 && this.#passedOver.has(method);
  }

  /** Whether it said of late that it does not have the method. */
  hasNot(method: string): boolean {
    return this.#passedOver.size > 0 && this.#passedOver.get(method) === 'lacks';
  }

  failed(method: string, failure: FailureClass, hasReplied: boolean): void {
    if (failure === 'unsupported') this.#passedOver.set(method, 'lacks');
    if (failure === 'malformed' && hasReplied) this.#passedOver.set(method, 'odd', { ttl: ODD_MS });
    if (failure === 'slow') this.#tookTooLong(method);
  }

  answered(method: string): void {
    if (this.#slow.size > 0) this.#slow.delete(method);
  }

  #tookTooLong(method: string): void {
    const times = (this.#slow.get(method) ?? 0) + 1;
    this.#slow.set(method, times % SLOW_MAX);
    if (times === SLOW_MAX) this.#passedOver.set(method, 'odd', { ttl: ODD_MS });
  }
}
