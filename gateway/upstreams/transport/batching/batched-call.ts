import type { Deadlines, Timed } from '../../../admission/deadlines.ts';
import { gatehouse, type SlotOwner } from '../../../admission/fair-slots.ts';
import { Cancelled, type Cancellable, type Cancellation } from '../cancellation.ts';
import type { HttpResponse, HttpUpstream } from '../http-upstream.ts';
import { TimedOut } from '../upstream-response.ts';

/** One lookup that may share a batch. It holds a slot of its upstream until it ends. */
export class BatchedCall implements Cancellable, Timed {
  readonly body: string;
  readonly id: number;
  readonly deadline: number;
  readonly owner: SlotOwner;
  readonly #http: HttpUpstream;
  readonly #deadlines: Deadlines;
  readonly #cancellation: Cancellation | undefined;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (reason: unknown) => void;
  /** Called when its caller leaves or its time is over, while its batch is in flight. */
  onAbandoned: ((id: number) => void) | undefined;
  hasEnded = false;

  constructor(
    http: HttpUpstream,
    deadlines: Deadlines,
    body: string,
    id: number,
    deadline: number,
    cancellation: Cancellation | undefined,
    resolve: (response: HttpResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#http = http;
    this.#deadlines = deadlines;
    this.body = body;
    this.id = id;
    this.deadline = deadline;
    this.owner = cancellation?.owner ?? gatehouse;
    this.#cancellation = cancellation;
    this.#resolve = resolve;
    this.#reject = reject;
    cancellation?.add(this);
  }

  /** The call becomes a part of a request with a deadline of its own. */
  join(onAbandoned: (id: number) => void): void {
    this.onAbandoned = onAbandoned;
    this.#deadlines.add(this);
  }

  /** Sends the call in a request of its own, which takes over its slot. */
  sendAlone(): void {
    if (this.hasEnded) return;
    this.#detach();
    this.#http.start(this.body, this.deadline, this.#cancellation, true, this.#resolve, this.#reject);
  }

  settle(response: HttpResponse): void {
    this.#end();
    this.#resolve(response);
  }

  /** @param reason an UpstreamFailure or Cancelled; any other error is a defect of the gateway */
  fail(reason: unknown): void {
    this.#end();
    this.#reject(reason);
  }

  cancel(): void {
    this.#abandon(new Cancelled());
  }

  timeOut(): void {
    this.#abandon(new TimedOut());
  }

  #abandon(reason: Error): void {
    this.fail(reason);
    this.onAbandoned?.(this.id);
  }

  #end(): void {
    this.#detach();
    this.#http.slots.leave(this.owner);
  }

  #detach(): void {
    this.hasEnded = true;
    this.#cancellation?.delete(this);
    this.#deadlines.delete(this);
  }
}
