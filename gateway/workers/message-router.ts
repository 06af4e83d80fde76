import type { MessageToPrimary, MessageToWorker } from './messages.ts';

/** Handles a request of a worker. Its result, or that of its promise, is the response. */
export type RequestHandler = (body: never, from: number) => unknown;

/** A request that waits for the responses of its recipients. */
interface PendingRequest {
  readonly from: number;
  readonly id: number;
  readonly waiting: Set<number>;
  readonly results: unknown[];
}

/**
 * Passes the requests of workers on, and gathers the responses. A worker that has ended is not waited for. Messages between
 * two processes arrive in the order in which they were sent, so that a response shows that all earlier requests were handled.
 */
export class MessageRouter {
  readonly #workers = new Map<number, (message: MessageToWorker) => void>();
  readonly #handlers = new Map<string, RequestHandler>();
  readonly #pending = new Map<number, PendingRequest>();
  readonly #onError: (error: unknown) => void;
  #lastId = 0;

  /** @param onError a defect of a handler, whose request has no result */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get ids(): readonly number[] {
    return [...this.#workers.keys()].sort((one, other) => one - other);
  }

  /** Handles requests to the primary. */
  on(topic: string, handler: RequestHandler): void {
    this.#handlers.set(topic, handler);
  }

  /** The worker gets requests from now on. */
  add(worker: number, send: (message: MessageToWorker) => void): void {
    this.#workers.set(worker, send);
    this.sendAll({ kind: 'workers', ids: this.ids });
  }

  /** The worker has ended. */
  remove(worker: number): void {
    if (!this.#workers.delete(worker)) return;
    for (const [key, request] of this.#pending) {
      if (request.from === worker) this.#pending.delete(key);
      else if (request.waiting.delete(worker)) this.#endIfComplete(key, request);
    }
    this.sendAll({ kind: 'workers', ids: this.ids });
  }

  sendAll(message: MessageToWorker): void {
    for (const send of this.#workers.values()) send(message);
  }

  received(from: number, message: Extract<MessageToPrimary, { readonly kind: 'request' | 'response' }>): void {
    if (message.kind === 'request') this.#route(from, message);
    else {
      const request = this.#pending.get(message.id);
      if (request?.waiting.delete(from) !== true) return;
      request.results.push(message.result);
      this.#endIfComplete(message.id, request);
    }
  }

  #route(from: number, { id, to, topic, body }: Extract<MessageToPrimary, { readonly kind: 'request' }>): void {
    if (to === 'primary') {
      void this.#handle(from, id, topic, body);
      return;
    }
    const recipients = to === 'others' ? [...this.#workers.keys()].filter((worker) => worker !== from) : [to];
    const present = recipients.filter((worker) => this.#workers.has(worker));
    const key = ++this.#lastId;
    for (const worker of present)
      this.#workers.get(worker)?.({ kind: 'request', id: id === undefined ? undefined : key, from, topic, body });
    if (id === undefined) return;
    const request = { from, id, waiting: new Set(present), results: [] };
    this.#pending.set(key, request);
    this.#endIfComplete(key, request);
  }

  async #handle(from: number, id: number | undefined, topic: string, body: unknown): Promise<void> {
    let result: unknown;
    try {
      result = await this.#handlers.get(topic)?.(body as never, from);
    } catch (error) {
      this.#onError(error);
    }
    if (id !== undefined) this.#workers.get(from)?.({ kind: 'responses', id, results: [result] });
  }

  #endIfComplete(key: number, { from, id, waiting, results }: PendingRequest): void {
    if (waiting.size > 0) return;
    this.#pending.delete(key);
    this.#workers.get(from)?.({ kind: 'responses', id, results });
  }
}
