import type { KeyAccess } from '../../auth/key-access.ts';
import type { OpenCounts, OpenLimits } from '../../limits/open-counts.ts';
import type { OpenSubscriptions } from '../../subscriptions/socket-subscriptions.ts';
import type { DrainReason } from './close-codes.ts';
import type { Session } from './session.ts';

/**
 * The open sockets of a key with the same token, or none, and with or without its secret. They count for the account of the
 * key, and move to another one with it.
 */
export class KeySessions implements OpenSubscriptions {
  /** Differs for each token of a key, and for its secret. */
  readonly name: string;
  /** Digest of the key or token. */
  readonly digest: string;
  readonly sessions = new Set<Session>();
  isBeingConfirmed = false;
  readonly #counts: OpenCounts;
  readonly #hasSecret: boolean;
  #found: KeyAccess;
  #subscriptions = 0;

  /**
   * @param found the access without the secret
   * @param hasSecret whether `access` is that of requests with the secret of the key
   */
  constructor(digest: string, found: KeyAccess, counts: OpenCounts, hasSecret = false) {
    this.name = [digest, hasSecret, found.keyToken?.text].join(' ');
    this.digest = digest;
    this.#hasSecret = hasSecret;
    this.#found = found;
    this.#counts = counts;
  }

  get access(): KeyAccess {
    return (this.#hasSecret ? this.#found.withSecret : undefined) ?? this.#found;
  }

  /** The access without the secret. */
  get found(): KeyAccess {
    return this.#found;
  }

  set found(found: KeyAccess) {
    if (found.account.name !== this.#found.account.name) {
      this.#count(-1);
      this.#found = found;
      this.#count(1);
    }
    this.#found = found;
  }

  async takeSubscriptions(cost: number, limits: OpenLimits): Promise<keyof OpenLimits | undefined> {
    const found = this.#found;
    const shortOf = await this.#counts.take(found, 'subscriptions', cost, limits);
    if (shortOf !== undefined) return shortOf;
    this.#subscriptions += cost;
    if (found.account.name !== this.#found.account.name) {
      this.#counts.add(found, 'subscriptions', -cost);
      this.#counts.add(this.#found, 'subscriptions', cost);
    }
    return undefined;
  }

  returnSubscriptions(cost: number): void {
    this.#subscriptions -= cost;
    this.#counts.add(this.#found, 'subscriptions', -cost);
  }

  quotaUsedUp(isOfAll: boolean): void {
    const { name, payer } = this.#found.account;
    this.#counts.reportUsedUp(isOfAll ? payer.name : name);
  }

  /** @param accounts whose quota is used up */
  isOneOf(accounts: ReadonlySet<string>): boolean {
    const { name, payer } = this.#found.account;
    return accounts.has(name) || accounts.has(payer.name);
  }

  /** @param session whose socket is counted for the account already */
  add(session: Session): void {
    this.sessions.add(session);
  }

  remove(session: Session): void {
    if (this.sessions.delete(session)) this.#counts.add(this.#found, 'sockets', -1);
  }

  drain(reason: DrainReason): void {
    for (const session of [...this.sessions]) session.drain(reason);
  }

  /** Adds all that is open, or removes it. */
  #count(sign: 1 | -1): void {
    this.#counts.add(this.#found, 'sockets', sign * this.sessions.size);
    this.#counts.add(this.#found, 'subscriptions', sign * this.#subscriptions);
  }
}
