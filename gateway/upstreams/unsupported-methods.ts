import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { FailureClass } from './transport/upstream-response.ts';

/** A node may be updated, or a plan changed. */
const UNSUPPORTED_TTL_MS = 600_000;
/** Its results of a method cannot be right, which may be so for a while: behind a balancer, or during an update. */
const SUSPECT_TTL_MS = 30_000;
const MARKS_MAX = 500;
const ANSWERED_MAX = 1_000;
/** Calls of a method in a row that took too long, while others were answered. */
const MAX_SLOW_CALLS = 3;
/** A method that was answered before is marked after so many errors in a row, over so much time. */
const ERRORS_MAX = 3;
const ERRORS_MS = 10_000;

/** Why another upstream is asked for a method: it is unsupported, its results were impossible, or it was too slow. */
export type MarkReason = 'unsupported' | 'malformed' | 'slow';

/** A method for which another upstream is asked, for a while. */
export interface MethodMark {
  readonly method: string;
  readonly reason: MarkReason;
  /** On the clock of performance.now(). */
  readonly deadline: number;
}

interface Errors {
  count: number;
  readonly since: number;
}

/** The methods of one upstream for which another upstream is asked first. */
export class UnsupportedMethods {
  readonly #upstream: string;
  readonly #log: Log;
  readonly #marks = new LRUCache<string, MethodMark>({ ...maxEntries(MARKS_MAX), ttl: UNSUPPORTED_TTL_MS });
  readonly #slow = new LRUCache<string, number>(maxEntries(MARKS_MAX));
  readonly #recordSuccess = new Set<string>();
  /** Of methods that were answered before, since the last answer. */
  readonly #errors = new LRUCache<string, Errors>(maxEntries(MARKS_MAX));

  constructor(upstream: string, log: Log) {
    this.#upstream = upstream;
    this.#log = log;
  }

  /** Whether the method is marked, for whatever reason. */
  isSkipped(method: string): boolean {
    return this.#marks.size > 0 && this.#marks.has(method);
  }

  /** Whether the method is marked as unsupported. */
  isUnsupported(method: string): boolean {
    return this.#marks.size > 0 && this.#marks.get(method)?.reason === 'unsupported';
  }

  markOf(method: string): MethodMark | undefined {
    return this.#marks.get(method);
  }

  marks(): MethodMark[] {
    this.#marks.purgeStale();
    return [...this.#marks.values()];
  }

  recordFailure(method: string, failure: FailureClass, hasResponded: boolean, now: number): void {
    if (failure === 'unsupported' || (failure === 'malformed' && hasResponded)) {
      if (!this.#isOneOfFew(method, now)) this.#mark(method, failure, now);
    } else if (failure === 'slow' && this.#recordSlow(method)) this.#mark(method, 'slow', now);
  }

  recordSuccess(method: string): void {
    if (this.#slow.size > 0) this.#slow.delete(method);
    if (this.#errors.size > 0) this.#errors.delete(method);
    if (!this.#recordSuccess.has(method) && this.#recordSuccess.size < ANSWERED_MAX) this.#recordSuccess.add(method);
    if (this.#marks.size === 0 || !this.#marks.delete(method)) return;
    this.#log.info({ upstream: this.#upstream, method }, 'method is answered again, its mark is removed');
  }

  /** Whether the upstream has answered the method, and the error is not yet one of many in a row. */
  #isOneOfFew(method: string, now: number): boolean {
    if (!this.#recordSuccess.has(method) || this.isSkipped(method)) return false;
    const errors = this.#errors.get(method) ?? { count: 0, since: now };
    errors.count++;
    this.#errors.set(method, errors);
    return errors.count < ERRORS_MAX || now - errors.since < ERRORS_MS;
  }

  #mark(method: string, reason: MarkReason, now: number): void {
    const ttl = reason === 'unsupported' ? UNSUPPORTED_TTL_MS : SUSPECT_TTL_MS;
    if (!this.isSkipped(method)) {
      const upstream = this.#upstream;
      this.#log.warn(
        { upstream, method, reason, forS: ttl / 1_000 },
        'method is marked: other upstreams are asked first',
      );
    }
    this.#marks.set(method, { method, reason, deadline: now + ttl }, { ttl });
  }

  #recordSlow(method: string): boolean {
    const times = (this.#slow.get(method) ?? 0) + 1;
    this.#slow.set(method, times % MAX_SLOW_CALLS);
    return times === MAX_SLOW_CALLS;
  }
}
