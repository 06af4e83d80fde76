import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { MessageRouter } from '../workers/message-router.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { addDeltas, missingUnits, newLimitState, usedOf, type LimitState, type Sums } from './limit-state.ts';
import type { Addition, SharedSums } from './shared-sums.ts';

/** Accounts in memory. A dropped account starts unused. */
const MAX_ACCOUNTS = 100_000;
const TOPIC = 'add';

/** Keeps the sums of all workers of one machine, in its primary. */
export function serveSums(router: MessageRouter): void {
  const states = new LRUCache<string, LimitState>(maxEntries(MAX_ACCOUNTS));
  router.on(TOPIC, (additions: readonly Addition[]): Sums[] =>
    additions.map(({ account, deltas, conditional, date }) => {
      const now = clock.now();
      const state = states.get(account) ?? newLimitState();
      states.set(account, state);
      addDeltas(state, deltas, 1, { now, date });
      const maxSums = [...(conditional?.maxSums.values() ?? [])];
      const isAdded = maxSums.every(({ limit, max }) => usedOf(state, limit, now) <= max);
      if (conditional !== undefined && isAdded) addDeltas(state, conditional.deltas, 1, { now, date });
      const { day, dayUsed, month, monthUsed } = state;
      const missing = [...deltas.buckets].map(
        ([method, { perSecond }]) => [method, missingUnits(state, { method, perSecond }, now)] as const,
      );
      return { day, dayUsed, month, monthUsed, missing: new Map(missing), isAdded };
    }),
  );
}

interface UnsentAddition {
  readonly addition: Addition;
  readonly resolve: (sums: Sums) => void;
  readonly reject: (error: Error) => void;
}

/** The sums at the primary, for one of its workers. They are not lost: the end of the primary ends the worker. */
export class MachineSums implements SharedSums {
  readonly kind = 'primary';
  readonly isUp = true;
  readonly connection = 1;
  readonly #link: WorkerLink;
  #unsent: UnsentAddition[] = [];

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  /** Additions of one turn share a message, which costs the primary more than an addition. */
  add(addition: Addition): Promise<Sums> {
    return new Promise((resolve, reject) => {
      if (this.#unsent.push({ addition, resolve, reject }) === 1) queueMicrotask(() => void this.#send());
    });
  }

  async #send(): Promise<void> {
    const sent = this.#unsent;
    this.#unsent = [];
    const additions = sent.map(({ addition }) => addition);
    const sums = (await this.#link.request('primary', TOPIC, additions)) as readonly Sums[] | undefined;
    for (const [index, { resolve, reject }] of sent.entries()) {
      const response = sums?.[index];
      if (response === undefined) reject(new Error('the primary has no sums'));
      else resolve(response);
    }
  }
}
