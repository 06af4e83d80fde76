import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import { areChargedAlike, type KeyLimits } from '../auth/permissions/key-limits.ts';
import { isRedisError, redisErrorCode, type RedisLink } from '../redis/link.ts';
import { chargeAtRedis, withChargeCommand, type ChargingRedis } from './charge-script.ts';
import {
  leaseFor,
  leaseMs,
  newAccount,
  takeFrom,
  type Account,
  type ChargeOutcome,
  type WaitingCharge,
} from './account.ts';
import { allowanceOf, shortageOf, type Charge } from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. A dropped account is read from Redis again; without Redis it starts unused. */
const maxAccounts = 100_000;
/** For this time an exhausted account is rejected from memory. It is short because an operator may raise limits. */
const exhaustedTtlMs = 1_000;
/** Charges per round trip. Redis runs one script at a time, so a long one delays all other commands. */
const maxChargesPerTrip = 500;

/** Interval at which unused leases are returned. */
const returnLeasesIntervalMs = 1_000;

export interface LimiterOptions {
  /** Undefined: limits are counted in this gateway's memory. Closed by `close`. */
  readonly link: RedisLink | undefined;
  /** Whether calls of a key with a quota are served while Redis, which has the count, is unavailable. */
  readonly shouldServeWithoutRedis: boolean;
  readonly log: Log;
}

/**
 * Enforces the rate limits and quotas of keys. With Redis, all gateways share them. Three measures lower the cost per
 * call of busy keys: concurrent charges of an account share one round trip, an account can lease units for 50 ms, and an
 * exhausted account is rejected from memory for 1 s. While Redis is slow or unavailable, limits are counted in memory.
 */
export class Limiter {
  /**
   * Charges by decision: redis; leased; memory (no Redis configured, or an exhausted account); without-redis (from memory
   * while Redis is unavailable); quota-unreachable (rejected because the quota is unknown).
   */
  readonly counts = { redis: 0, leased: 0, memory: 0, 'without-redis': 0, 'quota-unreachable': 0 };
  readonly #link: RedisLink | undefined;
  readonly #redis: ChargingRedis | undefined;
  readonly #shouldServeWithoutRedis: boolean;
  readonly #log: Log;
  readonly #accounts = new LRUCache<string, Account>(maxEntries(maxAccounts));
  /** Accounts with a lease, which must be returned if it is not used. */
  readonly #leasingAccounts = new Set<Account>();
  readonly #timer: NodeJS.Timeout;
  #hasLoggedRejection = false;

  constructor({ link, shouldServeWithoutRedis, log }: LimiterOptions) {
    this.#link = link;
    this.#redis = link === undefined ? undefined : withChargeCommand(link.redis);
    this.#shouldServeWithoutRedis = shouldServeWithoutRedis;
    this.#log = log;
    this.#timer = setInterval(() => void this.#returnLeases(), returnLeasesIntervalMs).unref();
  }

  /** Takes a charge as a whole, or reports the limit that rejects it. The promise never rejects. */
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
      // Runs after all requests that have arrived are read, so that they share the round trip.
      setImmediate(() => void this.#chargeWaiting(account));
    });
  }

  /** Waits until Redis is available, at most `timeoutMs`. */
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
    if (lease.unusedUnits < charge.units || now >= lease.deadline || limits.methodRates !== undefined) return undefined;
    // Redis checked the limits of the key that was charged then. Another key of the team may have used up its own.
    if (lease.limits === undefined || !areChargedAlike(lease.limits, limits)) return undefined;
    lease.unusedUnits -= charge.units;
    account.usedUnits += charge.units;
    this.counts.leased += 1;
    return { shortage: undefined, allowance: allowanceOf(state, limits, now, utcDate()) };
  }

  async #chargeWaiting(account: Account): Promise<void> {
    while (account.waiting.length > 0) {
      const now = performance.now();
      const batch = account.waiting.splice(0, sizeOfTrip(account.waiting)).filter(({ limits, charge, decide }) => {
        const outcome = this.#chargeFromLease(account, limits, charge, now);
        if (outcome !== undefined) decide(outcome);
        return outcome === undefined;
      });
      if (batch.length === 0) continue;
      if (this.#link?.isUp === true && this.#redis !== undefined) {
        await this.#chargeInRedis(account, batch, this.#redis, this.#link);
      } else {
        for (const { limits, charge, decide } of batch) decide(this.#chargeWithoutRedis(account, limits, charge));
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
    const { limits } = batch[0] as WaitingCharge;
    const now = performance.now();
    const leaseUnits = limits.methodRates === undefined ? leaseFor(account, now) : 0;
    const debtUnits = account.debtUnits - lease.unusedUnits;
    [account.debtUnits, lease.unusedUnits] = [0, 0];
    let taken: boolean[];
    try {
      const charges = batch.map(({ charge }) => charge);
      const request = { state, debtUnits, leaseUnits, leaseMs, date };
      const result = await chargeAtRedis(redis, limits, charges, request);
      taken = result.taken;
      Object.assign(lease, { unusedUnits: result.leasedUnits, deadline: now + leaseMs, limits });
    } catch (error) {
      account.debtUnits += debtUnits;
      this.#logRejection(link.reportFailure(error));
      for (const each of batch) each.decide(this.#chargeWithoutRedis(account, each.limits, each.charge));
      return;
    }
    if (lease.unusedUnits > 0) this.#leasingAccounts.add(account);
    else this.#leasingAccounts.delete(account);
    this.#hasLoggedRejection = false;
    account.confirmedAt = performance.now();
    this.counts.redis += batch.length;
    const allowance = allowanceOf(state, limits, account.confirmedAt, date);
    for (const [index, { charge, decide }] of batch.entries()) {
      if (taken[index] === true) {
        account.usedUnits += charge.units;
        decide({ shortage: undefined, allowance });
      } else {
        const shortage = shortageOf(state, limits, charge, account.confirmedAt, date);
        // Enough units may have returned since Redis decided: then the wait is the minimum.
        decide({ shortage: shortage ?? { reason: 'rate-limit', waitS: 1 }, allowance });
      }
    }
  }

  /** Returns expired leases, so that unused units do not count against quotas. @param marginMs time before their expiry */
  async #returnLeases(marginMs = 0): Promise<void> {
    const now = performance.now();
    const expired = [...this.#leasingAccounts].filter(
      ({ lease, isCharging }) => !isCharging && now >= lease.deadline - marginMs,
    );
    for (const account of expired) {
      this.#leasingAccounts.delete(account);
      const { state, lease } = account;
      if (lease.unusedUnits === 0 || lease.limits === undefined || this.#redis === undefined) continue;
      const debtUnits = account.debtUnits - lease.unusedUnits;
      const request = { state, debtUnits, leaseUnits: 0, leaseMs, date: utcDate() };
      [account.debtUnits, lease.unusedUnits] = [0, 0];
      await chargeAtRedis(this.#redis, lease.limits, [], request).catch(() => (account.debtUnits += debtUnits));
    }
  }

  #chargeWithoutRedis(account: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#shouldServeWithoutRedis) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: { reason: 'quota-unreachable', waitS: 1 }, allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    const outcome = takeFrom(account, limits, charge);
    if (outcome.shortage === undefined) account.debtUnits += charge.units;
    return outcome;
  }

  #accountOf(id: string): Account {
    const existing = this.#accounts.get(id);
    if (existing !== undefined) return existing;
    const account = newAccount();
    this.#accounts.set(id, account);
    return account;
  }

  /** Logs once that Redis rejects the command (NOPERM, READONLY, OOM). The link logs that Redis is unavailable. */
  #logRejection(error: unknown): void {
    if (!isRedisError(error) || this.#hasLoggedRejection) return;
    this.#hasLoggedRejection = true;
    this.#log.warn({ error: redisErrorCode(error) }, 'Redis rejects charges: limits are counted in memory');
  }
}

/** The number of charges with the limits of the first one: those of the keys of a team may differ. */
function sizeOfTrip(waiting: readonly WaitingCharge[]): number {
  const [first] = waiting;
  const end = waiting.findIndex(({ limits }) => first !== undefined && !areChargedAlike(first.limits, limits));
  return Math.min(end === -1 ? waiting.length : end, maxChargesPerTrip);
}
