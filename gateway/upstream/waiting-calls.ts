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

interface Entry extends WaitingCall, Breakable {
  readonly timer: NodeJS.Timeout;
}

/** Calls that share a way to their upstream, by the ids in their bodies. */
export class WaitingCalls {
  readonly #entries = new Map<number, Entry>();
  readonly #onLeft: (id: number, reason: TimedOut | Cancelled) => void;

  /** @param onLeft hears of each that does not wait any longer: its time is over, or its caller has left */
  constructor(onLeft: (id: number, reason: TimedOut | Cancelled) => void) {
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
      const leave = (reason: TimedOut | Cancelled): void => {
        this.take(id)?.reject(reason);
        this.#onLeft(id, reason);
      };
      const timer = setTimeout(() => {
        leave(new TimedOut());
      }, limitMs);
      const breakOff = (): void => {
        leave(new Cancelled());
      };
      const until = performance.now() + limitMs;
      const entry = { body, until, cancellation, resolve, reject, timer, breakOff };
      this.#entries.set(id, entry);
      cancellation?.add(entry);
    });
  }

  settle(id: number, reply: HttpReply): void {
    this.take(id)?.resolve(reply);
  }

  fail(failure: UpstreamFailure): void {
    for (const id of this.#entries.keys()) this.take(id)?.reject(failure);
  }

  /** Undefined for one that waits no longer, and for one that never did. */
  take(id: number): WaitingCall | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    clearTimeout(entry.timer);
    entry.cancellation?.delete(entry);
    this.#entries.delete(id);
    return entry;
  }
}
