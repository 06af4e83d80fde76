import { clock } from '../../clock/clock.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { Subscriber } from './subscriber.ts';

/** Results that are delivered at once: they take about 0.1 ms. */
const MAX_RESULTS = 20;
/** A subscriber whose results wait longer gets a gap: its owner has subscribed to more than the process can send. */
const MAX_WAIT_MS = 10_000;

interface WaitingResult {
  readonly subscriber: Subscriber;
  readonly results: readonly string[];
  readonly block: number | undefined;
  readonly since: number;
}

/** Queue of the notifications of one owner. */
interface Queue {
  waiting: WaitingResult[];
  /** Resolves when all is delivered. */
  delivery: Promise<void> | undefined;
}

/**
 * Delivers results to subscribers in the order in which they come. What does not fit into a turn of the event loop goes on in
 * the next turns, for each owner apart, so that the many subscribers of one owner do not delay those of others.
 */
export class FanOut {
  readonly #queues = new Map<string, Queue>();

  deliver(subscriber: Subscriber, results: readonly string[], block?: number): void {
    const { owner = '' } = subscriber;
    const queue = this.#queues.get(owner);
    if (queue === undefined && results.length <= MAX_RESULTS && turnBudget.mayRun(owner)) {
      if (!subscriber.isClosed) turnBudget.run(owner, subscriber.deliver.bind(subscriber, results, block));
      return;
    }
    const entry = { subscriber, results, block, since: clock.now() };
    if (queue !== undefined) queue.waiting.push(entry);
    else {
      const opened: Queue = { waiting: [entry], delivery: undefined };
      this.#queues.set(owner, opened);
      opened.delivery = this.#deliverAll(owner, opened);
    }
  }

  /** Resolves when all that waits for an owner is delivered. Undefined: nothing waits. */
  deliveryTo(owner = ''): Promise<void> | undefined {
    return this.#queues.get(owner)?.delivery;
  }

  /** Delivers all that waits, and never rejects. */
  async #deliverAll(owner: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      const { waiting } = queue;
      queue.waiting = [];
      for (const { subscriber, results, block, since } of waiting) {
        for (let at = 0; at < results.length && !subscriber.isClosed; at += MAX_RESULTS) {
          const pause = turnBudget.next(owner);
          if (pause !== undefined) await pause;
          turnBudget.run(owner, () => {
            if (subscriber.isClosed) return;
            if (clock.now() - since > MAX_WAIT_MS) subscriber.markGap();
            // Subscribers share the bytes of the same list.
            else
              subscriber.deliver(results.length <= MAX_RESULTS ? results : results.slice(at, at + MAX_RESULTS), block);
          });
        }
      }
    }
    this.#queues.delete(owner);
  }
}

/** One instance for the process, because the process has one event loop. */
export const fanOut = new FanOut();
