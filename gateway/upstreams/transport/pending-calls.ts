import { InFlightMap } from '../../collections/in-flight-map.ts';
import { Cancelled, type Cancellable, type Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-exchange.ts';
import { TimedOut, type UpstreamFailure } from './upstream-response.ts';

/** A call that waits for its response. */
export interface PendingCall {
  readonly body: string;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (reason: unknown) => void;
}

interface PendingCallsOptions {
  /** Called for each call that ends, before its promise is settled. */
  readonly onEnded?: (cancellation: Cancellation | undefined) => void;
  /** Called after that for each call that ends by its deadline, or by cancellation. */
  readonly onAbandoned: (id: number, reason: UpstreamFailure | Cancelled) => void;
}

/** Stores the calls in flight over one connection by id. One timer ends them at their deadlines. */
export class PendingCalls {
  readonly #entries = new InFlightMap<number, PendingEntry>();
  readonly #options: PendingCallsOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;

  constructor(options: PendingCallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  ids(): Iterable<number> {
    return this.#entries.keys();
  }

  bodies(): string[] {
    return Array.from(this.#entries.values(), ({ body }) => body);
  }

  /** @throws UpstreamFailure, Cancelled */
  add(body: string, timeLimitMs: number, id: number, cancellation: Cancellation | undefined): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + timeLimitMs;
      const entry = new PendingEntry(this, id, { body, deadline, cancellation, resolve, reject });
      this.#entries.set(id, entry);
      cancellation?.add(entry);
      if (deadline < this.#dueAt) this.#setTimer(deadline, timeLimitMs);
    });
  }

  settle(id: number, response: HttpResponse): void {
    this.#end(id)?.resolve(response);
  }

  /** @param reason an UpstreamFailure; any other error is a defect of the gateway */
  fail(reason: unknown): void {
    for (const id of this.#entries.keys()) this.#end(id)?.reject(reason);
  }

  abandon(id: number, reason: UpstreamFailure | Cancelled): void {
    this.#end(id)?.reject(reason);
    this.#options.onAbandoned(id, reason);
  }

  /** Removes a call, which has not ended. @returns undefined if it is not pending */
  take(id: number): PendingCall | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.cancellation?.delete(entry);
    this.#entries.delete(id);
    if (this.#entries.size === 0) this.#setTimer(Infinity, 0);
    return entry;
  }

  #end(id: number): PendingCall | undefined {
    const call = this.take(id);
    if (call !== undefined) this.#options.onEnded?.(call.cancellation);
    return call;
  }

  /** @param dueAt the first deadline; Infinity: no pending calls */
  #setTimer(dueAt: number, delayMs: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = dueAt === Infinity ? undefined : setTimeout(this.#expire, delayMs);
  }

  /** Ends the calls past their deadlines, if any still wait, and sets the timer for the next deadline. */
  readonly #expire = (): void => {
    const now = performance.now();
    // A timer may fire early, by less than 1 ms.
    for (const { id, deadline } of this.#entries.values()) {
      if (deadline <= now + 1) this.abandon(id, new TimedOut());
    }
    let first = Infinity;
    for (const { deadline } of this.#entries.values()) first = Math.min(first, deadline);
    this.#setTimer(first, first - now);
  };
}

/** One call of `PendingCalls`, which its cancellation can end. */
class PendingEntry implements PendingCall, Cancellable {
  cancellationPlace = -1;
  readonly id: number;
  readonly body: string;
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (reason: unknown) => void;
  readonly #calls: PendingCalls;

  constructor(calls: PendingCalls, id: number, { body, deadline, cancellation, resolve, reject }: PendingCall) {
    this.#calls = calls;
    this.id = id;
    this.body = body;
    this.deadline = deadline;
    this.cancellation = cancellation;
    this.resolve = resolve;
    this.reject = reject;
  }

  cancel(): void {
    this.#calls.abandon(this.id, new Cancelled());
  }
}
