import { LRUCache } from 'lru-cache';
import { atMost } from '../config/at-most.ts';
import type { Log } from '../config/log.ts';
import type { KeyLimits } from '../keys/key-access.ts';
import { isReply, redisErrorCode, type RedisLink } from '../keys/redis-link.ts';
import { chargeAtRedis, withChargeCommand, type ChargingRedis } from './charge-script.ts';
import { leaseFor, leaseMs, newAccount, takeFrom, type Account, type Verdict, type Waiting } from './account.ts';
import { allowanceOf, shortageOf, type Charge } from './tally.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. With Redis one that is dropped is read anew; without, it begins anew. */
const accountsMax = 100_000;
/** How long it is believed that an account has no more: an operator may have raised a limit or forgiven a debt. */
const believedForMs = 1_000;
/** Charges that go to Redis together: a script that is at work keeps all others waiting. */
const togetherMax = 500;

/** How often leases that nobody came for are given back. */
const giveBackEveryMs = 1_000;

export interface LimiterOptions {
  /** Undefined: the limits are this gateway's own, in memory. Closed by `close`. */
  readonly link: RedisLink | undefined;
  /** Whether a key with a quota goes on while Redis, which has the count, is away. */
  readonly quotasFailOpen: boolean;
  readonly log: Log;
}

/**
 * Holds keys to their limits. With Redis all gateways share them: charges of one account that come while others are
 * under way go together in one round trip; a busy key is given some weight in advance, for some milliseconds; and what
 * Redis lately said there is none of is refused without asking. So the busier a key is, the less a call costs. While
 * Redis is slow or away, it goes on from memory.
 */
export class Limiter {
  /**
   * Charges by how they were decided: by Redis, from a lease of it, in memory (there is no Redis, or it said no a moment ago), or without
   * Redis while it is away: let through or refused by memory, or refused because the quota is not known.
   */
  readonly counts = { redis: 0, leased: 0, memory: 0, 'without-redis': 0, 'quota-unreachable': 0 };
  readonly #link: RedisLink | undefined;
  readonly #redis: ChargingRedis | undefined;
  readonly #quotasFailOpen: boolean;
  readonly #log: Log;
  readonly #accounts = new LRUCache<string, Account>(atMost(accountsMax));
  /** Accounts with a lease, which may have to be given back. */
  readonly #lessees = new Set<Account>();
  readonly #timer: NodeJS.Timeout;
  #isRefused = false;

  constructor({ link, quotasFailOpen, log }: LimiterOptions) {
    this.#link = link;
    this.#redis = link === undefined ? undefined : withChargeCommand(link.redis);
    this.#quotasFailOpen = quotasFailOpen;
    this.#log = log;
    this.#timer = setInterval(() => void this.#giveBack(), giveBackEveryMs).unref();
  }

  /** Takes a charge, if all of it is there. Never rejects. */
  charge(limits: KeyLimits, charge: Charge): Verdict | Promise<Verdict> {
    const account = this.#accountOf(limits.account);
    if (this.#link === undefined) {
      this.counts.memory += 1;
      return takeFrom(account, limits, charge);
    }
    if (!this.#link.up) return this.#withoutRedis(account, limits, charge);
    const now = performance.now();
    const { tally } = account;
    const fromLease = this.#fromLease(account, limits, charge, now);
    if (fromLease !== undefined) return fromLease;
    if (now - account.saidAt < believedForMs) {
      const date = utcDate();
      const shortage = shortageOf(tally, limits, charge, now, date);
      if (shortage !== undefined) {
        this.counts.memory += 1;
        return { shortage, allowance: allowanceOf(tally, limits, now, date) };
      }
    }
    return new Promise((decide) => {
      account.waiting.push({ limits, charge, decide });
      if (account.isAsking) return;
      account.isAsking = true;
      // After all that has arrived by now has been read.
      setImmediate(() => void this.#ask(account));
    });
  }

  /** Waits until Redis answers, for `limitMs` at most. */
  async opened(limitMs: number): Promise<void> {
    await this.#link?.whenUp(limitMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#link?.up === true) await this.#giveBack(Infinity);
    await this.#link?.close();
  }

  #fromLease(account: Account, limits: KeyLimits, charge: Charge, now: number): Verdict | undefined {
    const { lease, tally } = account;
    if (lease.left < charge.weight || now >= lease.until || limits.methodRates !== undefined) return undefined;
    lease.left -= charge.weight;
    account.used += charge.weight;
    this.counts.leased += 1;
    return { shortage: undefined, allowance: allowanceOf(tally, limits, now, utcDate()) };
  }

  async #ask(account: Account): Promise<void> {
    while (account.waiting.length > 0) {
      const now = performance.now();
      const together = account.waiting.splice(0, togetherMax).filter(({ limits, charge, decide }) => {
        const verdict = this.#fromLease(account, limits, charge, now);
        if (verdict !== undefined) decide(verdict);
        return verdict === undefined;
      });
      if (together.length === 0) continue;
      if (this.#link?.up === true && this.#redis !== undefined) {
        await this.#askFor(account, together, this.#redis, this.#link);
      } else {
        for (const one of together) one.decide(this.#withoutRedis(account, one.limits, one.charge));
      }
    }
    account.isAsking = false;
  }

  async #askFor(account: Account, together: readonly Waiting[], redis: ChargingRedis, link: RedisLink): Promise<void> {
    const { tally, lease } = account;
    const date = utcDate();
    // The newest: an operator may have changed them.
    const { limits } = together.at(-1) as Waiting;
    const now = performance.now();
    const wanted = limits.methodRates === undefined ? leaseFor(account, now) : 0;
    const owed = account.owed - lease.left;
    [account.owed, lease.left] = [0, 0];
    let taken: boolean[];
    try {
      const charges = together.map(({ charge }) => charge);
      const trip = { tally, owed, lease: wanted, leaseMs, date };
      const answer = await chargeAtRedis(redis, limits, charges, trip);
      taken = answer.taken;
      Object.assign(lease, { left: answer.leased, until: now + leaseMs, limits });
    } catch (error) {
      account.owed += owed;
      this.#note(link.failed(error));
      for (const one of together) one.decide(this.#withoutRedis(account, one.limits, one.charge));
      return;
    }
    if (lease.left > 0) this.#lessees.add(account);
    else this.#lessees.delete(account);
    this.#isRefused = false;
    account.saidAt = performance.now();
    this.counts.redis += together.length;
    const allowance = allowanceOf(tally, limits, account.saidAt, date);
    for (const [index, { charge, decide }] of together.entries()) {
      if (taken[index] === true) {
        account.used += charge.weight;
        decide({ shortage: undefined, allowance });
      } else {
        const shortage = shortageOf(tally, limits, charge, account.saidAt, date);
        // What came back since Redis looked.
        decide({ shortage: shortage ?? { reason: 'rate-limit', waitS: 1 }, allowance });
      }
    }
  }

  /** Redis is told of leases that ran out unused, lest a quota shrinks by them. @param soonerMs how long before their end */
  async #giveBack(soonerMs = 0): Promise<void> {
    const now = performance.now();
    const over = [...this.#lessees].filter(({ lease, isAsking }) => !isAsking && now >= lease.until - soonerMs);
    for (const account of over) {
      this.#lessees.delete(account);
      const { tally, lease } = account;
      if (lease.left === 0 || lease.limits === undefined || this.#redis === undefined) continue;
      const trip = { tally, owed: account.owed - lease.left, lease: 0, leaseMs, date: utcDate() };
      [account.owed, lease.left] = [0, 0];
      await chargeAtRedis(this.#redis, lease.limits, [], trip).catch(() => (account.owed += trip.owed));
    }
  }

  #withoutRedis(account: Account, limits: KeyLimits, charge: Charge): Verdict {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#quotasFailOpen) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: { reason: 'quota-unreachable', waitS: 1 }, allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    const verdict = takeFrom(account, limits, charge);
    if (verdict.shortage === undefined) account.owed += charge.weight;
    return verdict;
  }

  #accountOf(id: string): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const account = newAccount();
    this.#accounts.set(id, account);
    return account;
  }

  /** That Redis does not answer its link logs; that it refuses (NOPERM, READONLY, OOM) is told here, once. */
  #note(error: unknown): void {
    if (!isReply(error) || this.#isRefused) return;
    this.#isRefused = true;
    this.#log.warn({ error: redisErrorCode(error) }, 'Redis refuses to count: limits go on from memory');
  }
}
