import type { SlotOwner } from '../admission/fair-slots.ts';
import type { CachedResponse } from '../cache/response-cache.ts';
import { InFlightMap } from '../collections/in-flight-map.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { Cancellation, Cancelled, type Cancellable } from '../upstreams/transport/cancellation.ts';
import { MIN_ATTEMPT_MS, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** An upstream may have recovered, or got the block, since a call began this long ago. */
const LATE_JOIN_MS = 100;

type Response = UpstreamResponse | CachedResponse;
type Send = (cancellation: Cancellation) => Promise<Response>;

/** The chain of the network, by whose epoch calls are joined. */
interface EpochSource {
  readonly view: { readonly epoch: number };
}

/** One of the identical calls. */
export interface Participant {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
  readonly owner?: SlotOwner | undefined;
  /** Called if the call joins another one. */
  readonly onCoalesced?: (() => void) | undefined;
}

/**
 * Coalesces identical read calls of one network: a call joins an identical call in progress and gets the same response. It
 * does not join if the epoch of the chain has changed, or a transaction was sent through this gateway, since that call began;
 * nor if that call waits for a slot behind others of another key. If the call fails with `no-upstream`, one that joined it late
 * is sent once more.
 */
export class CoalescedCalls {
  readonly #inFlight = new InFlightMap<string, InFlightCall>();
  readonly #chain: EpochSource;
  readonly #onCoalesced: () => void;

  /** @param onCoalesced called for each call that joins another one */
  constructor(chain: EpochSource, onCoalesced: () => void) {
    this.#chain = chain;
    this.#onCoalesced = onCoalesced;
  }

  /**
   * @param name method and parameters as text
   * @param send sends the call; cancelled when no participant waits any more
   * @throws what `send` throws; Cancelled if the caller has disconnected; RpcError after the participant's deadline (rejects
   *   with it)
   */
  request(name: string, participant: Participant, send: Send): Promise<Response> {
    const existing = this.#find(name, participant);
    return existing === undefined
      ? this.#begin(name, participant, send)
      : this.#join(existing, name, participant, send, false);
  }

  /** Called when a transaction is sent: later calls must not join calls that began before it. */
  forgetAll(): void {
    this.#inFlight.clear();
  }

  #find(name: string, { owner }: Participant): InFlightCall | undefined {
    const call = this.#inFlight.get(name);
    if (call === undefined || call.cancellation.isCancelled) return undefined;
    if (call.epoch !== this.#chain.view.epoch) return undefined;
    return call.cancellation.owner === owner || !call.cancellation.isWaiting ? call : undefined;
  }

  #begin(name: string, participant: Participant, send: Send): Promise<Response> {
    if (participant.caller.isCancelled) return Promise.reject(new Cancelled());
    const call = new InFlightCall(this.#chain.view.epoch, participant);
    this.#inFlight.set(name, call);
    const response = call.wait(participant);
    void this.#send(name, call, send);
    return response;
  }

  /** Never rejects. */
  async #send(name: string, call: InFlightCall, send: Send): Promise<void> {
    let settle: (waiting: Waiting) => void;
    try {
      const response = await send(call.cancellation);
      settle = ({ resolve }) => {
        resolve(response);
      };
    } catch (error) {
      settle = ({ reject }) => {
        reject(error);
      };
    }
    this.#inFlight.deleteEntry(name, call);
    call.end(settle);
  }

  /** @param isRepeat after `no-upstream`: the call is not repeated again */
  async #join(
    call: InFlightCall,
    name: string,
    participant: Participant,
    send: Send,
    isRepeat: boolean,
  ): Promise<Response> {
    if (participant.caller.isCancelled) throw new Cancelled();
    this.#onCoalesced();
    participant.onCoalesced?.();
    const isLate = !isRepeat && performance.now() - call.startedAt > LATE_JOIN_MS;
    try {
      return await call.wait(participant);
    } catch (error) {
      if (!mayRepeat(error, call, participant, isLate)) throw error;
    }
    const existing = this.#find(name, participant);
    return existing === undefined
      ? this.#begin(name, participant, send)
      : this.#join(existing, name, participant, send, isRepeat || isLate);
  }
}

/** One call in flight and its participants. It is cancelled when the last participant leaves. */
class InFlightCall {
  readonly epoch: number;
  readonly startedAt = performance.now();
  readonly deadline: number;
  readonly cancellation: Cancellation;
  /** Apart from the others, because most calls have one participant and then need no Set. */
  #first: Waiting | undefined;
  #others: Set<Waiting> | undefined;

  constructor(epoch: number, { deadline, owner }: Participant) {
    this.epoch = epoch;
    this.deadline = deadline;
    this.cancellation = new Cancellation(owner);
  }

  /** @throws what `send` throws; Cancelled, or RpcError after the participant's deadline (rejects with it) */
  wait(participant: Participant): Promise<Response> {
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(this, participant, resolve, reject);
      if (this.#first === undefined) this.#first = waiting;
      else (this.#others ??= new Set()).add(waiting);
    });
  }

  leave(waiting: Waiting): void {
    if (this.#first === waiting) this.#first = undefined;
    else this.#others?.delete(waiting);
    if (this.#first === undefined && (this.#others?.size ?? 0) === 0) this.cancellation.cancel();
  }

  end(settle: (waiting: Waiting) => void): void {
    this.#first?.release();
    if (this.#first !== undefined) settle(this.#first);
    for (const waiting of this.#others ?? noOthers) {
      waiting.release();
      settle(waiting);
    }
  }
}

const noOthers: readonly Waiting[] = [];

/** The wait of one participant, which its own deadline or its caller's departure ends before the call. */
class Waiting implements Cancellable {
  cancellationPlace = -1;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
  readonly #call: InFlightCall;
  readonly #caller: Cancellation;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    call: InFlightCall,
    { deadline, caller }: Participant,
    resolve: (response: Response) => void,
    reject: (error: unknown) => void,
  ) {
    this.#call = call;
    this.#caller = caller;
    this.resolve = resolve;
    this.reject = reject;
    if (deadline < call.deadline) {
      this.#timer = setTimeout(() => {
        this.#leaveWith(new RpcError('no-upstream'));
      }, deadline - performance.now());
    }
    caller.add(this);
  }

  cancel(): void {
    this.#leaveWith(new Cancelled());
  }

  release(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#caller.delete(this);
  }

  #leaveWith(reason: Error): void {
    this.release();
    this.reject(reason);
    this.#call.leave(this);
  }
}

/** Whether a call that joined another one is sent again after its failure, which does not concern it. */
function mayRepeat(
  error: unknown,
  call: InFlightCall,
  { deadline, caller, owner }: Participant,
  isLate: boolean,
): boolean {
  const now = performance.now();
  if (caller.isCancelled || now + MIN_ATTEMPT_MS >= deadline) return false;
  const reason = error instanceof RpcError ? error.reason : undefined;
  const hasOnlyCallTimedOut = now + MIN_ATTEMPT_MS >= call.deadline;
  // The share of another key was used up, which does not concern this one.
  const isShareOfOther = reason === 'memory-share' && call.cancellation.owner !== owner;
  return hasOnlyCallTimedOut || isShareOfOther || (isLate && reason === 'no-upstream');
}
