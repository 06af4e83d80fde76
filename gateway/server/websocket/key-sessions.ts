import type { KeyAccess } from '../../auth/key-access.ts';
import type { OpenSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import { CURRENT_MS } from '../../workers/message-router.ts';
import type { WorkerLink } from '../../workers/worker-link.ts';
import type { DrainReason } from './close-codes.ts';
import type { Session } from './session.ts';

interface OpenCount {
  readonly sockets: number;
  readonly subscriptions: number;
}

type Counts = Map<string, OpenCount>;

const none: OpenCount = { sockets: 0, subscriptions: 0 };

/**
 * The topics of messages about what accounts have open in a worker: those that have changed, a request for all, and an account
 * whose quota is used up.
 */
const topics = { changed: 'open-counts', wanted: 'open-counts-wanted', usedUp: 'quota-used-up' } as const;

/**
 * Open sockets and subscriptions of each account: a key, the keys that it was rotated to, or a team. Workers notify each other of
 * their counts. Workers that open one at the same moment may exceed a limit by it for each further worker.
 */
export class OpenCounts {
  readonly #own: Counts = new Map();
  /** Of the other workers, by their ids. */
  readonly #others = new Map<number, Counts>();
  readonly #link: WorkerLink | undefined;
  /** Until the others know what an account has opened here. */
  readonly #sharing = new Map<string, Promise<void>>();
  /** Accounts with open sockets here, whose quota was used up since the last `takeUsedUp`. */
  #usedUp = new Set<string>();

  /** @param link of a worker that has joined; undefined: this process is the whole gateway */
  constructor(link?: WorkerLink) {
    this.#link = link;
    if (link === undefined) return;
    link.on(topics.changed, (changed: Counts, from) => {
      const counts = this.#others.get(from) ?? new Map<string, OpenCount>();
      this.#others.set(from, counts);
      for (const [account, count] of changed) set(counts, account, count);
    });
    link.on(topics.wanted, () => {
      link.notify(topics.changed, this.#own);
    });
    link.on(topics.usedUp, (account: string) => {
      if (this.#own.has(account)) this.#usedUp.add(account);
    });
    link.notify(topics.wanted, undefined);
  }

  /** In all workers together. */
  of(account: string): OpenCount {
    let { sockets, subscriptions } = this.#own.get(account) ?? none;
    for (const [worker, counts] of this.#others) {
      // The sockets of a worker end with it.
      if (this.#link?.has(worker) === false) this.#others.delete(worker);
      else {
        sockets += counts.get(account)?.sockets ?? 0;
        subscriptions += counts.get(account)?.subscriptions ?? 0;
      }
    }
    return { sockets, subscriptions };
  }

  /**
   * What opens one awaits this in a loop before it checks the limit. Beyond its part of the limit, a worker opens one after the
   * other: each when the others know the one before.
   * @returns undefined: the next one may be opened now
   */
  whenShared(account: string, kind: keyof OpenCount, limit: number): Promise<void> | undefined {
    const part = Math.floor(limit / (this.#link?.count ?? 1));
    return (this.#own.get(account) ?? none)[kind] < part ? undefined : this.#sharing.get(account);
  }

  add(account: string, sockets: number, subscriptions: number): void {
    const before = this.#own.get(account) ?? none;
    const count = { sockets: before.sockets + sockets, subscriptions: before.subscriptions + subscriptions };
    set(this.#own, account, count);
    const changed: Counts = new Map([[account, count]]);
    if (sockets + subscriptions > 0) this.#share(account, changed);
    else this.#link?.notify(topics.changed, changed);
  }

  /** The quota of an account has rejected its call. To be called for an account with an open socket. */
  reportUsedUp(account: string): void {
    if (this.#usedUp.has(account)) return;
    this.#usedUp.add(account);
    this.#link?.notify(topics.usedUp, account);
  }

  /** The accounts whose quota was used up since the last time, in any worker. */
  takeUsedUp(): ReadonlySet<string> {
    const taken = this.#usedUp;
    if (taken.size > 0) this.#usedUp = new Set();
    return taken;
  }

  #share(account: string, changed: Counts): void {
    const sharing = this.#link?.requestOthers(topics.changed, changed, CURRENT_MS).then(() => {
      if (this.#sharing.get(account) === sharing) this.#sharing.delete(account);
    });
    if (sharing !== undefined) this.#sharing.set(account, sharing);
  }
}

function set(counts: Counts, account: string, count: OpenCount): void {
  if (count.sockets === 0 && count.subscriptions === 0) counts.delete(account);
  else counts.set(account, count);
}

/** The open sockets of one key, by its token and with or without its secret. They count for its account, and move to another one with the key. */
export class KeySessions implements OpenSubscriptions {
  /** Differs for each token of a key, and for its secret. */
  readonly name: string;
  /** Of the key or token. */
  readonly digest: string;
  readonly sessions = new Set<Session>();
  isBeingConfirmed = false;
  readonly #counts: OpenCounts;
  readonly #hasSecret: boolean;
  #found: KeyAccess;
  #access: KeyAccess;
  #subscriptions = 0;

  /** @param hasSecret whether `access` is that of requests with the secret of the key */
  constructor(digest: string, found: KeyAccess, counts: OpenCounts, hasSecret = false) {
    this.name = [digest, hasSecret, found.keyToken?.text].join(' ');
    this.digest = digest;
    this.#hasSecret = hasSecret;
    this.#found = found;
    this.#access = this.#accessOf(found);
    this.#counts = counts;
  }

  get access(): KeyAccess {
    return this.#access;
  }

  /** The access without the secret. */
  get found(): KeyAccess {
    return this.#found;
  }

  update(found: KeyAccess): void {
    this.#found = found;
    const access = this.#accessOf(found);
    if (access.account !== this.#access.account) {
      const [sockets, subscriptions] = [this.sessions.size, this.#subscriptions];
      this.#count(-sockets, -subscriptions);
      this.#access = access;
      this.#count(sockets, subscriptions);
    }
    this.#access = access;
  }

  #accessOf(found: KeyAccess): KeyAccess {
    return (this.#hasSecret ? found.withSecret : undefined) ?? found;
  }

  get openSubscriptions(): number {
    return this.#counts.of(this.#access.account).subscriptions;
  }

  get openPublicSubscriptions(): number {
    const { publicCaller } = this.#access;
    return publicCaller === undefined ? 0 : this.#counts.of(publicCaller.of.account).subscriptions;
  }

  whenShared(limit: number, publicLimit: number): Promise<void> | undefined {
    const { account, publicCaller } = this.#access;
    const shared = this.#counts.whenShared(account, 'subscriptions', limit);
    if (shared !== undefined || publicCaller === undefined) return shared;
    return this.#counts.whenShared(publicCaller.of.account, 'subscriptions', publicLimit);
  }

  countSubscriptions(change: number): void {
    this.#subscriptions += change;
    this.#count(0, change);
  }

  quotaUsedUp(isOfAll: boolean): void {
    const { account, publicCaller } = this.#access;
    this.#counts.reportUsedUp(isOfAll && publicCaller !== undefined ? publicCaller.of.account : account);
  }

  /** @param accounts whose quota is used up */
  isOneOf(accounts: ReadonlySet<string>): boolean {
    const { account, publicCaller } = this.#access;
    return accounts.has(account) || (publicCaller !== undefined && accounts.has(publicCaller.of.account));
  }

  add(session: Session): void {
    this.sessions.add(session);
    this.#count(1, 0);
  }

  remove(session: Session): void {
    if (this.sessions.delete(session)) this.#count(-1, 0);
  }

  drain(reason: DrainReason): void {
    for (const session of [...this.sessions]) session.drain(reason);
  }

  /** Those without a key count for all of their network, too. */
  #count(sockets: number, subscriptions: number): void {
    const { account, publicCaller } = this.#access;
    this.#counts.add(account, sockets, subscriptions);
    if (publicCaller !== undefined) this.#counts.add(publicCaller.of.account, sockets, subscriptions);
  }
}
