import { clock } from '../clock/clock.ts';
import { CURRENT_MS, CURRENT_TOPIC, type RequestHandler } from './message-router.ts';
import type { MessageToPrimary, MessageToWorker, Recipient, ResponseWait } from './messages.ts';
import type { WorkerPorts } from './worker-ports.ts';

/** A worker that hangs is waited for this long by default, and killed later. */
const MAX_WAIT_MS = 1_000;

export interface WorkerLinkOptions {
  /** Id of this worker. It is never used again. */
  readonly id: number;
  /** The number of workers that the machine should have. */
  readonly count: number;
  readonly send: (message: MessageToPrimary) => void;
  /** A defect of a handler. Its request has no result. */
  readonly onError: (error: unknown) => void;
}

/** Connects one worker with the others on its machine, through the primary. */
export class WorkerLink {
  readonly id: number;
  readonly count: number;
  /** Ports of the worker; undefined: it listens itself. */
  ports: WorkerPorts | undefined;
  readonly #send: (message: MessageToPrimary) => void;
  readonly #onError: (error: unknown) => void;
  readonly #handlers = new Map<string, RequestHandler>();
  readonly #waiting = new Map<number, (results: readonly unknown[]) => void>();
  /** Whether requests of the worker are handled from now on. */
  hasJoined = false;
  #ids: readonly number[] = [];
  #lastId = 0;
  #currentUntil = -Infinity;
  #renewing: Promise<void> | undefined;
  #nextRenewal: Promise<void> | undefined;

  constructor({ id, count, send, onError }: WorkerLinkOptions) {
    this.id = id;
    this.count = count;
    this.#send = send;
    this.#onError = onError;
  }

  /** Whether this is the oldest worker, which does what one worker does for all, such as polls. */
  get isFirst(): boolean {
    return this.#ids.length === 0 || this.#ids[0] === this.id;
  }

  /** Whether the worker has joined and not ended. */
  has(worker: number): boolean {
    return this.#ids.includes(worker);
  }

  /** Handles requests of other workers. */
  on(topic: string, handler: RequestHandler): void {
    this.#handlers.set(topic, handler);
  }

  /** The worker can handle requests from now on. */
  join(): void {
    this.#send({ kind: 'joined' });
    this.hasJoined = true;
  }

  /** The worker listens. */
  ready(): void {
    this.#send({ kind: 'ready' });
  }

  /**
   * A worker is current if it has handled all that others waited for it to handle. It is so for 100 ms from a request to the
   * primary on, and others wait for it as long: one that hangs is not current when it continues.
   * @returns resolves when the worker has been current since this call; undefined: it is
   */
  whenCurrent(): Promise<void> | undefined {
    const now = clock.now();
    if (now < this.#currentUntil - CURRENT_MS / 2) return undefined;
    const renewal = (this.#nextRenewal ??= this.#renew());
    return now < this.#currentUntil ? undefined : renewal;
  }

  /** Sends a request without a response, by default to all other workers. */
  notify(topic: string, body: unknown, to: Recipient = 'others'): void {
    this.#send({ kind: 'request', id: undefined, to, topic, body, wait: Infinity });
  }

  /** @returns the results of the other workers that have one, when all have handled the request or ended, or `wait` is over */
  async requestOthers(topic: string, body: unknown, wait: ResponseWait = MAX_WAIT_MS): Promise<readonly unknown[]> {
    const results = await this.#request('others', topic, body, wait);
    return results.filter((result) => result !== undefined);
  }

  /** @returns undefined: the recipient has ended, or its handler failed */
  async request(to: 'primary' | number, topic: string, body: unknown): Promise<unknown> {
    const [result] = await this.#request(to, topic, body);
    return result;
  }

  received(message: Extract<MessageToWorker, { readonly kind: 'request' | 'responses' | 'workers' }>): void {
    switch (message.kind) {
      case 'request':
        void this.#handle(message);
        break;
      case 'responses':
        this.#waiting.get(message.id)?.(message.results);
        this.#waiting.delete(message.id);
        break;
      case 'workers':
        this.#ids = message.ids;
    }
  }

  /** One renewal is in progress at a time: calls that come meanwhile wait for the next one. */
  async #renew(): Promise<void> {
    await this.#renewing;
    this.#nextRenewal = undefined;
    const sentAt = clock.now();
    this.#renewing = this.request('primary', CURRENT_TOPIC, undefined).then(() => {
      this.#currentUntil = sentAt + CURRENT_MS;
    });
    return this.#renewing;
  }

  #request(to: Recipient, topic: string, body: unknown, wait: ResponseWait = Infinity): Promise<readonly unknown[]> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ kind: 'request', id, to, topic, body, wait });
    });
  }

  async #handle({ id, from, topic, body }: Extract<MessageToWorker, { readonly kind: 'request' }>): Promise<void> {
    let result: unknown;
    try {
      result = this.#handlers.get(topic)?.(body as never, from);
      // A response that needs no wait is sent in the order of the requests.
      if (result instanceof Promise) result = (await result) as unknown;
    } catch (error) {
      result = undefined;
      this.#onError(error);
    }
    if (id !== undefined) this.#send({ kind: 'response', id, result });
  }
}
