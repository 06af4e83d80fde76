import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { RedisLinkOptions } from '../redis/link.ts';
import { StoreUnreachable } from '../store/store-error.ts';
import type { MessageRouter } from '../workers/message-router.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { addDeltas, newLimitState, setSums, sumsOf, usedOf, type LimitState, type Sums } from './limit-state.ts';
import type { Addition, SharedSums, SumsState } from './shared-sums.ts';

/** Accounts in memory. A dropped account starts unused. */
const MAX_ACCOUNTS = 100_000;
/** Time for the workers to raise the sums of a new connection. One that is later raises an account before its next charge. */
const MAX_RESTORE_MS = 500;
const ADD_TOPIC = 'add';
const STATE_TOPIC = 'sums-state';
const RESTORE_TOPIC = 'restore-sums';

/** Why the store has not added. */
type SumsFailure = Pick<StoreUnreachable, 'message' | 'code'>;

/** An addition for the store of one connection. Another one may have lost what was added before. */
interface SentAddition extends Addition {
  readonly connection: number;
}

interface SumsResponse {
  readonly state: SumsState;
  readonly results: readonly (Sums | SumsFailure)[];
}

/**
 * Serves the sums of all workers of one machine, in its primary. While Redis is unavailable, it has the sums of accounts without
 * a quota in memory.
 * @param openRedis opens the sums in Redis; undefined: they are in memory
 */
export function serveSums(
  router: MessageRouter,
  openRedis?: (events: Pick<RedisLinkOptions, 'prepare' | 'onChange'>) => SharedSums,
): SharedSums {
  const stateOf = ({ isUp, connection }: SumsState): SumsState => ({ isUp, connection });
  const memory = new MemorySums();
  const sums: SharedSums =
    openRedis?.({
      prepare: async () => {
        const restored = router.ids.map((worker) => router.request(worker, RESTORE_TOPIC, stateOf(sums)));
        await Promise.race([Promise.all(restored), clock.sleep(MAX_RESTORE_MS)]);
      },
      onChange: () => {
        for (const worker of router.ids) router.notify(worker, STATE_TOPIC, stateOf(sums));
      },
    }) ?? memory;
  router.on(ADD_TOPIC, async (additions: readonly SentAddition[]): Promise<SumsResponse> => {
    const results = await Promise.all(additions.map((addition) => addTo(sums, memory, addition)));
    return { state: stateOf(sums), results };
  });
  router.on(STATE_TOPIC, async (timeoutMs: number): Promise<SumsState> => {
    await sums.link?.waitUntilUp(timeoutMs);
    return stateOf(sums);
  });
  return sums;
}

async function addTo(sums: SharedSums, memory: MemorySums, addition: SentAddition): Promise<Sums | SumsFailure> {
  const { account, hasQuota, connection } = addition;
  const isCurrent = connection === sums.connection;
  if (!hasQuota && !(isCurrent && sums.isUp)) return memory.add(addition);
  // The worker does not know that the store may have lost its units: it raises the sums first.
  if (!isCurrent) return { message: 'the connection to the store is another one', code: 'ERR' };
  try {
    const added = await sums.add(addition);
    if (!hasQuota) memory.set(account, added);
    return added;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return hasQuota ? { message: error.message, code: error.code } : memory.add(addition);
  }
}

/** The sums in the memory of a process. */
class MemorySums implements SharedSums {
  readonly kind = 'primary';
  readonly isUp = true;
  readonly connection = 1;
  readonly #states = new LRUCache<string, LimitState>(maxEntries(MAX_ACCOUNTS));

  /** Replaces the sums of an account. */
  set(account: string, sums: Sums): void {
    setSums(this.#stateOf(account), sums, clock.now());
  }

  add({ account, deltas, conditional, date }: Addition): Promise<Sums> {
    const now = clock.now();
    const state = this.#stateOf(account);
    addDeltas(state, deltas, 1, { now, date });
    const maxSums = [...(conditional?.maxSums.values() ?? [])];
    const isAdded = maxSums.every(({ limit, max }) => usedOf(state, limit, now) <= max);
    if (conditional !== undefined && isAdded) addDeltas(state, conditional.deltas, 1, { now, date });
    return Promise.resolve({ ...sumsOf(state, deltas, now), isAdded });
  }

  #stateOf(account: string): LimitState {
    const state = this.#states.get(account) ?? newLimitState();
    this.#states.set(account, state);
    return state;
  }
}

interface UnsentAddition {
  readonly addition: SentAddition;
  readonly resolve: (sums: Sums) => void;
  readonly reject: (error: Error) => void;
}

export interface MachineSumsOptions {
  /** Where the primary has the sums. */
  readonly kind: SharedSums['kind'];
  /** Raises the sums in Redis to what this worker knows, on a new connection. */
  readonly restore: () => Promise<void>;
}

/** The sums at the primary, for one of its workers. The end of the primary ends the worker. */
export class MachineSums implements SharedSums {
  readonly kind: SharedSums['kind'];
  readonly link = {
    waitUntilUp: async (timeoutMs: number): Promise<void> => {
      if (this.kind === 'redis') this.#follow(await this.#link.request('primary', STATE_TOPIC, timeoutMs));
    },
    close: (): Promise<void> => Promise.resolve(),
  };
  readonly #link: WorkerLink;
  #state: SumsState;
  #unsent: UnsentAddition[] = [];

  constructor(link: WorkerLink, { kind, restore }: MachineSumsOptions) {
    this.kind = kind;
    this.#link = link;
    this.#state = { isUp: kind === 'primary', connection: 1 };
    link.on(STATE_TOPIC, (state: SumsState) => {
      this.#follow(state);
    });
    link.on(RESTORE_TOPIC, (state: SumsState) => {
      this.#follow(state);
      return restore();
    });
  }

  /** Before it has joined, a worker gets no responses. */
  get isUp(): boolean {
    return this.#state.isUp && this.#link.hasJoined;
  }

  get addsRates(): boolean {
    return this.#link.hasJoined;
  }

  get connection(): number {
    return this.#state.connection;
  }

  /** Additions of one turn share a message, which costs the primary more than an addition. */
  add(unsent: Addition): Promise<Sums> {
    const addition = { ...unsent, connection: this.connection };
    return new Promise((resolve, reject) => {
      if (this.#unsent.push({ addition, resolve, reject }) === 1) queueMicrotask(() => void this.#send());
    });
  }

  async #send(): Promise<void> {
    const sent = this.#unsent;
    this.#unsent = [];
    const additions = sent.map(({ addition }) => addition);
    const response = (await this.#link.request('primary', ADD_TOPIC, additions)) as SumsResponse | undefined;
    this.#follow(response?.state);
    for (const [index, { resolve, reject }] of sent.entries()) {
      const result = response?.results[index] ?? { message: 'the primary has no sums', code: 'ERR' };
      if ('code' in result) reject(new StoreUnreachable(result.message, result.code));
      else resolve(result);
    }
  }

  #follow(state: unknown): void {
    if (state !== undefined) this.#state = state as SumsState;
  }
}
