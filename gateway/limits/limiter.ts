import { LRUCache } from 'lru-cache';
import { clock, type Timer } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import { areChargedAlike, type KeyLimits } from '../auth/permissions/key-limits.ts';
import { isRedisError, redisErrorCode } from '../redis/link.ts';
import { storeUnreachable } from '../store/redis-store.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  addUnreported,
  chargedAlike,
  leaseFor,
  LEASE_MS,
  newAccount,
  takeFrom,
  type Account,
  type ChargeOutcome,
  type WaitingCharge,
} from './account.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { ChargeStore } from './charge-store.ts';
import { WorkerShares } from './machine-shares.ts';
import { PublicCharges } from './public-charges.ts';
import { ShareCounts } from './share-counts.ts';
import {
  ADMISSION_UNITS,
  allowanceOf,
  briefShortage,
  newLimitState,
  quotasOf,
  shortageOf,
  type Charge,
  type QuotaUse,
  type Shortage,
} from './limit-state.ts';
import { takeReport } from './report.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. A dropped account is read from Redis again; without Redis it starts unused. */
const MAX_ACCOUNTS = 100_000;
/** For this time an exhausted account is rejected from memory. It is short because an operator may raise limits. */
const EXHAUSTED_TTL_MS = 1_000;
/** Charges per round trip, and accounts reported at once. Redis runs one script at a time, and delays other commands. */
const MAX_CHARGES_PER_TRIP = 500;
/** Interval at which accounts that are not charged are reported to Redis. */
const REPORT_INTERVAL_MS = 1_000;
/** Interval of the warning while Redis rejects charges. */
const WARNING_INTERVAL_MS = 60_000;

export interface LimiterOptions {
  /** Undefined: limits are counted in this gateway's memory. Closed by `close`. */
  readonly store: ChargeStore | undefined;
  /** Undefined: no other worker counts the addresses of callers without a key. */
  readonly worker?: WorkerLink | undefined;
  /** Whether calls of a key with a quota are served while Redis, which has the count, is unavailable. */
  readonly shouldServeWithoutRedis: boolean;
  readonly log: Log;
}

/**
 * Enforces the rate limits and quotas of keys, and of callers without one. With Redis, all gateways share them, and the
 * workers of one machine share them without Redis. In comments here, Redis also stands for the primary of the workers, which
 * is always available. Three measures lower the cost per call of busy keys: concurrent charges of an account share one round
 * trip, an account can lease units for 50 ms, and an exhausted account is rejected from memory for 1 s. While Redis is slow or
 * unavailable, limits are counted in memory.
 */
export class Limiter {
  /**
   * Charges by decision: redis; primary (of the workers); leased; memory (no Redis configured, or an exhausted account);
   * without-redis (from memory while Redis is unavailable); quota-unreachable (rejected because the quota is unknown).
   */
  readonly counts = { redis: 0, primary: 0, leased: 0, memory: 0, 'without-redis': 0, 'quota-unreachable': 0 };
  /** Of callers without a key. */
  readonly public: PublicCharges;
  readonly #store: ChargeStore | undefined;
  readonly #shouldServeWithoutRedis: boolean;
  readonly #log: Log;
  readonly #accounts = new LRUCache<string, Account>({
    ...maxEntries(MAX_ACCOUNTS),
    dispose: (account) => this.#unreported.delete(account),
  });
  /** Accounts with a lease, or with units that were charged without Redis. */
  readonly #unreported = new Set<Account>();
  readonly #timer: Timer;
  #rejectionLoggedAt = -Infinity;

  constructor({ store, worker, shouldServeWithoutRedis, log }: LimiterOptions) {
    this.#store = store;
    this.#shouldServeWithoutRedis = shouldServeWithoutRedis;
    this.#log = log;
    const shares = new ShareCounts();
    this.public = new PublicCharges(this, shares, worker && new WorkerShares(worker, shares));
    this.#timer = clock
      .setInterval(() => {
        if (store?.isUp === true) void this.#reportAll(clock.now());
      }, REPORT_INTERVAL_MS)
      .unref();
  }

  /** Takes a charge as a whole, or reports the limit that rejects it. The promise never rejects. */
  charge(limits: KeyLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome> {
    if (limits.public !== undefined) return this.public.charge(limits.public, charge);
    const account = this.#accountOf(limits.account);
    account.limits = limits;
    account.hasQuota ||= limits.daily !== undefined || limits.monthly !== undefined;
    if (this.#store === undefined) {
      this.counts.memory += 1;
      return takeFrom(account, limits, charge);
    }
    if (!this.#store.isUp) return this.#chargeWithoutRedis(account, limits, charge);
    const now = clock.now();
    const { state } = account;
    const fromLease = this.#chargeFromLease(account, limits, charge, now);
    if (fromLease !== undefined) return fromLease;
    if (now - account.confirmedAt < EXHAUSTED_TTL_MS) {
      const date = utcDate();
      const shortage = shortageOf(state, limits, charge, now, date);
      if (shortage !== undefined) {
        this.counts.memory += 1;
        return { shortage, allowance: shortage.allowance };
      }
    }
    return new Promise((decide) => {
      account.waiting.push({ limits, charge, decide });
      if (account.isCharging) return;
      account.isCharging = true;
      // Runs after all requests that have arrived are read, so that they share the round trip.
      clock.setImmediate(() => void this.#chargeWaiting(account));
    });
  }

  /** The limit that rejects a charge of one unit now, as far as this gateway knows: Redis may have newer counts. */
  shortageOf(limits: KeyLimits): Shortage | undefined {
    if (limits.public !== undefined) return this.public.shortageOf(limits.public);
    const account = this.#accounts.get(limits.account);
    const now = clock.now();
    const isKnown =
      this.#store?.isUp !== true || (account !== undefined && now - account.confirmedAt < EXHAUSTED_TTL_MS);
    if (account === undefined || !isKnown) return undefined;
    return shortageOf(account.state, limits, { units: ADMISSION_UNITS, byMethod: new Map() }, now, utcDate());
  }

  /** The quotas of a key's account: as in Redis, or as this gateway has counted them. @throws the error of Redis */
  async readQuotas(limits: KeyLimits): Promise<QuotaUse[]> {
    if (limits.daily === undefined && limits.monthly === undefined) return [];
    const store = this.#store;
    const state =
      store === undefined
        ? this.#accounts.get(limits.account)?.state
        : await store.readPeriods(limits.account).catch((error: unknown) => {
            throw storeUnreachable(store.reportFailure(error));
          });
    return quotasOf(state ?? newLimitState(), limits, utcDate());
  }

  /** The quotas of all accounts that this gateway has charged, in time slices. */
  async quotas(): Promise<(QuotaUse & { readonly account: string })[]> {
    const all: (QuotaUse & { readonly account: string })[] = [];
    for (const [account, { state, limits, hasQuota }] of [...this.#accounts.entries()]) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      if (!hasQuota || limits === undefined) continue;
      for (const use of quotasOf(state, limits, utcDate())) all.push({ ...use, account });
    }
    return all;
  }

  /** Waits until Redis is available, at most `timeoutMs`. */
  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#store?.waitUntilUp(timeoutMs);
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#timer);
    if (this.#store?.isUp === true) await this.#reportAll(Infinity);
    await this.#store?.close();
  }

  /**
   * Reports all quotas, and all units that were charged without Redis, to a new connection, before it is used for charges.
   * A Redis that restarted may have lost them: without this, each quota would begin again.
   */
  async restore(): Promise<void> {
    for (const account of this.#accounts.values()) if (account.hasQuota) this.#unreported.add(account);
    await this.#reportAll(Infinity);
  }

  #chargeFromLease(account: Account, limits: KeyLimits, charge: Charge, now: number): ChargeOutcome | undefined {
    const { lease, state } = account;
    if (lease.unusedUnits < charge.units || now >= lease.deadline || limits.methodRates !== undefined) return undefined;
    // Redis checked the limits of the key that was charged then. Another key of the team may have used up its own.
    if (lease.limits === undefined || !areChargedAlike(lease.limits, limits)) return undefined;
    lease.unusedUnits -= charge.units;
    account.usedUnits += charge.units;
    this.counts.leased += 1;
    return { shortage: undefined, allowance: allowanceOf(state, limits, charge, now, utcDate()) };
  }

  async #chargeWaiting(account: Account): Promise<void> {
    while (account.waiting.length > 0) {
      const now = clock.now();
      const batch = account.waiting
        .splice(0, Math.min(chargedAlike(account.waiting), MAX_CHARGES_PER_TRIP))
        .filter(({ limits, charge, decide }) => {
          const outcome = this.#chargeFromLease(account, limits, charge, now);
          if (outcome !== undefined) decide(outcome);
          return outcome === undefined;
        });
      if (batch.length === 0) continue;
      if (this.#store?.isUp === true) await this.#chargeInRedis(account, batch, this.#store);
      else for (const { limits, charge, decide } of batch) decide(this.#chargeWithoutRedis(account, limits, charge));
    }
    account.isCharging = false;
  }

  async #chargeInRedis(account: Account, batch: readonly WaitingCharge[], store: ChargeStore): Promise<void> {
    const { state } = account;
    const [{ limits, charge: first }] = batch as readonly [WaitingCharge];
    let taken: readonly boolean[];
    try {
      const charges = batch.map((each) => each.charge);
      taken = await this.#send(account, limits, charges, store);
    } catch (error) {
      this.#logRejection(store.reportFailure(error));
      for (const each of batch) each.decide(this.#chargeWithoutRedis(account, each.limits, each.charge));
      return;
    }
    this.counts[store.kind] += batch.length;
    const [at, date] = [account.confirmedAt, utcDate()];
    // All charges of a key without `methodRates` count for the same limits.
    const common = limits.methodRates === undefined ? allowanceOf(state, limits, first, at, date) : undefined;
    for (const [index, { charge, decide }] of batch.entries()) {
      let allowance = common ?? allowanceOf(state, limits, charge, at, date);
      let shortage: Shortage | undefined;
      if (taken[index] === true) account.usedUnits += charge.units;
      else {
        // As of the charge, Redis and this state decide the same, except for rounding errors.
        shortage =
          shortageOf(state, limits, charge, at, date) ?? briefShortage('rate-limit', 'rate', charge, allowance);
        ({ allowance } = shortage);
      }
      decide({ shortage, allowance });
    }
  }

  /** Sends charges and the report of the account. @throws the error of Redis; then no debt of the report is lost */
  async #send(
    account: Account,
    limits: KeyLimits,
    charges: readonly Charge[],
    store: ChargeStore,
  ): Promise<readonly boolean[]> {
    const { state, lease, hasQuota } = account;
    const { connection } = store;
    const [now, date] = [clock.now(), utcDate()];
    const leaseUnits = charges.length === 0 || limits.methodRates !== undefined ? 0 : leaseFor(account, now);
    const report = takeReport(account, limits, connection, date);
    try {
      const request = { state, hasQuota, report, leaseUnits, leaseMs: LEASE_MS, date, sentAt: now };
      const { taken, leasedUnits, since } = await store.charge(limits, charges, request);
      // What was charged without Redis since the report.
      addUnreported(account, limits, account.debtUnits);
      Object.assign(account, { connection, since, confirmedAt: now });
      Object.assign(lease, { unusedUnits: leasedUnits, deadline: now + LEASE_MS, limits });
      if (leasedUnits > 0 || account.debtUnits !== 0) this.#unreported.add(account);
      else this.#unreported.delete(account);
      return taken;
    } catch (error) {
      // Redis may have the report. Units that are given back twice would be served twice.
      account.debtUnits += Math.max(0, report.debtUnits);
      if (account.debtUnits !== 0) this.#unreported.add(account);
      throw error;
    }
  }

  /** Reports accounts to Redis whose lease has expired at the time. Never rejects. */
  async #reportAll(now: number): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    const due = [...this.#unreported].filter(({ lease, isCharging }) => !isCharging && now >= lease.deadline);
    while (due.length > 0) {
      const reports = due.splice(0, MAX_CHARGES_PER_TRIP).map(async (account) => {
        if (account.limits === undefined || account.isCharging) return;
        account.isCharging = true;
        await this.#send(account, account.limits, [], store).catch(() => undefined);
        await this.#chargeWaiting(account);
      });
      await Promise.all(reports);
    }
  }

  #chargeWithoutRedis(account: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#shouldServeWithoutRedis) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: briefShortage('quota-unreachable', 'quota', charge, undefined), allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    const outcome = takeFrom(account, limits, charge);
    if (outcome.shortage === undefined) {
      account.debtUnits += charge.units;
      this.#unreported.add(account);
    }
    return outcome;
  }

  #accountOf(id: string): Account {
    let account = this.#accounts.get(id);
    if (account === undefined) this.#accounts.set(id, (account = newAccount()));
    return account;
  }

  /** Logs each minute that Redis rejects the command (NOPERM, OOM). The link logs that Redis is unavailable. */
  #logRejection(error: unknown): void {
    if (!isRedisError(error) || clock.now() - this.#rejectionLoggedAt < WARNING_INTERVAL_MS) return;
    this.#rejectionLoggedAt = clock.now();
    this.#log.warn({ error: redisErrorCode(error) }, 'Redis rejects charges: limits are counted in memory');
  }
}
