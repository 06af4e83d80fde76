import type { KeptReply } from './cache/answer-cache.ts';
import { RpcError } from './jsonrpc/errors.ts';
import type { CallObserver } from './upstream/asking.ts';
import { LEAST_TIME_MS } from './upstream/attempts.ts';
import { Cancellation, Cancelled } from './upstream/cancellation.ts';
import type { Reply } from './upstream/reply.ts';

type Told = Reply | KeptReply;
type Ask = (cancellation: Cancellation) => Promise<Told>;

/** What callers have seen of the chain: its head, as it was looked at, and the highest block that one was told of. */
export interface Seen {
  readonly head: unknown;
  readonly latest: bigint;
}

interface Flight extends Seen {
  readonly reply: Promise<Told>;
  readonly cancellation: Cancellation;
  readonly deadline: number;
  askers: number;
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
  readonly #seen: () => Seen;
  readonly #onShared: () => void;

  /** @param onShared hears of each call that upstreams are spared */
  constructor(seen: () => Seen, onShared: () => void) {
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
    const { head, latest } = this.#seen();
    const known = this.#flights.get(call);
    if (known !== undefined && known.head === head && known.latest === latest && !known.cancellation.isCancelled) {
      this.#onShared();
      observer?.cached('shared');
      return join(known, asker, () => this.reply(call, asker, ask, observer));
    }
    const { deadline } = asker;
    const cancellation = new Cancellation();
    const flight: Flight = { reply: ask(cancellation), cancellation, deadline, head, latest, askers: 0 };
    this.#flights.set(call, flight);
    const ended = (): void => {
      if (this.#flights.get(call) === flight) this.#flights.delete(call);
    };
    flight.reply.then(ended, ended);
    return join(flight, asker);
  }

  /** Something was sent: what is asked from now on is to know of it. */
  forget(): void {
    this.#flights.clear();
  }
}

/**
 * Waits for it, as long as the asker does. When all have left, it is broken off.
 * @param again for one that has more time than the flight had
 */
function join(flight: Flight, { deadline, caller }: Asker, again?: () => Promise<Told>): Promise<Told> {
  flight.askers++;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const leave = (reason: Error): void => {
      clearTimeout(timer);
      caller.delete(asker);
      reject(reason);
      if (--flight.askers === 0) flight.cancellation.breakOff();
    };
    const asker = {
      breakOff: (): void => {
        leave(new Cancelled());
      },
    };
    if (deadline < flight.deadline) {
      timer = setTimeout(() => {
        leave(new RpcError('no-upstream'));
      }, deadline - performance.now());
    }
    caller.add(asker);
    const end = (): void => {
      clearTimeout(timer);
      caller.delete(asker);
    };
    flight.reply.then(
      (reply) => {
        end();
        resolve(reply);
      },
      (error: unknown) => {
        end();
        const now = performance.now();
        const isOverForItOnly = now + LEAST_TIME_MS >= flight.deadline && now + LEAST_TIME_MS < deadline;
        if (again !== undefined && isOverForItOnly && !caller.isCancelled) resolve(again());
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what it was rejected with
        else reject(error);
      },
    );
  });
}
