import type { RequestHandler } from './message-router.ts';
import type { MessageToPrimary, MessageToWorker, Recipient } from './messages.ts';

export interface WorkerLinkOptions {
  /** Of this worker. It is never used again. */
  readonly id: number;
  /** The number of workers that the machine should have. */
  readonly count: number;
  readonly send: (message: MessageToPrimary) => void;
}

/** What one worker knows of the others on its machine, and tells them through the primary. */
export class WorkerLink {
  readonly id: number;
  readonly count: number;
  readonly #send: (message: MessageToPrimary) => void;
  readonly #handlers = new Map<string, RequestHandler>();
  readonly #waiting = new Map<number, (results: readonly unknown[]) => void>();
  #ids: readonly number[] = [];
  #lastId = 0;

  constructor({ id, count, send }: WorkerLinkOptions) {
    this.id = id;
    this.count = count;
    this.#send = send;
  }

  /** Whether it does what one worker does for all, such as polls: the oldest one. */
  get isFirst(): boolean {
    return this.#ids.length === 0 || this.#ids[0] === this.id;
  }

  /** Handles requests of other workers. */
  on(topic: string, handler: RequestHandler): void {
    this.#handlers.set(topic, handler);
  }

  /** The worker can handle requests from now on. */
  join(): void {
    this.#send({ kind: 'joined' });
  }

  /** The worker listens. */
  ready(): void {
    this.#send({ kind: 'ready' });
  }

  /** Tells all other workers. */
  tell(topic: string, body: unknown): void {
    this.#send({ kind: 'request', id: undefined, to: 'others', topic, body });
  }

  /** @returns the results of all other workers, when all have handled it or ended; the own one is not among them */
  askOthers(topic: string, body: unknown): Promise<readonly unknown[]> {
    return this.#request('others', topic, body);
  }

  /** @returns undefined: the worker has ended */
  async ask(to: 'primary' | number, topic: string, body: unknown): Promise<unknown> {
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

  #request(to: Recipient, topic: string, body: unknown): Promise<readonly unknown[]> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ kind: 'request', id, to, topic, body });
    });
  }

  async #handle({ id, from, topic, body }: Extract<MessageToWorker, { readonly kind: 'request' }>): Promise<void> {
    const result = this.#handlers.get(topic)?.(body as never, from);
    // A response that needs no wait is sent in the order of the requests.
    const settled = result instanceof Promise ? ((await result) as unknown) : result;
    if (id !== undefined) this.#send({ kind: 'response', id, result: settled });
  }
}
