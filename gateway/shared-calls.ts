import type { CallObserver } from './upstream/asking.ts';
import { Cancellation, Cancelled, type Breakable } from './upstream/cancellation.ts';
import type { Reply } from './upstream/reply.ts';

/** Whoever joins may have so much less time than by itself. */
const LESS_TIME_MS = 1_000;

interface Flight {
  readonly reply: Promise<Reply>;
  readonly cancellation: Cancellation;
  readonly deadline: number;
  /** What the head was when it began. */
  readonly head: unknown;
  askers: number;
}

export interface Asker {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
}

/**
 * The reads of one network that are with its upstreams: who asks the same meanwhile shares the reply. Not where it could
 * be from before something that the asker has seen: a new head, or a transaction that was sent through this gateway.
 */
export class SharedCalls {
  readonly #flights = new Map<string, Flight>();
  readonly #head: () => unknown;
  readonly #onShared: () => void;

  /**
   * @param head changes whenever the head does
   * @param onShared hears of each call that upstreams are spared
   */
  constructor(head: () => unknown, onShared: () => void) {
    this.#head = head;
    this.#onShared = onShared;
  }

  /**
   * @param call its method and parameters
   * @param ask begins it, for as long as anybody waits for it
   * @param observer hears of it when it is shared
   * @throws what `ask` does, and Cancelled where the caller has left
   */
  reply(
    call: string,
    { deadline, caller }: Asker,
    ask: (cancellation: Cancellation) => Promise<Reply>,
    observer?: Pick<CallObserver, 'cached'>,
  ): Promise<Reply> {
    if (caller.isCancelled) return Promise.reject(new Cancelled());
    const head = this.#head();
    const known = this.#flights.get(call);
    if (known !== undefined && known.head === head && mayJoin(known, deadline)) {
      this.#onShared();
      observer?.cached('shared');
      return join(known, caller);
    }
    const cancellation = new Cancellation();
    const reply = ask(cancellation);
    const flight: Flight = { reply, cancellation, deadline, head, askers: 0 };
    this.#flights.set(call, flight);
    const ended = (): void => {
      if (this.#flights.get(call) === flight) this.#flights.delete(call);
    };
    reply.then(ended, ended);
    return join(flight, caller);
  }

  /** Something was sent: what is asked from now on is to know of it. */
  forget(): void {
    this.#flights.clear();
  }
}

function mayJoin({ cancellation, deadline }: Flight, until: number): boolean {
  return !cancellation.isCancelled && until - deadline < LESS_TIME_MS;
}

/** When all who wait for it have left, it is broken off. */
async function join(flight: Flight, caller: Cancellation): Promise<Reply> {
  flight.askers++;
  const asker: Breakable = {
    breakOff: () => {
      if (--flight.askers === 0) flight.cancellation.breakOff();
    },
  };
  caller.add(asker);
  try {
    return await flight.reply;
  } finally {
    caller.delete(asker);
  }
}
