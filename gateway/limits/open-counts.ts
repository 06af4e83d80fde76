import type { KeyAccess } from '../auth/key-access.ts';
import type { MessageRouter } from '../workers/message-router.ts';
import type { WorkerLink } from '../workers/worker-link.ts';

const TOPIC = 'open';
const USED_UP_TOPIC = 'quota-used-up';
/** The process that is the whole gateway. */
const ONLY_PROCESS = 0;

/** What accounts have open; subscriptions by their cost. */
export type OpenKind = 'sockets' | 'subscriptions';

/** The limits of the account of a key, and of all callers without a key. */
export interface OpenLimits {
  readonly own: number;
  readonly all: number;
}

interface OpenChange {
  readonly kind: OpenKind;
  readonly account: string;
  readonly change: number;
  /** A change that makes the sum greater is not added. */
  readonly max: number;
}

/** Sums of what accounts have open, with the part of each worker. */
class OpenSums {
  /** Parts of the sums by kind and account, then by worker. */
  readonly #sums = new Map<string, Map<number, number>>();

  /** @returns whether the change is added */
  add(worker: number, { kind, account, change, max }: OpenChange): boolean {
    const name = `${kind}:${account}`;
    const parts = this.#sums.get(name) ?? new Map<number, number>();
    const open = [...parts.values()].reduce((sum, part) => sum + part, 0);
    if (open + change > max) return false;
    this.#set(name, parts, worker, (parts.get(worker) ?? 0) + change);
    return true;
  }

  /** The sockets of a worker end with it. */
  remove(worker: number): void {
    for (const [name, parts] of this.#sums) this.#set(name, parts, worker, 0);
  }

  #set(name: string, parts: Map<number, number>, worker: number, part: number): void {
    if (part === 0) parts.delete(worker);
    else parts.set(worker, part);
    if (parts.size === 0) this.#sums.delete(name);
    else this.#sums.set(name, parts);
  }
}

/** Keeps the sums of all workers of one machine, in its primary. */
export function serveOpenCounts(router: MessageRouter): void {
  const sums = new OpenSums();
  router.on(TOPIC, (change: OpenChange, worker) => router.has(worker) && sums.add(worker, change));
  router.onEnd((worker) => {
    sums.remove(worker);
  });
}

/** Open sockets and subscriptions of each account: a key, the keys that it was rotated to, or a team. The sums decide. */
export class OpenCounts {
  readonly #sums = new OpenSums();
  readonly #link: WorkerLink | undefined;
  /** Accounts whose quota was used up since the last `takeUsedUp`. */
  #usedUp = new Set<string>();

  /** @param link undefined: this process is the whole gateway */
  constructor(link?: WorkerLink) {
    this.#link = link;
    link?.on(USED_UP_TOPIC, (account: string) => void this.#usedUp.add(account));
  }

  /**
   * Adds what a caller opens. One without a key counts for all of its network, too.
   * @returns the limit that rejects it; undefined: it is added
   */
  async take(
    { account: { name: account, payer } }: KeyAccess,
    kind: OpenKind,
    count: number,
    limits: OpenLimits,
  ): Promise<keyof OpenLimits | undefined> {
    if (!(await this.#add({ kind, account, change: count, max: limits.own }))) return 'own';
    if (payer.name === account) return undefined;
    const all = { kind, account: payer.name, change: count, max: limits.all };
    if (await this.#add(all)) return undefined;
    this.#addAnyway(kind, account, -count);
    return 'all';
  }

  /** Adds what is open, or removes what is closed, without a limit. */
  add({ account: { name, payer } }: KeyAccess, kind: OpenKind, change: number): void {
    if (change === 0) return;
    this.#addAnyway(kind, name, change);
    if (payer.name !== name) this.#addAnyway(kind, payer.name, change);
  }

  /** The quota of an account has rejected its call: all workers close its sockets. */
  reportUsedUp(account: string): void {
    if (this.#usedUp.has(account)) return;
    this.#usedUp.add(account);
    this.#link?.notify(USED_UP_TOPIC, account);
  }

  /** The accounts whose quota was used up since the last time, in any worker. */
  takeUsedUp(): ReadonlySet<string> {
    const taken = this.#usedUp;
    if (taken.size > 0) this.#usedUp = new Set();
    return taken;
  }

  async #add(change: OpenChange): Promise<boolean> {
    if (this.#link === undefined) return this.#sums.add(ONLY_PROCESS, change);
    return (await this.#link.request('primary', TOPIC, change)) === true;
  }

  #addAnyway(kind: OpenKind, account: string, change: number): void {
    const sent: OpenChange = { kind, account, change, max: Infinity };
    if (this.#link === undefined) this.#sums.add(ONLY_PROCESS, sent);
    else this.#link.notify(TOPIC, sent, 'primary');
  }
}
