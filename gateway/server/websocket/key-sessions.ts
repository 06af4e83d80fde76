import type { KeyAccess } from '../../auth/key-access.ts';
import type { OpenCounts, OpenLimits } from '../../limits/open-counts.ts';
import type { OpenSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import type { DrainReason } from './close-codes.ts';
import type { Session } from './session.ts';

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
      this.#count(-1);
      this.#access = access;
      this.#count(1);
    }
    this.#access = access;
  }

  async takeSubscriptions(cost: number, limits: OpenLimits): Promise<keyof OpenLimits | undefined> {
    const access = this.#access;
    const shortOf = await this.#counts.take(access, 'subscriptions', cost, limits);
    if (shortOf !== undefined) return shortOf;
    this.#subscriptions += cost;
    if (access.account !== this.#access.account) {
      this.#counts.add(access, 'subscriptions', -cost);
      this.#counts.add(this.#access, 'subscriptions', cost);
    }
    return undefined;
  }

  returnSubscriptions(cost: number): void {
    this.#subscriptions -= cost;
    this.#counts.add(this.#access, 'subscriptions', -cost);
  }

  /** @param session whose socket is counted for the account already */
  add(session: Session): void {
    this.sessions.add(session);
  }

  remove(session: Session): void {
    if (this.sessions.delete(session)) this.#counts.add(this.#access, 'sockets', -1);
  }

  drain(reason: DrainReason): void {
    for (const session of [...this.sessions]) session.drain(reason);
  }

  /** Adds all that is open, or removes it. */
  #count(sign: 1 | -1): void {
    this.#counts.add(this.#access, 'sockets', sign * this.sessions.size);
    this.#counts.add(this.#access, 'subscriptions', sign * this.#subscriptions);
  }
}
