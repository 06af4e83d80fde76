import { Cancelled, type Breakable, type Cancellation } from './cancellation.ts';
import type { HttpReply } from './http-upstream.ts';
import { TimedOut, type UpstreamFailure } from './reply.ts';

/** A call whose reply is on its way, among others. */
export interface WaitingCall {
  readonly body: string;
  /** Until when, on the clock of performance.now(). */
  readonly until: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (reason: UpstreamFailure | Cancelled) => void;
}

type OnLeft = (id: number, reason: TimedOut | Cancelled) => void;

/** Calls that share a way to their upstream, by the ids in their bodies. One timer serves them all. */
export class WaitingCalls {
  readonly #entries = new Map<number, Entry>();
  readonly #onLeft: OnLeft;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;

  /** @param onLeft hears of each that does not wait any longer: its time is over, or its caller has left */
  constructor(onLeft: OnLeft) {
    this.#onLeft = onLeft;
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
  wait(body: string, limitMs: number, id: number, cancellation: Cancellation | undefined): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const until = performance.now() + limitMs;
      const entry = new Entry(this, id, { body, until, cancellation, resolve, reject });
      this.#entries.set(id, entry);
      cancellation?.add(entry);
      if (until < this.#dueAt) this.#lookAt(until, limitMs);
    });
  }

  settle(id: number, reply: HttpReply): void {
    this.take(id)?.resolve(reply);
  }

  fail(failure: UpstreamFailure): void {
    for (const id of this.#entries.keys()) this.take(id)?.reject(failure);
  }

  leave(id: number, reason: TimedOut | Cancelled): void {
    this.take(id)?.reject(reason);
    this.#onLeft(id, reason);
  }

  /** Undefined for one that waits no longer, and for one that never did. */
  take(id: number): WaitingCall | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.cancellation?.delete(entry);
    this.#entries.delete(id);
    if (this.#entries.size === 0) this.#lookAt(Infinity, 0);
    return entry;
  }

  /** @param dueAt when the first of them has no more time; Infinity: there are none */
  #lookAt(dueAt: number, inMs: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = dueAt === Infinity ? undefined : setTimeout(this.#look, inMs);
  }

  /** Whoever had less time may have been answered since: then the timer goes on to the next. */
  readonly #look = (): void => {
    const now = performance.now();
    // A timer may be early by a part of a millisecond.
    for (const [id, { until }] of this.#entries) if (until <= now + 1) this.leave(id, new TimedOut());
    let first = Infinity;
    for (const { until } of this.#entries.values()) first = Math.min(first, until);
    this.#lookAt(first, first - now);
  };
}

class Entry implements WaitingCall, Breakable {
  readonly body: string;
  readonly until: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (reason: UpstreamFailure | Cancelled) => void;
  readonly #all: WaitingCalls;
  readonly #id: number;

  constructor(all: WaitingCalls, id: number, { body, until, cancellation, resolve, reject }: WaitingCall) {
    this.#all = all;
    this.#id = id;
    this.body = body;
    this.until = until;
    this.cancellation = cancellation;
    this.resolve = resolve;
    this.reject = reject;
  }

  breakOff(): void {
    this.#all.leave(this.#id, new Cancelled());
  }
}
