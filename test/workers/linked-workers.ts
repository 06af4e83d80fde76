import { MessageRouter } from '../../gateway/workers/message-router.ts';
import type { MessageToPrimary, MessageToWorker } from '../../gateway/workers/messages.ts';
import { WorkerLink } from '../../gateway/workers/worker-link.ts';

/** Workers of one process. Messages arrive in order, each in a later microtask, as clones. */
export class LinkedWorkers {
  readonly errors: unknown[] = [];
  readonly router = new MessageRouter((error) => this.errors.push(error));
  readonly #links = new Map<number, WorkerLink>();
  /** Workers whose messages wait. */
  readonly #stopped = new Map<number, MessageToWorker[]>();

  /** A worker that has not joined yet. */
  open(id: number, count = 2): WorkerLink {
    const send = (message: MessageToPrimary): void => {
      const sent = structuredClone(message);
      void Promise.resolve().then(() => {
        this.#received(id, sent);
      });
    };
    const link = new WorkerLink({ id, count, send, onError: (error) => this.errors.push(error) });
    this.#links.set(id, link);
    return link;
  }

  /** Ends a worker: it sends and receives nothing more. */
  end(id: number): void {
    this.#links.delete(id);
    this.router.remove(id);
  }

  /** The event loop of the worker does not turn until `go`. */
  stop(id: number): void {
    this.#stopped.set(id, []);
  }

  go(id: number): void {
    const waiting = this.#stopped.get(id) ?? [];
    this.#stopped.delete(id);
    for (const message of waiting) this.#deliver(id, message);
  }

  #received(id: number, message: MessageToPrimary): void {
    if (!this.#links.has(id)) return;
    if (message.kind === 'request' || message.kind === 'response') this.router.received(id, message);
    else if (message.kind === 'joined')
      this.router.add(id, (sent) => {
        const clone = structuredClone(sent);
        void Promise.resolve().then(() => {
          this.#deliver(id, clone);
        });
      });
  }

  #deliver(id: number, message: MessageToWorker): void {
    const waiting = this.#stopped.get(id);
    if (waiting !== undefined) waiting.push(message);
    else if (message.kind === 'request' || message.kind === 'responses' || message.kind === 'workers')
      this.#links.get(id)?.received(message);
  }
}

/** Workers with the ids from 1 on, which have joined. */
export async function linkedWorkers(count: number): Promise<{ workers: LinkedWorkers; links: readonly WorkerLink[] }> {
  const workers = new LinkedWorkers();
  const links = Array.from({ length: count }, (_, index) => workers.open(index + 1, count));
  for (const link of links) link.join();
  // All know of each other when a request to each has been responded to.
  await Promise.all(links.map((link) => link.requestOthers('', undefined)));
  return { workers, links };
}
