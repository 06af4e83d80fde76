import type { Deadlines, Timed } from '../../../admission/deadlines.ts';
import type { Queued } from '../../../admission/fair-queue.ts';
import { gatehouse, type SlotOwner } from '../../../admission/fair-slots.ts';
import { Cancelled, type Cancellable, type Cancellation } from '../cancellation.ts';
import type { HttpResponse } from '../http-exchange.ts';
import type { HttpUpstream } from '../http-upstream.ts';
import { MIN_COUNTED_TIMEOUT_MS, TimedOut } from '../upstream-response.ts';

/** What all batched calls of one upstream share. */
export interface BatchingParts {
  readonly http: HttpUpstream;
  /** Of calls in batches. */
  readonly deadlines: Deadlines;
  /** Called when a call has its slot. */
  readonly onStarted: (call: BatchedCall) => void;
}

/** One lookup of a client's batch, which may share an upstream batch. It holds a slot of its upstream until it ends. */
export class BatchedCall implements Queued, Cancellable, Timed {
  readonly body: string;
  readonly id: number;
  readonly deadline: number;
  readonly owner: SlotOwner;
  readonly #parts: BatchingParts;
  readonly cancellation: Cancellation | undefined;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (reason: unknown) => void;
  /** Called when its caller leaves or its time is over, while its batch is in flight. */
  #onAbandoned: ((id: number) => void) | undefined;
  hasEnded = false;
  deadlinePlace = -1;
  cancellationPlace = -1;
  /** Whether the wait for the slot left too little time for a timeout to be an upstream failure. */
  #isLate = false;

  constructor(
    parts: BatchingParts,
    body: string,
    id: number,
    timeLimitMs: number,
    cancellation: Cancellation | undefined,
    resolve: (response: HttpResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#parts = parts;
    this.body = body;
    this.id = id;
    this.deadline = performance.now() + timeLimitMs;
    this.owner = cancellation?.owner ?? gatehouse;
    this.cancellation = cancellation;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** After a wait. */
  started(): void {
    this.#isLate = this.deadline - performance.now() < MIN_COUNTED_TIMEOUT_MS;
    this.#parts.onStarted(this);
  }

  rejected(reason: Error): void {
    this.#reject(reason);
  }

  /** The call becomes a part of a request with a deadline of its own. */
  join(onAbandoned: (id: number) => void): void {
    this.#onAbandoned = onAbandoned;
    this.#parts.deadlines.add(this);
  }

  /** Sends the call in a request of its own, which takes over its slot. */
  sendAlone(): void {
    if (this.hasEnded) return;
    this.#detach();
    const rejectLate = (reason: unknown): void => {
      this.#rejectWith(reason);
    };
    const reject = this.#isLate ? rejectLate : this.#reject;
    this.#parts.http.start(this.body, this.deadline, this.cancellation, true, this.#resolve, reject);
  }

  settle(response: HttpResponse): void {
    this.#end();
    this.#resolve(response);
  }

  /** @param reason an UpstreamFailure or Cancelled; any other error is a defect of the gateway */
  fail(reason: unknown): void {
    this.#end();
    this.#rejectWith(reason);
  }

  cancel(): void {
    this.#abandon(new Cancelled());
  }

  timeOut(): void {
    this.#abandon(new TimedOut());
  }

  #abandon(reason: Error): void {
    this.fail(reason);
    this.#onAbandoned?.(this.id);
  }

  #rejectWith(reason: unknown): void {
    if (this.#isLate && reason instanceof TimedOut) reason.isCallerTimeout = true;
    this.#reject(reason);
  }

  #end(): void {
    this.#detach();
    this.#parts.http.slots.leave(this.owner);
  }

  #detach(): void {
    this.hasEnded = true;
    this.cancellation?.delete(this);
    if (this.#onAbandoned !== undefined) this.#parts.deadlines.delete(this);
  }
}
