import { LRUCache } from 'lru-cache';
import { expiringEntries, maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { FailureClass } from './transport/upstream-response.ts';

/** Time after which the node may have been updated, or the plan changed. */
const UNSUPPORTED_TTL_MS = 600_000;
/** Impossible results and slow calls may be temporary: behind a load balancer, or during an update. */
const SUSPECT_TTL_MS = 30_000;
const MAX_MARKS = 500;
const MAX_SUPPORTED_METHODS = 1_000;
/** Consecutive timeouts of one method, while other methods were successful, after which it is marked. */
const MAX_SLOW_CALLS = 3;
/** A method that was successful before is marked after this many consecutive errors over this much time. */
const MIN_ERRORS = 3;
const MIN_ERRORS_MS = 10_000;

/** The method is unsupported, its results were impossible or disproved, or it was too slow. */
export type MarkReason = 'unsupported' | 'malformed' | 'disproved' | 'slow';

/** A method for which the upstream is skipped until `deadline`. */
export interface MethodMark {
  readonly method: string;
  readonly reason: MarkReason;
  /** Time when the mark ends, by clock.now(). */
  readonly deadline: number;
}

/** Consecutive errors of one method. */
interface ErrorRun {
  count: number;
  readonly startedAt: number;
}

/** Marks the methods for which one upstream is skipped. The router still uses it if all other upstreams fail. */
export class UnsupportedMethods {
  readonly #upstreamName: string;
  readonly #log: Log;
  readonly #marks = new LRUCache<string, MethodMark>(expiringEntries(MAX_MARKS, UNSUPPORTED_TTL_MS));
  readonly #slowCalls = new LRUCache<string, number>(maxEntries(MAX_MARKS));
  readonly #supported = new Set<string>();
  /** Methods marked as disproved that had results since which are not proven: other upstreams had none. */
  readonly #usedDisproved = new Set<string>();
  /** Errors of supported methods, since the last success. */
  readonly #errors = new LRUCache<string, ErrorRun>(maxEntries(MAX_MARKS));

  constructor(upstream: string, log: Log) {
    this.#upstreamName = upstream;
    this.#log = log;
  }

  /** Whether the method is marked for any reason. */
  isSkipped(method: string): boolean {
    return this.#marks.size > 0 && this.#marks.has(method);
  }

  /** Whether the method is marked as unsupported. */
  isUnsupported(method: string): boolean {
    return this.#marks.size > 0 && this.#marks.get(method)?.reason === 'unsupported';
  }

  /** Whether a result of the method was disproved, and none that is not proven was returned since. */
  isWithoutResults(method: string): boolean {
    return this.#marks.get(method)?.reason === 'disproved' && !this.#usedDisproved.has(method);
  }

  /** Whether the method was successful. */
  isSupported(method: string): boolean {
    return this.#supported.has(method);
  }

  marks(): MethodMark[] {
    this.#marks.purgeStale();
    return [...this.#marks.values()];
  }

  recordFailure(method: string, failure: FailureClass, hasResponded: boolean, now: number): void {
    if (failure === 'disproved') this.#mark(method, failure, now);
    else if (failure === 'unsupported' || (failure === 'malformed' && hasResponded)) {
      if (!this.#isToleratedError(method, now)) this.#mark(method, failure, now);
    } else if (failure === 'slow' && this.#recordSlowCall(method)) this.#mark(method, 'slow', now);
  }

  /** @param isProven what proves the result was found */
  recordSuccess(method: string, isProven = false): void {
    if (this.#slowCalls.size > 0) this.#slowCalls.delete(method);
    if (this.#errors.size > 0) this.#errors.delete(method);
    if (!this.#supported.has(method) && this.#supported.size < MAX_SUPPORTED_METHODS) this.#supported.add(method);
    if (this.#marks.size === 0) return;
    // A result that was right does not excuse one that was disproved.
    if (this.#marks.get(method)?.reason === 'disproved') {
      if (!isProven) this.#usedDisproved.add(method);
      return;
    }
    if (!this.#marks.delete(method)) return;
    this.#log.info({ upstream: this.#upstreamName, method }, 'method works again: mark removed');
  }

  /** Whether the method was successful before, and has not yet failed often and long enough to be marked. */
  #isToleratedError(method: string, now: number): boolean {
    if (!this.#supported.has(method) || this.isSkipped(method)) return false;
    const errors = this.#errors.get(method) ?? { count: 0, startedAt: now };
    errors.count++;
    this.#errors.set(method, errors);
    return errors.count < MIN_ERRORS || now - errors.startedAt < MIN_ERRORS_MS;
  }

  #mark(method: string, reason: MarkReason, now: number): void {
    const ttlMs = reason === 'unsupported' || reason === 'disproved' ? UNSUPPORTED_TTL_MS : SUSPECT_TTL_MS;
    if (!this.isSkipped(method)) {
      const upstream = this.#upstreamName;
      this.#log.warn(
        { upstream, method, reason, forS: ttlMs / 1_000 },
        'method marked: other upstreams are selected first',
      );
    }
    this.#usedDisproved.delete(method);
    this.#marks.set(method, { method, reason, deadline: now + ttlMs }, { ttl: ttlMs });
  }

  /** @returns whether this is the last of MAX_SLOW_CALLS consecutive slow calls */
  #recordSlowCall(method: string): boolean {
    const count = (this.#slowCalls.get(method) ?? 0) + 1;
    this.#slowCalls.set(method, count % MAX_SLOW_CALLS);
    return count === MAX_SLOW_CALLS;
  }
}
