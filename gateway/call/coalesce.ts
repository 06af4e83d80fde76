import { clock, type Timer } from '../clock/clock.ts';
import type { Account } from '../admission/account.ts';
import type { NetworkResponse } from '../cache/response-cache.ts';
import { InFlightMap } from '../collections/in-flight-map.ts';
import { InFlightSet } from '../collections/in-flight-set.ts';
import { limitReasons, RpcError } from '../jsonrpc/errors.ts';
import type { CallRecord } from '../observability/call-record.ts';
import { Cancellation, Cancelled, type Cancellable } from '../upstreams/transport/cancellation.ts';
import { MIN_ATTEMPT_MS } from '../upstreams/transport/upstream-response.ts';

/** An upstream may have recovered, or got the block, since a call began this long ago. */
const LATE_JOIN_MS = 100;

type SendCall = (call: CoalescedCall) => Promise<NetworkResponse>;

/** A call that others may join while it is in progress. */
export interface CoalescedCall {
  /** Cancels the call when no participant waits any more. */
  readonly cancellation: Cancellation;
  /**
   * Keeps others from joining it, because its result flows to the caller that began it.
   * @returns false if others have joined, or that caller has left
   */
  tryClose(): boolean;
}

/** The chain of the network, by whose epoch calls are joined. */
interface EpochSource {
  readonly view: { readonly epoch: number };
}

/** One of the identical calls. */
export interface Participant {
  /** When the participant must have a response, by clock.now(). */
  readonly deadline: number;
  readonly caller: Cancellation;
  readonly owner?: Account | undefined;
  /** Record of a caller's call. */
  readonly record?: CallRecord | undefined;
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
  constructor(chain: EpochSource, onCoalesced: () => void = () => undefined) {
    this.#chain = chain;
    this.#onCoalesced = onCoalesced;
  }

  /**
   * @param name method and parameters as text
   * @param send sends the call
   * @throws what `send` throws; Cancelled if the caller has disconnected; RpcError after the participant's deadline (rejects
   *   with it)
   */
  request(name: string, participant: Participant, send: SendCall): Promise<NetworkResponse> {
    if (participant.caller.isCancelled) return Promise.reject(new Cancelled());
    const joined = this.#find(name, participant);
    return joined === undefined ? this.#begin(name, participant, send) : this.#join(joined, name, participant, send);
  }

  /** Forgets all calls when a transaction is sent: later calls must not join calls that began before it. */
  forgetAll(): void {
    this.#inFlight.clear();
  }

  #find(name: string, { owner }: Participant): InFlightCall | undefined {
    const call = this.#inFlight.get(name);
    if (call === undefined || call.isClosed || call.cancellation.isCancelled) return undefined;
    if (call.epoch !== this.#chain.view.epoch) return undefined;
    return call.cancellation.owner === owner || !call.cancellation.isWaiting ? call : undefined;
  }

  /** Waits for the response to an identical call. Such a call is sent again after a failure that does not concern this one. */
  async #join(first: InFlightCall, name: string, participant: Participant, send: SendCall): Promise<NetworkResponse> {
    // After `no-upstream`, a call is repeated once.
    let hasRepeated = false;
    for (let joined: InFlightCall | undefined = first; joined !== undefined; joined = this.#find(name, participant)) {
      this.#onCoalesced();
      participant.record?.cached('coalesced');
      const isLate: boolean = !hasRepeated && clock.now() - joined.startedAt > LATE_JOIN_MS;
      try {
        return await joined.wait(participant);
      } catch (error) {
        if (!mayRepeat(error, joined, participant, isLate)) throw error;
      }
      hasRepeated ||= isLate;
    }
    return this.#begin(name, participant, send);
  }

  #begin(name: string, participant: Participant, send: SendCall): Promise<NetworkResponse> {
    const call = new InFlightCall(this.#chain.view.epoch, participant);
    this.#inFlight.set(name, call);
    const response = call.wait(participant);
    void this.#send(name, call, send);
    return response;
  }

  /** Sends the call, and never rejects. */
  async #send(name: string, call: InFlightCall, send: SendCall): Promise<void> {
    try {
      call.succeed(await send(call));
    } catch (error) {
      call.fail(error);
    } finally {
      this.#inFlight.deleteEntry(name, call);
    }
  }
}

const noWaits: readonly ParticipantWait[] = [];

/** One call in flight and its participants. It is cancelled when the last participant leaves. */
class InFlightCall implements CoalescedCall {
  readonly epoch: number;
  readonly startedAt = clock.now();
  readonly deadline: number;
  readonly cancellation: Cancellation;
  /** The wait of the participant that began the call; undefined: it has left. */
  #first: ParticipantWait | undefined;
  /** The waits of those that joined it. Most calls have none, and need no set. */
  #joined: InFlightSet<'place', ParticipantWait> | undefined;
  isClosed = false;

  constructor(epoch: number, { deadline, owner }: Participant) {
    this.epoch = epoch;
    this.deadline = deadline;
    this.cancellation = new Cancellation(owner);
  }

  /** @throws what `send` throws; Cancelled, or RpcError after the participant's deadline (rejects with it) */
  wait(participant: Participant): Promise<NetworkResponse> {
    return new Promise((resolve, reject) => {
      const waiting = new ParticipantWait(this, participant, resolve, reject);
      if (this.#first === undefined && this.#joined === undefined) this.#first = waiting;
      else (this.#joined ??= new InFlightSet('place')).add(waiting);
    });
  }

  leave(waiting: ParticipantWait): void {
    if (waiting === this.#first) this.#first = undefined;
    else this.#joined?.delete(waiting);
    if (this.#first === undefined && this.#others.length === 0) this.cancellation.cancel();
  }

  tryClose(): boolean {
    this.isClosed = this.#first !== undefined && this.#others.length === 0;
    return this.isClosed;
  }

  succeed(response: NetworkResponse): void {
    // Its caller has left since the result began to flow.
    if (response.kind === 'flowing' && this.#first === undefined) response.result.cancel();
    this.#first?.succeed(response);
    for (const waiting of this.#others) waiting.succeed(response);
  }

  fail(error: unknown): void {
    this.#first?.fail(error);
    for (const waiting of this.#others) waiting.fail(error);
  }

  get #others(): readonly ParticipantWait[] {
    return this.#joined?.entries ?? noWaits;
  }
}

/** The wait of one participant, which its own deadline or its caller's departure ends before the call. */
class ParticipantWait implements Cancellable {
  cancellationPlace = -1;
  /** Place in the waits of its call. */
  place = -1;
  readonly #resolve: (response: NetworkResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #call: InFlightCall;
  readonly #caller: Cancellation;
  readonly #timer: Timer | undefined;

  constructor(
    call: InFlightCall,
    { deadline, caller }: Participant,
    resolve: (response: NetworkResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#call = call;
    this.#caller = caller;
    this.#resolve = resolve;
    this.#reject = reject;
    if (deadline < call.deadline) {
      this.#timer = clock.setTimeout(() => {
        this.#leaveWith(new RpcError('no-upstream'));
      }, deadline - clock.now());
    }
    caller.add(this);
  }

  cancel(): void {
    this.#leaveWith(new Cancelled());
  }

  succeed(response: NetworkResponse): void {
    this.#release();
    this.#resolve(response);
  }

  fail(error: unknown): void {
    this.#release();
    this.#reject(error);
  }

  #release(): void {
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer);
    this.#caller.delete(this);
  }

  #leaveWith(reason: Error): void {
    this.fail(reason);
    this.#call.leave(this);
  }
}

/** Reasons that concern one key. The limits are charged for requests that prove a result. */
const ofKey = new Set<string | undefined>(['memory-share', ...limitReasons]);

/** Whether a call that joined another one is sent again after its failure, which does not concern it. */
function mayRepeat(
  error: unknown,
  call: InFlightCall,
  { deadline, caller, owner }: Participant,
  isLate: boolean,
): boolean {
  const now = clock.now();
  if (caller.isCancelled || now + MIN_ATTEMPT_MS >= deadline) return false;
  const reason = error instanceof RpcError ? error.reason : undefined;
  const hasOnlyCallTimedOut = now + MIN_ATTEMPT_MS >= call.deadline;
  // The share or a limit of another key was used up, which does not concern this one.
  const isShareOfOther = ofKey.has(reason) && call.cancellation.owner !== owner;
  return hasOnlyCallTimedOut || isShareOfOther || (isLate && reason === 'no-upstream');
}
