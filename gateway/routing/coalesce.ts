import type { SlotOwner } from '../admission/fair-slots.ts';
import type { CachedResponse } from '../cache/response-cache.ts';
import { InFlightMap } from '../collections/in-flight-map.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { CallObserver } from '../observability/call-observer.ts';
import { MIN_ATTEMPT_MS } from './attempts.ts';
import { deliver, promised, type Receiver } from '../upstreams/receiver.ts';
import { Cancellation, Cancelled, type Cancellable } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** An upstream may have recovered, or got the block, since a call began this long ago. */
const LATE_JOIN_MS = 100;

type CoalescedResponse = UpstreamResponse | CachedResponse;
type ResponseReceiver = Receiver<CoalescedResponse>;
type SendCall = (cancellation: Cancellation, receiver: ResponseReceiver) => void;

/** The state of the chain that callers were served. `heads/` implements it. */
export interface ServedChain {
  /** The polled head; another object after each change. */
  readonly head: unknown;
  readonly newestServed: { readonly number: bigint };
}

export interface CallParticipant {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
  readonly owner?: SlotOwner | undefined;
  /** As in `Cancellation`. */
  readonly clientBatch?: object | undefined;
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

  /** As `join`, with promises. */
  request(
    call: string,
    participant: CallParticipant,
    send: (cancellation: Cancellation) => Promise<CoalescedResponse>,
    observer?: Pick<CallObserver, 'cached'>,
  ): Promise<CoalescedResponse> {
    return promised((receiver) => {
      this.join(
        call,
        participant,
        (cancellation, inFlight) => {
          deliver(send(cancellation), inFlight);
        },
        receiver,
        observer,
      );
    });
  }

  /**
   * @param call method and parameters as text
   * @param send sends the call; cancelled when no participant waits any more
   * @param receiver gets what `send` gets; Cancelled if the caller has disconnected; RpcError after the participant's deadline
   * @param observer notified if the call is coalesced
   * @param isRepeat after `no-upstream`: the call is not repeated again
   */
  join(
    call: string,
    participant: CallParticipant,
    send: SendCall,
    receiver: ResponseReceiver,
    observer?: Pick<CallObserver, 'cached'>,
    isRepeat = false,
  ): void {
    if (participant.caller.isCancelled) {
      receiver.failed(new Cancelled());
      return;
    }
    const { head } = this.#chain;
    const newestServed = this.#chain.newestServed.number;
    const existing = this.#inFlight.get(call);
    if (
      existing !== undefined &&
      existing.head === head &&
      existing.newestServed === newestServed &&
      !existing.cancellation.isCancelled &&
      (existing.cancellation.owner === participant.owner || !existing.cancellation.isWaiting)
    ) {
      this.#onCoalesced();
      observer?.cached('coalesced');
      const isLate = !isRepeat && performance.now() - existing.startedAt > LATE_JOIN_MS;
      const retry = (): void => {
        this.join(call, participant, send, receiver, observer, isRepeat || isLate);
      };
      existing.join(participant, receiver, retry, isLate);
      return;
    }
    const inFlight = new InFlightCall(this.#inFlight, call, head, newestServed, participant);
    this.#inFlight.set(call, inFlight);
    inFlight.join(participant, receiver);
    try {
      send(inFlight.cancellation, inFlight);
    } catch (error) {
      inFlight.failed(error);
    }
  }

  /** Called when a transaction is sent: later calls must not join calls that began before it. */
  forgetAll(): void {
    this.#inFlight.clear();
  }
}

/** One call in flight and its participants. It is cancelled when the last participant leaves. */
class InFlightCall implements ResponseReceiver {
  readonly #all: InFlightMap<string, InFlightCall>;
  readonly #name: string;
  readonly head: unknown;
  readonly newestServed: bigint;
  readonly startedAt = performance.now();
  readonly deadline: number;
  readonly cancellation: Cancellation;
  /** Apart from the others, because most calls have one participant and then need no Set. */
  #first: Participation | undefined;
  #others: Set<Participation> | undefined;

  /** @param all the calls in flight by name, from which it removes itself */
  constructor(
    all: InFlightMap<string, InFlightCall>,
    name: string,
    head: unknown,
    newestServed: bigint,
    { deadline, owner, clientBatch }: CallParticipant,
  ) {
    this.#all = all;
    this.#name = name;
    this.head = head;
    this.newestServed = newestServed;
    this.deadline = deadline;
    this.cancellation = new Cancellation(owner, clientBatch);
  }

  /**
   * @param retry sends the call again, if the participant's deadline is later than the call's
   * @param isLate it is also sent again after `no-upstream`
   */
  join(participant: CallParticipant, receiver: ResponseReceiver, retry?: () => void, isLate = false): void {
    const participation = new Participation(this, participant, receiver, retry, isLate);
    if (this.#first === undefined) this.#first = participation;
    else (this.#others ??= new Set()).add(participation);
  }

  leave(participation: Participation): void {
    if (this.#first === participation) this.#first = undefined;
    else this.#others?.delete(participation);
    if (this.#first === undefined && (this.#others === undefined || this.#others.size === 0)) {
      this.cancellation.cancel();
    }
  }

  succeeded(response: CoalescedResponse): void {
    this.#all.deleteEntry(this.#name, this);
    this.#first?.resolveWith(response);
    if (this.#others !== undefined) for (const other of this.#others) other.resolveWith(response);
  }

  failed(error: unknown): void {
    this.#all.deleteEntry(this.#name, this);
    this.#first?.rejectWith(error);
    if (this.#others !== undefined) for (const other of this.#others) other.rejectWith(error);
  }
}

/** One participant of a call in flight, with its own deadline. */
class Participation implements Cancellable {
  cancellationPlace = -1;
  readonly #call: InFlightCall;
  readonly #participant: CallParticipant;
  readonly #receiver: ResponseReceiver;
  readonly #retry: (() => void) | undefined;
  readonly #isLate: boolean;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    inFlight: InFlightCall,
    participant: CallParticipant,
    receiver: ResponseReceiver,
    retry: (() => void) | undefined,
    isLate: boolean,
  ) {
    this.#call = inFlight;
    this.#participant = participant;
    this.#receiver = receiver;
    this.#retry = retry;
    this.#isLate = isLate;
    if (participant.deadline < inFlight.deadline) {
      this.#timer = setTimeout(() => {
        this.#leaveWith(new RpcError('no-upstream'));
      }, participant.deadline - performance.now());
    }
    participant.caller.add(this);
  }

  cancel(): void {
    this.#leaveWith(new Cancelled());
  }

  resolveWith(response: CoalescedResponse): void {
    this.#cleanUp();
    this.#receiver.succeeded(response);
  }

  rejectWith(error: unknown): void {
    this.#cleanUp();
    const { deadline, caller, owner } = this.#participant;
    const now = performance.now();
    const hasOnlyCallTimedOut = now + MIN_ATTEMPT_MS >= this.#call.deadline && now + MIN_ATTEMPT_MS < deadline;
    const reason = error instanceof RpcError ? error.reason : undefined;
    // The share of another key was used up, which does not concern this one.
    const isShareOfOther = reason === 'memory-share' && this.#call.cancellation.owner !== owner;
    const isOutdated = this.#isLate && reason === 'no-upstream' && now + MIN_ATTEMPT_MS < deadline;
    const canRetry = (hasOnlyCallTimedOut || isShareOfOther || isOutdated) && !caller.isCancelled;
    if (this.#retry === undefined || !canRetry) this.#receiver.failed(error);
    // Later, because the other participants must be settled first.
    else queueMicrotask(this.#retry);
  }

  #leaveWith(reason: Error): void {
    this.#cleanUp();
    this.#receiver.failed(reason);
    this.#call.leave(this);
  }

  #cleanUp(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#participant.caller.delete(this);
  }
}
