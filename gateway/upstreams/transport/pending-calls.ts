import { Cancelled, type Cancellable, type Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-upstream.ts';
import { TimedOut, type UpstreamFailure } from './upstream-response.ts';

/** A call whose reply is on its way, among others. */
export interface PendingCall {
  readonly body: string;
  /** Until when, on the clock of performance.now(). */
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (reason: UpstreamFailure | Cancelled) => void;
}

type OnAbandoned = (id: number, reason: TimedOut | Cancelled) => void;

/** Calls that share a way to their upstream, by the ids in their bodies. One timer serves them all. */
export class PendingCalls {
  readonly #entries = new Map<number, PendingEntry>();
  readonly #onAbandoned: OnAbandoned;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;

  /** @param onAbandoned hears of each that does not wait any longer: its time is over, or its caller has left */
  constructor(onAbandoned: OnAbandoned) {
    this.#onAbandoned = onAbandoned;
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
    this.take(id)?.resolve(response);
  }

  fail(failure: UpstreamFailure): void {
    for (const id of this.#entries.keys()) this.take(id)?.reject(failure);
  }

  abandon(id: number, reason: TimedOut | Cancelled): void {
    this.take(id)?.reject(reason);
    this.#onAbandoned(id, reason);
  }

  /** Undefined for one that waits no longer, and for one that never did. */
  take(id: number): PendingCall | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.cancellation?.delete(entry);
    this.#entries.delete(id);
    if (this.#entries.size === 0) this.#setTimer(Infinity, 0);
    return entry;
  }

  /** @param dueAt when the first of them has no more time; Infinity: there are none */
  #setTimer(dueAt: number, inMs: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = dueAt === Infinity ? undefined : setTimeout(this.#expire, inMs);
  }

  /** Whoever had less time may have been answered since: then the timer goes on to the next. */
  readonly #expire = (): void => {
    const now = performance.now();
    // A timer may be early by a part of a millisecond.
    for (const [id, { deadline }] of this.#entries) if (deadline <= now + 1) this.abandon(id, new TimedOut());
    let first = Infinity;
    for (const { deadline } of this.#entries.values()) first = Math.min(first, deadline);
    this.#setTimer(first, first - now);
  };
}

class PendingEntry implements PendingCall, Cancellable {
  readonly body: string;
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (reason: UpstreamFailure | Cancelled) => void;
  readonly #all: PendingCalls;
  readonly #id: number;

  constructor(all: PendingCalls, id: number, { body, deadline, cancellation, resolve, reject }: PendingCall) {
    this.#all = all;
    this.#id = id;
    this.body = body;
    this.deadline = deadline;
    this.cancellation = cancellation;
    this.resolve = resolve;
    this.reject = reject;
  }

  cancel(): void {
    this.#all.abandon(this.#id, new Cancelled());
  }
}
