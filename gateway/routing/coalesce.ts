import type { CachedResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { CallObserver } from '../observability/call-observer.ts';
import { MIN_ATTEMPT_MS } from './attempts.ts';
import { Cancellation, Cancelled, type Cancellable } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

type CoalescedResponse = UpstreamResponse | CachedResponse;
type SendCall = (cancellation: Cancellation) => Promise<CoalescedResponse>;

/** What callers have seen of the chain by now. */
export interface ServedState {
  /** Its head, as it was looked at; another object when it has moved. */
  readonly head: unknown;
  /** The highest block that one was told of. */
  readonly newestServed: bigint;
}

export interface CallParticipant {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
}

/**
 * The reads of one network that are with its upstreams: who asks the same meanwhile shares the reply. Not where it could
 * be from before something that the asker has seen: a newer block, or a transaction that was sent through this gateway.
 */
export class CoalescedCalls {
  readonly #inFlight = new Map<string, InFlightCall>();
  readonly #served: ServedState;
  readonly #onCoalesced: () => void;

  /** @param onCoalesced hears of each call that upstreams are spared */
  constructor(served: ServedState, onCoalesced: () => void) {
    this.#served = served;
    this.#onCoalesced = onCoalesced;
  }

  /**
   * @param call its method and parameters
   * @param send begins it, for as long as anybody waits for it
   * @param observer hears of it when it is shared
   * @throws what `ask` does; Cancelled where the caller has left; RpcError where its own time is over
   */
  request(
    call: string,
    participant: CallParticipant,
    send: SendCall,
    observer?: Pick<CallObserver, 'cached'>,
  ): Promise<CoalescedResponse> {
    if (participant.caller.isCancelled) return Promise.reject(new Cancelled());
    const { head, newestServed: latest } = this.#served;
    const existing = this.#inFlight.get(call);
    if (
      existing !== undefined &&
      existing.head === head &&
      existing.newestServed === latest &&
      !existing.cancellation.isCancelled
    ) {
      this.#onCoalesced();
      observer?.cached('coalesced');
      return existing.join(participant, () => this.request(call, participant, send, observer));
    }
    const inFlight = new InFlightCall(head, latest, participant.deadline);
    const upstreamResponse = send(inFlight.cancellation);
    this.#inFlight.set(call, inFlight);
    upstreamResponse.then(
      (response) => {
        this.#forgetCall(call, inFlight);
        inFlight.resolve(response);
      },
      (error: unknown) => {
        this.#forgetCall(call, inFlight);
        inFlight.reject(error);
      },
    );
    return inFlight.join(participant);
  }

  /** Something was sent: what is asked from now on is to know of it. */
  forgetAll(): void {
    this.#inFlight.clear();
  }

  #forgetCall(call: string, inFlight: InFlightCall): void {
    if (this.#inFlight.get(call) === inFlight) this.#inFlight.delete(call);
  }
}

/** A call that is with upstreams, and all who wait for its reply. When they have left, it is broken off. */
class InFlightCall implements ServedState {
  readonly head: unknown;
  readonly newestServed: bigint;
  readonly deadline: number;
  readonly cancellation = new Cancellation();
  /** Mostly there is one at a time. */
  #first: Member | undefined;
  #others: Set<Member> | undefined;

  constructor(head: unknown, latest: bigint, deadline: number) {
    this.head = head;
    this.newestServed = latest;
    this.deadline = deadline;
  }

  /** @param retry for one that has more time than the flight has */
  join(participant: CallParticipant, retry?: () => Promise<CoalescedResponse>): Promise<CoalescedResponse> {
    return new Promise((resolve, reject) => {
      const member = new Member(this, participant, resolve, reject, retry);
      if (this.#first === undefined) this.#first = member;
      else (this.#others ??= new Set()).add(member);
    });
  }

  leave(member: Member): void {
    if (this.#first === member) this.#first = undefined;
    else this.#others?.delete(member);
    if (this.#first === undefined && (this.#others === undefined || this.#others.size === 0)) {
      this.cancellation.cancel();
    }
  }

  resolve(response: CoalescedResponse): void {
    this.#first?.resolveWith(response);
    if (this.#others !== undefined) for (const one of this.#others) one.resolveWith(response);
  }

  reject(error: unknown): void {
    this.#first?.rejectWith(error);
    if (this.#others !== undefined) for (const one of this.#others) one.rejectWith(error);
  }
}

/** One who waits, for no longer than its own time. */
class Member implements Cancellable {
  readonly #call: InFlightCall;
  readonly #participant: CallParticipant;
  readonly #resolve: (response: CoalescedResponse | Promise<CoalescedResponse>) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #retry: (() => Promise<CoalescedResponse>) | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    inFlight: InFlightCall,
    participant: CallParticipant,
    resolve: (response: CoalescedResponse | Promise<CoalescedResponse>) => void,
    reject: (reason: unknown) => void,
    retry: (() => Promise<CoalescedResponse>) | undefined,
  ) {
    this.#call = inFlight;
    this.#participant = participant;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#retry = retry;
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
    this.#resolve(response);
  }

  rejectWith(error: unknown): void {
    this.#cleanUp();
    const { deadline, caller } = this.#participant;
    const now = performance.now();
    const hasOnlyCallTimedOut = now + MIN_ATTEMPT_MS >= this.#call.deadline && now + MIN_ATTEMPT_MS < deadline;
    if (this.#retry === undefined || !hasOnlyCallTimedOut || caller.isCancelled) this.#reject(error);
    // A tick later: whatever comes of it, the others of the flight are told first.
    else this.#resolve(Promise.resolve().then(this.#retry));
  }

  #leaveWith(reason: Error): void {
    this.#cleanUp();
    this.#reject(reason);
    this.#call.leave(this);
  }

  #cleanUp(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#participant.caller.delete(this);
  }
}
