import { clock, type Timer } from '../clock/clock.ts';
import type { MessageToPrimary, MessageToWorker, ResponseWait } from './messages.ts';

/** Topic of a request from a worker that is then current: the response shows that it has handled all earlier messages. */
export const CURRENT_TOPIC = 'current';
/** How long the worker is current from its request on, and others wait for it from the primary's response on. */
export const CURRENT_MS = 100;

/** Handles a request of a worker. Its result, or that of its promise, is the response. */
export type RequestHandler = (body: never, from: number) => unknown;

/** The sender of the primary's own requests, in place of the id of a worker. */
const PRIMARY = 0;

/** A request that waits for the responses of its recipients. */
interface PendingRequest {
  readonly from: number;
  readonly waiting: Set<number>;
  readonly results: unknown[];
  readonly end: (results: readonly unknown[]) => void;
  timer: Timer | undefined;
}

/**
 * Passes the requests of workers on, and gathers the responses. A worker that has ended is not waited for. Messages between
 * two processes arrive in the order in which they were sent, so that a response shows that all earlier requests were handled.
 */
export class MessageRouter {
  readonly #workers = new Map<number, (message: MessageToWorker) => void>();
  readonly #handlers = new Map<string, RequestHandler>();
  readonly #pending = new Map<number, PendingRequest>();
  /** Time until which others wait for a worker, because it is current. */
  readonly #currentUntil = new Map<number, number>();
  readonly #onError: (error: unknown) => void;
  readonly #endHandlers: ((worker: number) => void)[] = [];
  #lastId = 0;

  /** @param onError a defect of a handler, whose request has no result */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
    this.on(CURRENT_TOPIC, (_: unknown, worker) => void this.#currentUntil.set(worker, clock.now() + CURRENT_MS));
  }

  get ids(): readonly number[] {
    return [...this.#workers.keys()].sort((one, other) => one - other);
  }

  /** Handles requests to the primary. */
  on(topic: string, handler: RequestHandler): void {
    this.#handlers.set(topic, handler);
  }

  /** @param handler called when a worker has ended, after its last request */
  onEnd(handler: (worker: number) => void): void {
    this.#endHandlers.push(handler);
  }

  /** Whether the worker has joined and not ended. */
  has(worker: number): boolean {
    return this.#workers.has(worker);
  }

  /** A request of the primary. @returns undefined: the worker has ended, or its handler failed */
  async request(worker: number, topic: string, body: unknown): Promise<unknown> {
    const [result] = await new Promise<readonly unknown[]>((end) => {
      this.#send(PRIMARY, [worker], topic, body, Infinity, end);
    });
    return result;
  }

  /** Sends a request of the primary without a response. */
  notify(worker: number, topic: string, body: unknown): void {
    this.#send(PRIMARY, [worker], topic, body, Infinity, undefined);
  }

  /** The worker gets requests from now on. */
  add(worker: number, send: (message: MessageToWorker) => void): void {
    this.#workers.set(worker, send);
    this.sendAll({ kind: 'workers', ids: this.ids });
  }

  /** The worker has ended. */
  remove(worker: number): void {
    if (!this.#workers.delete(worker)) return;
    this.#currentUntil.delete(worker);
    for (const [key, request] of this.#pending) {
      if (request.from === worker) {
        this.#pending.delete(key);
        clock.clearTimeout(request.timer);
      } else if (request.waiting.delete(worker)) this.#endIfComplete(key, request);
    }
    this.sendAll({ kind: 'workers', ids: this.ids });
    for (const handler of this.#endHandlers) handler(worker);
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

  #route(from: number, { id, to, topic, body, wait }: Extract<MessageToPrimary, { readonly kind: 'request' }>): void {
    if (to === 'primary') {
      void this.#handle(from, id, topic, body);
      return;
    }
    const recipients = to === 'others' ? [...this.#workers.keys()].filter((worker) => worker !== from) : [to];
    const respond =
      id === undefined
        ? undefined
        : (results: readonly unknown[]): void => this.#workers.get(from)?.({ kind: 'responses', id, results });
    this.#send(from, recipients, topic, body, wait, respond);
  }

  /** @param end called with the responses; undefined: the sender needs none */
  #send(
    from: number,
    to: readonly number[],
    topic: string,
    body: unknown,
    wait: ResponseWait,
    end: PendingRequest['end'] | undefined,
  ): void {
    const present = to.filter((worker) => this.#workers.has(worker));
    const key = ++this.#lastId;
    const id = end === undefined ? undefined : key;
    for (const worker of present) this.#workers.get(worker)?.({ kind: 'request', id, from, topic, body });
    if (end === undefined) return;
    const now = clock.now();
    const untilOf = (worker: number): number =>
      wait === 'current' ? (this.#currentUntil.get(worker) ?? now) : now + wait;
    const waiting = present.filter((worker) => untilOf(worker) > now);
    const request = { from, waiting: new Set(waiting), results: [], end, timer: undefined };
    this.#pending.set(key, request);
    this.#endAt(Math.max(...waiting.map(untilOf)), key, request);
    this.#endIfComplete(key, request);
  }

  #endAt(deadline: number, key: number, request: PendingRequest): void {
    const remainingMs = deadline - clock.now();
    if (Math.abs(remainingMs) === Infinity) return;
    // Node's timers fire early by as much as the turn of the event loop has taken.
    if (remainingMs > 0)
      request.timer = clock.setTimeout(() => {
        this.#endAt(deadline, key, request);
      }, Math.ceil(remainingMs));
    else if (this.#pending.delete(key)) request.end(request.results);
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

  #endIfComplete(key: number, { waiting, results, end, timer }: PendingRequest): void {
    if (waiting.size > 0) return;
    this.#pending.delete(key);
    clock.clearTimeout(timer);
    end(results);
  }
}
