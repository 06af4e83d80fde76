import { LRUCache } from 'lru-cache';
import { clock, type Timer } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { isRedisError, redisErrorCode } from '../redis/link.ts';
import { storeUnreachable } from '../store/redis-store.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { Account, EXCHANGE_MS, type ChargeOutcome, type WaitingCharge } from './account.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { WorkerShares } from './machine-shares.ts';
import { PublicCharges } from './public-charges.ts';
import { ShareCounts } from './share-counts.ts';
import type { SharedSums } from './shared-sums.ts';
import {
  addCharge,
  addDeltas,
  ADMISSION_UNITS,
  allowanceOf,
  briefShortage,
  newDeltas,
  newLimitState,
  quotasOf,
  setSums,
  shortageOf,
  sumOf,
  take,
  type Charge,
  type Deltas,
  type LimitState,
  type QuotaUse,
  type Shortage,
} from './limit-state.ts';
import { utcDate } from './utc-date.ts';

/** Accounts in memory. A dropped account is read from Redis again; without Redis it starts unused. */
const MAX_ACCOUNTS = 100_000;
/** Charges per round trip, and accounts that are exchanged at once: Redis runs one script at a time. */
const MAX_PER_TRIP = 500;
/** Interval of the warning while Redis rejects charges. */
const WARNING_INTERVAL_MS = 60_000;

export interface LimiterOptions {
  /** Undefined: limits are counted in this gateway's memory. Closed by `close`. */
  readonly sums: SharedSums | undefined;
  /** Undefined: no other worker counts the addresses of callers without a key. */
  readonly worker?: WorkerLink | undefined;
  /** Whether calls of a key with a quota are served while Redis, which has the count, is unavailable. */
  readonly shouldServeWithoutRedis: boolean;
  readonly log: Log;
}

/**
 * Enforces the rate limits and quotas of keys, and of callers without one. With Redis, all gateways share the sums of what was
 * used, and the workers of one machine share them without Redis. In comments here, Redis also stands for the primary of the
 * workers, which is always available. Far from its limits, an account is counted here, and its sums are exchanged every 100 ms.
 * Else each charge is added to the sums, which decide; charges that wait share a round trip. While Redis is slow or
 * unavailable, limits are counted in memory.
 */
export class Limiter {
  /**
   * Charges by decision: redis; primary (of the workers); memory (no Redis configured, far from all limits, or an exhausted
   * account); without-redis (from memory while Redis is unavailable); quota-unreachable (rejected because the quota is unknown).
   */
  readonly counts = { redis: 0, primary: 0, memory: 0, 'without-redis': 0, 'quota-unreachable': 0 };
  /** Of callers without a key. */
  readonly public: PublicCharges;
  readonly #sums: SharedSums | undefined;
  readonly #shouldServeWithoutRedis: boolean;
  readonly #log: Log;
  readonly #accounts = new LRUCache<string, Account>(maxEntries(MAX_ACCOUNTS));
  /** Accounts that were charged here since their last exchange. */
  readonly #due = new Set<Account>();
  #timer: Timer | undefined;
  #rejectionLoggedAt = -Infinity;

  constructor({ sums, worker, shouldServeWithoutRedis, log }: LimiterOptions) {
    this.#sums = sums;
    this.#shouldServeWithoutRedis = shouldServeWithoutRedis;
    this.#log = log;
    const shares = new ShareCounts();
    this.public = new PublicCharges(this, shares, worker && new WorkerShares(worker, shares));
  }

  /** Takes a charge as a whole, or reports the limit that rejects it. The promise never rejects. */
  charge(limits: KeyLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome> {
    if (limits.public !== undefined) return this.public.charge(limits.public, charge);
    const account = this.#accountOf(limits);
    const sums = this.#sums;
    if (sums === undefined) {
      this.counts.memory++;
      return account.take(limits, charge);
    }
    if (!sums.isUp) return this.#chargeWithoutRedis(account, limits, charge);
    const now = clock.now();
    if (account.isKnown(sums, now)) {
      const shortage = shortageOf(account.state, limits, charge, now, utcDate());
      if (shortage !== undefined || account.isFar(limits, charge, now)) {
        this.counts.memory++;
        return shortage === undefined
          ? this.#chargeHere(account, limits, charge)
          : { shortage, allowance: shortage.allowance };
      }
    }
    return new Promise((decide) => {
      account.waiting.push({ limits, charge, decide });
      // Runs after all requests that have arrived are read, so that they share the round trip.
      if (account.waiting.length === 1) clock.setImmediate(() => void this.#exchange(account, sums));
    });
  }

  /** The limit that rejects a charge of one unit now, as far as this gateway knows: Redis may have newer counts. */
  shortageOf(limits: KeyLimits): Shortage | undefined {
    if (limits.public !== undefined) return this.public.shortageOf(limits.public);
    const account = this.#accounts.get(limits.account);
    const now = clock.now();
    if (account === undefined || (this.#sums?.isUp === true && !account.isKnown(this.#sums, now))) return undefined;
    return shortageOf(account.state, limits, { units: ADMISSION_UNITS, byMethod: new Map() }, now, utcDate());
  }

  /** The quotas of a key's account: as in Redis, or as this gateway has counted them. @throws the error of Redis */
  async readQuotas(limits: KeyLimits): Promise<QuotaUse[]> {
    if (limits.daily === undefined && limits.monthly === undefined) return [];
    const [sums, account, date] = [this.#sums, this.#accounts.get(limits.account), utcDate()];
    if (sums === undefined) return quotasOf(account?.state ?? newLimitState(), limits, date);
    const nothing = { account: limits.account, deltas: newDeltas(), hasQuota: true, date };
    const state = newLimitState();
    try {
      setSums(state, await sums.add(nothing), clock.now());
    } catch (error) {
      throw storeUnreachable(sums.reportFailure(error));
    }
    if (account !== undefined) addDeltas(state, account.unsent, 1, clock.now(), date);
    return quotasOf(state, limits, date);
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
    await this.#sums?.waitUntilUp(timeoutMs);
  }

  async close(): Promise<void> {
    clock.clearTimeout(this.#timer);
    if (this.#sums?.isUp === true) await this.#exchangeAll(({ unsent }) => unsent.units !== 0, false);
    await this.#sums?.close();
  }

  /**
   * Exchanges all quotas, and all units that were charged without Redis, on a new connection, before it is used for charges.
   * A Redis that restarted may have lost them: without this, each quota would begin again.
   */
  async restore(): Promise<void> {
    await this.#exchangeAll(({ hasQuota, unsent }) => hasQuota || unsent.units !== 0, true);
  }

  async #exchangeAll(isDue: (account: Account) => boolean, isRestoring: boolean): Promise<void> {
    const due = [...this.#accounts.values()].filter((account) => isDue(account) && !account.isExchanging);
    while (due.length > 0)
      await Promise.all(due.splice(0, MAX_PER_TRIP).map((account) => this.#exchange(account, this.#sums, isRestoring)));
  }

  /** Exchanges the accounts that were charged here, after an interval. */
  #exchangeSoon(account: Account): void {
    this.#due.add(account);
    this.#startTimer();
  }

  #startTimer(): void {
    this.#timer ??= clock.setTimeout(() => void this.#exchangeDue(), EXCHANGE_MS).unref();
  }

  async #exchangeDue(): Promise<void> {
    const due = this.#sums?.isUp === true ? [...this.#due] : [];
    for (const account of due) this.#due.delete(account);
    while (due.length > 0)
      await Promise.all(due.splice(0, MAX_PER_TRIP).map((account) => this.#exchange(account, this.#sums)));
    this.#timer = undefined;
    if (this.#due.size > 0) this.#startTimer();
  }

  /** Exchanges the sums of an account until no charge waits, and nothing is given back. Never rejects. */
  async #exchange(account: Account, sums: SharedSums | undefined, isRestoring = false): Promise<void> {
    if (sums === undefined || (account.waiting.length === 0 && account.unsent.units === 0 && !isRestoring)) return;
    // The exchange in progress decides the charges that wait.
    if (account.isExchanging) {
      this.#exchangeSoon(account);
      return;
    }
    account.isExchanging = true;
    let isReached: boolean;
    do {
      isReached = (sums.isUp || isRestoring) && (!account.mayBeLost(sums) || (await this.#restore(account, sums)));
      const batch = account.waiting.splice(0, MAX_PER_TRIP);
      if (isReached && sums.isUp) await this.#send(account, batch, sums);
      else for (const each of batch) each.decide(this.#chargeWithoutRedis(account, each.limits, each.charge));
    } while (account.waiting.length > 0 || (isReached && sums.isUp && account.unsent.units < 0));
    account.isExchanging = false;
  }

  /**
   * Raises the sums in Redis to what is known here. What was taken here without Redis is sent later, when other gateways have
   * raised them too. @returns whether Redis responded
   */
  async #restore(account: Account, sums: SharedSums): Promise<boolean> {
    const [now, date] = [clock.now(), utcDate()];
    const unsent = account.takeUnsent(now);
    addDeltas(account.state, unsent, -1, now, date);
    const isAdded = await this.#add(account, account.noUnits(), sums, now, account.state);
    addDeltas(account.state, unsent, 1, now, date);
    account.unsent = sumOf(unsent, account.unsent);
    if (isAdded) this.#exchangeSoon(account);
    return isAdded;
  }

  /**
   * One round trip. It adds the charges that fit by what is known here; if that is old, the first one, and the next ones far from
   * the limits. The sums decide whether they are taken, and which of the others wait for the next round trip. What is not taken is
   * given back.
   */
  async #send(account: Account, batch: readonly WaitingCharge[], sums: SharedSums): Promise<void> {
    const { state } = account;
    const [now, date] = [clock.now(), utcDate()];
    const isKnown = account.isKnown(sums, now);
    const [unsent, asked, added] = [account.takeUnsent(now), newDeltas(), new Set<WaitingCharge>()];
    let mayAdd = true;
    for (const each of batch) {
      const { limits, charge } = each;
      mayAdd &&= isKnown || added.size === 0 || account.isFar(limits, charge, now, asked);
      const isAdded = mayAdd && shortageOf(state, limits, charge, now, date) === undefined;
      addCharge(asked, limits, charge, isAdded ? 1 : 0);
      if (!isAdded) continue;
      added.add(each);
      take(state, limits, charge, now, date);
    }
    const isSent = await this.#add(account, sumOf(unsent, asked), sums, now);
    addDeltas(state, asked, -1, now, date);
    if (!isSent) {
      // Redis may have them. Units that are given back twice would be served twice.
      if (unsent.units > 0) account.unsent = sumOf(unsent, account.unsent);
      for (const each of batch) each.decide(this.#chargeWithoutRedis(account, each.limits, each.charge));
      return;
    }
    const later: WaitingCharge[] = [];
    for (const each of batch) {
      const { limits, charge, decide } = each;
      const shortage = shortageOf(state, limits, charge, now, date);
      if (shortage === undefined && !added.has(each)) {
        later.push(each);
        continue;
      }
      this.counts[sums.kind]++;
      if (shortage === undefined) take(state, limits, charge, now, date);
      else if (added.has(each)) addCharge(account.unsent, limits, charge, -1);
      decide({ shortage, allowance: shortage?.allowance ?? allowanceOf(state, limits, charge, now, date) });
    }
    account.waiting.unshift(...later);
  }

  /** Adds to the sums, which replace what is known here, and to them what was taken here meanwhile. @returns whether Redis responded */
  async #add(account: Account, deltas: Deltas, sums: SharedSums, now: number, least?: LimitState): Promise<boolean> {
    const [{ id, hasQuota, state }, { connection }, date] = [account, sums, utcDate()];
    try {
      const added = await sums.add({ account: id, deltas, hasQuota, least, date });
      account.confirm(added, deltas.units, connection, now);
      addDeltas(state, account.unsent, 1, now, date);
      return true;
    } catch (error) {
      this.#logRejection(sums.reportFailure(error));
      if (!sums.isUp) this.#exchangeSoon(account);
      return false;
    }
  }

  /** Takes a charge by what is known here, and has it exchanged. */
  #chargeHere(account: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const outcome = account.take(limits, charge);
    if (outcome.shortage !== undefined) return outcome;
    addCharge(account.unsent, limits, charge);
    this.#exchangeSoon(account);
    return outcome;
  }

  #chargeWithoutRedis(account: Account, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#shouldServeWithoutRedis) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: briefShortage('quota-unreachable', 'quota', charge, undefined), allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    return this.#chargeHere(account, limits, charge);
  }

  #accountOf(limits: KeyLimits): Account {
    let account = this.#accounts.get(limits.account);
    if (account === undefined) this.#accounts.set(limits.account, (account = new Account(limits.account)));
    account.limits = limits;
    account.hasQuota ||= limits.daily !== undefined || limits.monthly !== undefined;
    return account;
  }

  /** Logs each minute that Redis rejects the command (NOPERM, OOM). The link logs that Redis is unavailable. */
  #logRejection(error: unknown): void {
    if (!isRedisError(error) || clock.now() - this.#rejectionLoggedAt < WARNING_INTERVAL_MS) return;
    this.#rejectionLoggedAt = clock.now();
    this.#log.warn({ error: redisErrorCode(error) }, 'Redis rejects charges: limits are counted in memory');
  }
}
