import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { KeyLimits } from '../auth/key-access.ts';
import { isRedisError, redisErrorCode, type RedisLink } from '../redis/link.ts';
import { chargeAtRedis, withChargeCommand, type ChargingRedis } from './charge-script.ts';
import { leaseFor, leaseMs, newAccount, takeFrom, type Account, type ChargeOutcome, type WaitingCharge } from './account.ts';
import { allowanceOf, shortageOf, type Charge } from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. With Redis one that is dropped is read anew; without, it begins anew. */
const maxAccounts = 100_000;
/** How long it is believed that an account has no more: an operator may have raised a limit or forgiven a debt. */
const exhaustedTtlMs = 1_000;
/** Charges that go to Redis together: a script that is at work keeps all others waiting. */
const maxChargesPerTrip = 500;

/** How often leases that nobody came for are given back. */
const returnLeasesIntervalMs = 1_000;

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
  readonly #accounts = new LRUCache<string, Account>(maxEntries(maxAccounts));
  /** Accounts with a lease, which may have to be given back. */
  readonly #lessees = new Set<Account>();
  readonly #timer: NodeJS.Timeout;
  #hasLoggedRejection = false;

  constructor({ link, quotasFailOpen, log }: LimiterOptions) {
    this.#link = link;
    this.#redis = link === undefined ? undefined : withChargeCommand(link.redis);
    this.#quotasFailOpen = quotasFailOpen;
    this.#log = log;
    this.#timer = setInterval(() => void this.#returnLeases(), returnLeasesIntervalMs).unref();
  }

  /** Takes a charge, if all of it is there. Never rejects. */
  charge(limits: KeyLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome> {
    const account = this.#accountOf(limits.account);
    if (this.#link === undefined) {
      this.counts.memory += 1;
      return takeFrom(account, limits, charge);
    }
    if (!this.#link.isUp) return this.#chargeWithoutRedis(account, limits, charge);
    const now = performance.now();
    const { state } = account;
    const fromLease = this.#chargeFromLease(account, limits, charge, now);
    if (fromLease !== undefined) return fromLease;
    if (now - account.confirmedAt < exhaustedTtlMs) {
      const date = utcDate();
      const shortage = shortageOf(state, limits, charge, now, date);
      if (shortage !== undefined) {
        this.counts.memory += 1;
        return { shortage, allowance: allowanceOf(state, limits, now, date) };
      }
    }
    return new Promise((decide) => {
      account.waiting.push({ limits, charge, decide });
      if (account.isCharging) return;
      account.isCharging = true;
      // After all that has arrived by now has been read.
      setImmediate(() => void this.#chargeWaiting(account));
    });
  }

  /** Waits until Redis answers, for `limitMs` at most. */
  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#link?.waitUntilUp(timeoutMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#link?.isUp === true) await this.#returnLeases(Infinity);
    await this.#link?.close();
  }

  #chargeFromLease(account: Account, limits: KeyLimits, charge: Charge, now: number): ChargeOutcome | undefined {
    const { lease, state } = account;
    if (lease.left < charge.units || now >= lease.deadline || limits.methodRates !== undefined) return undefined;
    lease.left -= charge.units;
    account.used += charge.units;
    this.counts.leased += 1;
    return { shortage: undefined, allowance: allowanceOf(state, limits, now, utcDate()) };
  }

  async #chargeWaiting(account: Account): Promise<void> {
    while (account.waiting.length > 0) {
      const now = performance.now();
      const batch = account.waiting.splice(0, maxChargesPerTrip).filter(({ limits, charge, decide }) => {
        const outcome = this.#chargeFromLease(account, limits, charge, now);
        if (outcome !== undefined) decide(outcome);
        return outcome === undefined;
      });
      if (batch.length === 0) continue;
      if (this.#link?.isUp === true && this.#redis !== undefined) {
        await this.#chargeInRedis(account, batch, this.#redis, this.#link);
      } else {
        for (const one of batch) one.decide(this.#chargeWithoutRedis(account, one.limits, one.charge));
      }
    }
    account.isCharging = false;
  }

  async #chargeInRedis(
    account: Account,
    batch: readonly WaitingCharge[],
    redis: ChargingRedis,
    link: RedisLink,
  ): Promise<void> {
    const { state, lease } = account;
    const date = utcDate();
    // The newest: an operator may have changed them.
    const { limits } = batch.at(-1) as WaitingCharge;
    const now = performance.now();
    const wanted = limits.methodRates === undefined ? leaseFor(account, now) : 0;
    const owed = account.owed - lease.left;
    [account.owed, lease.left] = [0, 0];
    let taken: boolean[];
    try {
      const charges = batch.map(({ charge }) => charge);
      const request = { state, owed, lease: wanted, leaseMs, date };
      const result = await chargeAtRedis(redis, limits, charges, request);
      taken = result.taken;
      Object.assign(lease, { left: result.leased, deadline: now + leaseMs, limits });
    } catch (error) {
      account.owed += owed;
      this.#logRejection(link.reportFailure(error));
      for (const one of batch) one.decide(this.#chargeWithoutRedis(account, one.limits, one.charge));
      return;
    }
    if (lease.left > 0) this.#lessees.add(account);
    else this.#lessees.delete(account);
    this.#hasLoggedRejection = false;
    account.confirmedAt = performance.now();
    this.counts.redis += batch.length;
    const allowance = allowanceOf(state, limits, account.confirmedAt, date);
    for (const [index, { charge, decide }] of batch.entries()) {
      if (taken[index] === true) {
        account.used += charge.units;
        decide({ shortage: undefined, allowance });
      } else {
        const shortage = shortageOf(state, limits, charge, account.confirmedAt, date);
        // What came back since Redis looked.
        decide({ shortage: shortage ?? { reason: 'rate-limit', waitS: 1 }, allowance });
      }
    }
  }

  /** Redis is told of leases that ran out unused, lest a quota shrinks by them. @param marginMs how long before their end */
  async #returnLeases(marginMs = 0): Promise<void> {
    const now = performance.now();
    const expired = [...this.#lessees].filter(
      ({ lease, isCharging: isAsking }) => !isAsking && now >= lease.deadline - marginMs,
    );
    for (const account of expired) {
      this.#lessees.delete(account);
      const { state, lease } = account;
      if (lease.left === 0 || lease.limits === undefined || this.#redis === undefined) continue;
      const request = { state, owed: account.owed - lease.left, lease: 0, leaseMs, date: utcDate() };
      [account.owed, lease.left] = [0, 0];
      await chargeAtRedis(this.#redis, lease.limits, [], request).catch(() => (account.owed += request.owed));
    }
  }

  #chargeWithoutRedis(account: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#quotasFailOpen) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: { reason: 'quota-unreachable', waitS: 1 }, allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    const outcome = takeFrom(account, limits, charge);
    if (outcome.shortage === undefined) account.owed += charge.units;
    return outcome;
  }

  #accountOf(id: string): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    const account = newAccount();
    this.#accounts.set(id, account);
    return account;
  }

  /** That Redis does not answer its link logs; that it refuses (NOPERM, READONLY, OOM) is told here, once. */
  #logRejection(error: unknown): void {
    if (!isRedisError(error) || this.#hasLoggedRejection) return;
    this.#hasLoggedRejection = true;
    this.#log.warn({ error: redisErrorCode(error) }, 'Redis refuses to count: limits go on from memory');
  }
}
