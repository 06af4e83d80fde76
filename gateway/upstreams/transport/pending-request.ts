import type { Deadlines, Timed } from '../../admission/deadlines.ts';
import { Cancelled, type Cancellable, type Cancellation } from './cancellation.ts';
import type { SentRequest } from './transport.ts';
import { TimedOut } from './upstream-response.ts';

/** A request that shares a connection or a batch with others, until its response, its deadline or its cancellation. */
export class PendingRequest<Response> implements Cancellable, Timed {
  deadlinePlace = -1;
  cancellationPlace = -1;
  readonly request: SentRequest;
  readonly deadline: number;
  readonly response: Promise<Response>;
  readonly cancellation: Cancellation | undefined;
  readonly #deadlines: Deadlines;
  readonly #onAbandoned: (request: this, reason: Error) => void;
  #resolve!: (response: Response | Promise<Response>) => void;
  #reject!: (reason: unknown) => void;

  /** @param onAbandoned called when it ends without a response, by its deadline or by cancellation */
  constructor(
    request: SentRequest,
    cancellation: Cancellation | undefined,
    deadlines: Deadlines,
    onAbandoned: (request: PendingRequest<Response>, reason: Error) => void,
  ) {
    this.request = request;
    this.deadline = request.deadline;
    this.cancellation = cancellation;
    this.#deadlines = deadlines;
    this.#onAbandoned = onAbandoned;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    deadlines.add(this);
    cancellation?.add(this);
  }

  /** @param response a promise, if the request is sent again in another way */
  settle(response: Response | Promise<Response>): void {
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
    this.#onAbandoned(this, reason);
  }

  #end(): void {
    this.#deadlines.delete(this);
    this.cancellation?.delete(this);
  }
}
