import type { KeptReply } from './cache/answer-cache.ts';
import { RpcError } from './jsonrpc/errors.ts';
import type { CallObserver } from './upstream/asking.ts';
import { LEAST_TIME_MS } from './upstream/attempts.ts';
import { Cancellation, Cancelled, type Breakable } from './upstream/cancellation.ts';
import type { Reply } from './upstream/reply.ts';

type Told = Reply | KeptReply;
type Ask = (cancellation: Cancellation) => Promise<Told>;

/** What callers have seen of the chain by now. */
export interface Seen {
  /** Its head, as it was looked at; another object when it has moved. */
  readonly head: unknown;
  /** The highest block that one was told of. */
  readonly latest: bigint;
}

export interface Asker {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
}

/**
 * The reads of one network that are with its upstreams: who asks the same meanwhile shares the reply. Not where it could
 * be from before something that the asker has seen: a newer block, or a transaction that was sent through this gateway.
 */
export class SharedCalls {
  readonly #flights = new Map<string, Flight>();
  readonly #seen: Seen;
  readonly #onShared: () => void;

  /** @param onShared hears of each call that upstreams are spared */
  constructor(seen: Seen, onShared: () => void) {
    this.#seen = seen;
    this.#onShared = onShared;
  }

  /**
   * @param call its method and parameters
   * @param ask begins it, for as long as anybody waits for it
   * @param observer hears of it when it is shared
   * @throws what `ask` does; Cancelled where the caller has left; RpcError where its own time is over
   */
  reply(call: string, asker: Asker, ask: Ask, observer?: Pick<CallObserver, 'cached'>): Promise<Told> {
    if (asker.caller.isCancelled) return Promise.reject(new Cancelled());
    const { head, latest } = this.#seen;
    const known = this.#flights.get(call);
    if (known !== undefined && known.head === head && known.latest === latest && !known.cancellation.isCancelled) {
      this.#onShared();
      observer?.cached('shared');
      return known.join(asker, () => this.reply(call, asker, ask, observer));
    }
    const flight = new Flight(head, latest, asker.deadline);
    const reply = ask(flight.cancellation);
    this.#flights.set(call, flight);
    reply.then(
      (told) => {
        this.#end(call, flight);
        flight.landed(told);
      },
      (error: unknown) => {
        this.#end(call, flight);
        flight.failed(error);
      },
    );
    return flight.join(asker);
  }

  /** Something was sent: what is asked from now on is to know of it. */
  forget(): void {
    this.#flights.clear();
  }

  #end(call: string, flight: Flight): void {
    if (this.#flights.get(call) === flight) this.#flights.delete(call);
  }
}

/** A call that is with upstreams, and all who wait for its reply. When they have left, it is broken off. */
class Flight implements Seen {
  readonly head: unknown;
  readonly latest: bigint;
  readonly deadline: number;
  readonly cancellation = new Cancellation();
  /** Mostly there is one at a time. */
  #first: Waiting | undefined;
  #others: Set<Waiting> | undefined;

  constructor(head: unknown, latest: bigint, deadline: number) {
    this.head = head;
    this.latest = latest;
    this.deadline = deadline;
  }

  /** @param again for one that has more time than the flight has */
  join(asker: Asker, again?: () => Promise<Told>): Promise<Told> {
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(this, asker, resolve, reject, again);
      if (this.#first === undefined) this.#first = waiting;
      else (this.#others ??= new Set()).add(waiting);
    });
  }

  leave(waiting: Waiting): void {
    if (this.#first === waiting) this.#first = undefined;
    else this.#others?.delete(waiting);
    if (this.#first === undefined && (this.#others === undefined || this.#others.size === 0)) {
      this.cancellation.breakOff();
    }
  }

  landed(reply: Told): void {
    this.#first?.landed(reply);
    if (this.#others !== undefined) for (const one of this.#others) one.landed(reply);
  }

  failed(error: unknown): void {
    this.#first?.failed(error);
    if (this.#others !== undefined) for (const one of this.#others) one.failed(error);
  }
}

/** One who waits, for no longer than its own time. */
class Waiting implements Breakable {
  readonly #flight: Flight;
  readonly #asker: Asker;
  readonly #resolve: (reply: Told | Promise<Told>) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #again: (() => Promise<Told>) | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    flight: Flight,
    asker: Asker,
    resolve: (reply: Told | Promise<Told>) => void,
    reject: (reason: unknown) => void,
    again: (() => Promise<Told>) | undefined,
  ) {
    this.#flight = flight;
    this.#asker = asker;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#again = again;
    if (asker.deadline < flight.deadline) {
      this.#timer = setTimeout(() => {
        this.#leave(new RpcError('no-upstream'));
      }, asker.deadline - performance.now());
    }
    asker.caller.add(this);
  }

  breakOff(): void {
    this.#leave(new Cancelled());
  }

  landed(reply: Told): void {
    this.#ended();
    this.#resolve(reply);
  }

  failed(error: unknown): void {
    this.#ended();
    const { deadline, caller } = this.#asker;
    const now = performance.now();
    const isOverForItOnly = now + LEAST_TIME_MS >= this.#flight.deadline && now + LEAST_TIME_MS < deadline;
    if (this.#again === undefined || !isOverForItOnly || caller.isCancelled) this.#reject(error);
    // A tick later: whatever comes of it, the others of the flight are told first.
    else this.#resolve(Promise.resolve().then(this.#again));
  }

  #leave(reason: Error): void {
    this.#ended();
    this.#reject(reason);
    this.#flight.leave(this);
  }

  #ended(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#asker.caller.delete(this);
  }
}
