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

/** The state of the chain that callers were served. `heads/` implements it. */
export interface ServedChain {
  /** The polled head; another object after each change. */
  readonly head: unknown;
  readonly newestServed: { readonly number: bigint };
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
 * does not join if a newer block was served, or a transaction was sent through this gateway, since that call began; nor
 * if that call waits for a slot behind others of another key. If the call fails with `no-upstream`, one that joined it late
 * is sent once more.
 */
export class CoalescedCalls {
  readonly #inFlight = new InFlightMap<string, InFlightCall>();
  readonly #chain: ServedChain;
  readonly #onCoalesced: () => void;

  /** @param onCoalesced called for each call that joins another one */
  constructor(chain: ServedChain, onCoalesced: () => void) {
    this.#chain = chain;
    this.#onCoalesced = onCoalesced;
  }

  /**
   * @param name method and parameters as text
   * @param send sends the call; cancelled when no participant waits any more
   * @param isRepeat after `no-upstream`: the call is not repeated again
   * @throws what `send` throws; Cancelled if the caller has disconnected; RpcError after the participant's deadline
   */
  async request(name: string, participant: Participant, send: Send, isRepeat = false): Promise<Response> {
    if (participant.caller.isCancelled) throw new Cancelled();
    const existing = this.#find(name, participant);
    if (existing === undefined) return this.#begin(name, participant, send).join(participant);
    this.#onCoalesced();
    participant.onCoalesced?.();
    const isLate = !isRepeat && performance.now() - existing.startedAt > LATE_JOIN_MS;
    try {
      return await existing.join(participant);
    } catch (error) {
      if (!mayRepeat(error, existing, participant, isLate)) throw error;
    }
    return this.request(name, participant, send, isRepeat || isLate);
  }

  /** Called when a transaction is sent: later calls must not join calls that began before it. */
  forgetAll(): void {
    this.#inFlight.clear();
  }

  #find(name: string, { owner }: Participant): InFlightCall | undefined {
    const call = this.#inFlight.get(name);
    if (call === undefined || call.cancellation.isCancelled) return undefined;
    const { head, newestServed } = this.#chain;
    if (call.head !== head || call.newestServed !== newestServed.number) return undefined;
    return call.cancellation.owner === owner || !call.cancellation.isWaiting ? call : undefined;
  }

  #begin(name: string, participant: Participant, send: Send): InFlightCall {
    const call = new InFlightCall(this.#chain, participant);
    this.#inFlight.set(name, call);
    call.begin(send, () => {
      this.#inFlight.deleteEntry(name, call);
    });
    return call;
  }
}

/** One call in flight and its participants. It is cancelled when the last participant leaves. */
class InFlightCall {
  readonly head: unknown;
  readonly newestServed: bigint;
  readonly startedAt = performance.now();
  readonly deadline: number;
  readonly cancellation: Cancellation;
  #participants = 0;
  #response: Promise<Response> | undefined;

  constructor({ head, newestServed }: ServedChain, { deadline, owner }: Participant) {
    this.head = head;
    this.newestServed = newestServed.number;
    this.deadline = deadline;
    this.cancellation = new Cancellation(owner);
  }

  begin(send: Send, onEnd: () => void): void {
    const run = async (): Promise<Response> => {
      try {
        return await send(this.cancellation);
      } finally {
        onEnd();
      }
    };
    this.#response = run();
    // All participants may have left.
    this.#response.catch(() => undefined);
  }

  /** @throws what `send` throws; Cancelled, or RpcError after the participant's deadline (rejects with it) */
  async join({ deadline, caller }: Participant): Promise<Response> {
    this.#participants++;
    const departure = new Departure(deadline < this.deadline ? deadline : undefined);
    caller.add(departure);
    try {
      return await Promise.race([this.#response as Promise<Response>, departure.promise]);
    } finally {
      caller.delete(departure);
      departure.release();
      if (--this.#participants === 0) this.cancellation.cancel();
    }
  }
}

/** Rejects when the caller disconnects, or when a participant's deadline is before that of the call. */
class Departure implements Cancellable {
  cancellationPlace = -1;
  readonly promise: Promise<never>;
  #reject!: (reason: Error) => void;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(deadline: number | undefined) {
    this.promise = new Promise((_, reject) => {
      this.#reject = reject;
    });
    if (deadline === undefined) return;
    this.#timer = setTimeout(() => {
      this.#reject(new RpcError('no-upstream'));
    }, deadline - performance.now());
  }

  cancel(): void {
    this.#reject(new Cancelled());
  }

  release(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
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
