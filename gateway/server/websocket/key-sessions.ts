import type { KeyAccess } from '../../auth/key-access.ts';
import type { OpenSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import type { Session } from './session.ts';

interface OpenCount {
  sockets: number;
  subscriptions: number;
}

/** Open sockets and subscriptions of each account: a key, the keys that it was rotated to, or a team. */
export class OpenCounts {
  readonly #counts = new Map<string, OpenCount>();

  of(account: string): Readonly<OpenCount> {
    return this.#counts.get(account) ?? { sockets: 0, subscriptions: 0 };
  }

  add(account: string, sockets: number, subscriptions: number): void {
    const count = { ...this.of(account) };
    count.sockets += sockets;
    count.subscriptions += subscriptions;
    if (count.sockets === 0 && count.subscriptions === 0) this.#counts.delete(account);
    else this.#counts.set(account, count);
  }
}

/** The open sockets of one key. They count for its account, and move to another one with the key. */
export class KeySessions implements OpenSubscriptions {
  readonly digest: string;
  readonly sessions = new Set<Session>();
  isBeingConfirmed = false;
  readonly #counts: OpenCounts;
  #access: KeyAccess;
  #subscriptions = 0;

  constructor(digest: string, access: KeyAccess, counts: OpenCounts) {
    this.digest = digest;
    this.#access = access;
    this.#counts = counts;
  }

  get access(): KeyAccess {
    return this.#access;
  }

  set access(access: KeyAccess) {
    if (access.account !== this.#access.account) {
      const [sockets, subscriptions] = [this.sessions.size, this.#subscriptions];
      this.#count(-sockets, -subscriptions);
      this.#access = access;
      this.#count(sockets, subscriptions);
    }
    this.#access = access;
  }

  get openSubscriptions(): number {
    return this.#counts.of(this.#access.account).subscriptions;
  }

  get openPublicSubscriptions(): number {
    const { publicCaller } = this.#access;
    return publicCaller === undefined ? 0 : this.#counts.of(publicCaller.of.account).subscriptions;
  }

  countSubscriptions(change: number): void {
    this.#subscriptions += change;
    this.#count(0, change);
  }

  add(session: Session): void {
    this.sessions.add(session);
    this.#count(1, 0);
  }

  remove(session: Session): void {
    if (this.sessions.delete(session)) this.#count(-1, 0);
  }

  /** Those without a key count for all of their network, too. */
  #count(sockets: number, subscriptions: number): void {
    const { account, publicCaller } = this.#access;
    this.#counts.add(account, sockets, subscriptions);
    if (publicCaller !== undefined) this.#counts.add(publicCaller.of.account, sockets, subscriptions);
  }
}
