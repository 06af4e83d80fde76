import { LRUCache } from 'lru-cache';
import type { SlotLeases } from '../admission/slot-lease.ts';
import { clock, type Timer } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { AccountUnits, EXCHANGE_MS, type ChargeOutcome, type WaitingCharge } from './account-units.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { WorkerShares } from './machine-shares.ts';
import { PublicCharges } from './public-charges.ts';
import { ShareCounts } from './share-counts.ts';
import type { Addition, SharedSums } from './shared-sums.ts';
import {
  addCharge,
  addConditionally,
  addDeltas,
  ADMISSION_UNITS,
  allowanceOf,
  briefShortage,
  cloneState,
  newDeltas,
  newLimitState,
  quotasOf,
  rateWaitMs,
  setSums,
  shortageOf,
  sumOf,
  sumsOf,
  take,
  type Charge,
  type ConditionalDeltas,
  type QuotaUse,
  type Shortage,
  type Sums,
} from './limit-state.ts';
import { currentMoment, utcDate } from './utc-date.ts';

/** Accounts in memory. A dropped account has its shared sums again at its next exchange; without them it starts unused. */
const MAX_ACCOUNTS = 100_000;
/** Accounts that are exchanged at once: Redis runs one script at a time. */
const MAX_PER_TRIP = 500;

export interface LimiterOptions {
  /** Shared sums; undefined: limits are counted in this gateway's memory. Closed by `close`. */
  readonly sums: SharedSums | undefined;
  /** Link to the other workers; undefined: no other worker counts the addresses of callers without a key. */
  readonly worker?: WorkerLink | undefined;
  /** Whether calls of a key with a quota are served while Redis, which has the count, is unavailable. */
  readonly shouldServeWithoutRedis: boolean;
}

/** Whether the units of an account can be added to the shared sums now. */
function canAdd({ isUp, addsRates = false }: SharedSums, { hasQuota }: AccountUnits): boolean {
  return isUp || (addsRates && !hasQuota);
}

/**
 * Enforces the rate limits and quotas of keys, of callers without one, and the rates of upstreams. All gateways with one Redis share
 * the sums of what was used; without Redis, the workers of one machine share them in their primary. Far from its limits, an account
 * is counted here, and its sums are exchanged every 100 ms. Else each charge is added to the shared sums, which decide; charges that
 * wait share a round trip. While these are slow or unavailable, limits are counted in memory.
 */
export class Limiter {
  /**
   * Charges by decision: redis; primary (of the workers); memory (no Redis configured, far from all limits, or an exhausted
   * account); without-redis (from memory while Redis is unavailable); quota-unreachable (rejected because the quota is unknown).
   */
  readonly counts = { redis: 0, primary: 0, memory: 0, 'without-redis': 0, 'quota-unreachable': 0 };
  /** Charges of callers without a key. */
  readonly public: PublicCharges;
  readonly #sums: SharedSums | undefined;
  readonly #shouldServeWithoutRedis: boolean;
  readonly #accounts = new LRUCache<string, AccountUnits>({
    ...maxEntries(MAX_ACCOUNTS),
    dispose: (account) => {
      this.#drop(account);
    },
  });
  /** Accounts that were charged here since their last exchange. */
  readonly #due = new Set<AccountUnits>();
  #timer: Timer | undefined;

  constructor({ sums, worker, shouldServeWithoutRedis }: LimiterOptions) {
    this.#sums = sums;
    this.#shouldServeWithoutRedis = shouldServeWithoutRedis;
    const shares = new ShareCounts();
    this.public = new PublicCharges(this, shares, worker && new WorkerShares(worker, shares));
  }

  /** Leases of slots that all gateways have together; undefined: this is the only one, or its primary has them. */
  get slots(): SlotLeases | undefined {
    return this.#sums?.slots;
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
    if (!canAdd(sums, account)) return this.#chargeWithoutSums(account, limits, charge);
    const now = clock.now();
    if (account.isKnown(sums, now)) {
      const shortage = shortageOf(account.state, limits, charge, currentMoment());
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

  /** Takes a charge without checking the limits. */
  take(limits: KeyLimits, charge: Charge): void {
    const [account, moment] = [this.#accountOf(limits), currentMoment()];
    this.counts[this.#sums?.isUp === false ? 'without-redis' : 'memory']++;
    take(account.state, limits, charge, moment);
    if (this.#sums !== undefined) this.#sendSoon(account, limits, charge);
  }

  /** Time until the rate of an account has a unit, as far as this gateway knows, in ms. */
  waitMs(limits: KeyLimits): number {
    const account = this.#accounts.get(limits.account);
    return account === undefined ? 0 : rateWaitMs(account.state, limits, clock.now());
  }

  /** The limit that rejects a charge of one unit now, as far as this gateway knows: the shared sums may be newer. */
  shortageOf(limits: KeyLimits): Shortage | undefined {
    if (limits.public !== undefined) return this.public.shortageOf(limits.public);
    const [account, sums] = [this.#accounts.get(limits.account), this.#sums];
    if (account === undefined) return undefined;
    if (sums !== undefined && canAdd(sums, account) && !account.isKnown(sums, clock.now())) return undefined;
    return shortageOf(account.state, limits, { units: ADMISSION_UNITS, byMethod: new Map() }, currentMoment());
  }

  /** The quotas of a key's account: the shared sums, or what this gateway has counted. @throws StoreUnreachable */
  async readQuotas(limits: KeyLimits): Promise<QuotaUse[]> {
    if (limits.daily === undefined && limits.monthly === undefined) return [];
    const [sums, account, date] = [this.#sums, this.#accounts.get(limits.account), utcDate()];
    if (sums === undefined) return quotasOf(account?.state ?? newLimitState(), limits, date);
    const nothing = { account: limits.account, deltas: newDeltas(), hasQuota: true, date };
    const state = newLimitState();
    setSums(state, await sums.add(nothing), clock.now());
    if (account !== undefined) addDeltas(state, account.unsent, 1, { now: clock.now(), date });
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

  /** Waits until the shared sums are available, at most `timeoutMs`. */
  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#sums?.link?.waitUntilUp(timeoutMs);
  }

  async close(): Promise<void> {
    clock.clearTimeout(this.#timer);
    const sums = this.#sums;
    if (sums === undefined) return;
    const due = [...this.#due].filter((one) => !one.isExchanging && canAdd(sums, one));
    await this.#exchangeAll(due, sums);
    await sums.link?.close();
  }

  /**
   * Raises all quotas in Redis to what is known here, on a new connection, before it is used for charges. A Redis that restarted
   * may have lost them: without this, each quota would begin again. Other accounts are restored at their next exchange.
   */
  async restore(): Promise<void> {
    const sums = this.#sums;
    if (sums === undefined) return;
    const due = [...this.#accounts.values()].filter((one) => one.hasQuota && !one.isExchanging && one.mayBeLost(sums));
    while (due.length > 0)
      await Promise.all(due.splice(0, MAX_PER_TRIP).map((account) => this.#restore(account, sums)));
  }

  async #exchangeAll(due: AccountUnits[], sums: SharedSums): Promise<void> {
    while (due.length > 0)
      await Promise.all(due.splice(0, MAX_PER_TRIP).map((account) => this.#exchange(account, sums)));
  }

  /** Exchanges the accounts that were charged here, after an interval. */
  #exchangeSoon(account: AccountUnits): void {
    this.#due.add(account);
    this.#startTimer(EXCHANGE_MS);
  }

  #startTimer(ms: number): void {
    this.#timer ??= clock.setTimeout(() => void this.#exchangeDue(), ms).unref();
  }

  async #exchangeDue(): Promise<void> {
    const startedAt = clock.now();
    const sums = this.#sums;
    if (sums !== undefined) {
      const due = [...this.#due].filter((one) => canAdd(sums, one));
      for (const account of due) this.#due.delete(account);
      await this.#exchangeAll(due, sums);
    }
    this.#timer = undefined;
    if (this.#due.size > 0) this.#startTimer(Math.max(0, startedAt + EXCHANGE_MS - clock.now()));
  }

  /** Exchanges the units of an account that has no more place. While the shared sums are unavailable, they are lost. */
  #drop(account: AccountUnits): void {
    const sums = this.#sums;
    if (this.#due.delete(account) && sums !== undefined && canAdd(sums, account)) void this.#exchange(account, sums);
  }

  /** Exchanges the sums of an account, and again while charges wait: the promise is that of the first time. Never rejects. */
  async #exchange(account: AccountUnits, sums: SharedSums): Promise<void> {
    if (account.waiting.length === 0 && account.unsent.monthUsed === 0) return;
    // The exchange in progress decides the charges that wait.
    if (account.isExchanging) {
      this.#exchangeSoon(account);
      return;
    }
    account.isExchanging = true;
    if (canAdd(sums, account) && account.mayBeLost(sums)) await this.#restore(account, sums);
    const batch = account.waiting.splice(0);
    if (canAdd(sums, account) && !account.mayBeLost(sums)) await this.#send(account, batch, sums);
    else this.#decideWithoutSums(account, batch);
    // They are sent when the sums are available again.
    if (!canAdd(sums, account) && account.unsent.monthUsed > 0) this.#exchangeSoon(account);
    account.isExchanging = false;
    if (account.waiting.length > 0) void this.#exchange(account, sums);
  }

  /**
   * Raises the shared sums to what is known here. What was taken here without them is sent later, when other gateways have
   * raised them too.
   */
  async #restore(account: AccountUnits, sums: SharedSums): Promise<void> {
    const [moment, state, deltas] = [currentMoment(), cloneState(account.state), account.noUnits()];
    const { now, date } = moment;
    account.unsent = account.cappedUnsent(moment);
    addDeltas(state, account.unsent, -1, moment);
    await this.#add(account, sums, { deltas, least: sumsOf(state, deltas, now), date }, now);
  }

  /**
   * Makes one round trip. It adds what was taken here, and the charges that fit by what is known here, if no more was used
   * meanwhile than is left for them. If more was used, none of them is added. The new sums then reject what does not fit, and
   * the others wait for the next round trip, with half as many charges: so others do not stop them for long.
   */
  async #send(account: AccountUnits, batch: readonly WaitingCharge[], sums: SharedSums): Promise<void> {
    const moment = currentMoment();
    const { now, date } = moment;
    const [deltas, state] = [account.cappedUnsent(moment), cloneState(account.state)];
    const added = new Set<WaitingCharge>();
    const conditional: ConditionalDeltas = { deltas: newDeltas(), maxSums: new Map() };
    for (const each of batch) {
      const { limits, charge } = each;
      if (added.size >= account.maxCharges || shortageOf(state, limits, charge, moment) !== undefined) continue;
      addConditionally(conditional, limits, charge, date);
      take(state, limits, charge, moment);
      added.add(each);
    }
    account.unsent = newDeltas();
    account.inFlight = sumOf(deltas, conditional.deltas, date);
    const response = await this.#add(account, sums, { deltas, conditional, date }, now);
    account.inFlight = newDeltas();
    if (response === undefined) {
      // They may have been added all the same: then they are counted twice.
      account.unsent = sumOf(deltas, account.unsent, date);
      this.#decideWithoutSums(account, batch);
      return;
    }
    account.maxCharges = response.isAdded ? Infinity : Math.max(1, Math.floor(added.size / 2));
    const later: WaitingCharge[] = [];
    for (const each of batch) {
      const { limits, charge, decide } = each;
      const isTaken = response.isAdded && added.has(each);
      const shortage = isTaken ? undefined : shortageOf(account.state, limits, charge, moment);
      if (!isTaken && shortage === undefined) {
        later.push(each);
        continue;
      }
      this.counts[sums.isUp ? sums.kind : 'without-redis']++;
      decide({ shortage, allowance: shortage?.allowance ?? allowanceOf(account.state, limits, charge, moment) });
    }
    account.waiting.unshift(...later);
  }

  #decideWithoutSums(account: AccountUnits, batch: readonly WaitingCharge[]): void {
    for (const { limits, charge, decide } of batch) decide(this.#chargeWithoutSums(account, limits, charge));
  }

  /**
   * Adds to the sums, which replace what is known here, and to them what was taken here meanwhile.
   * @returns undefined: there was no response in time
   */
  async #add(
    account: AccountUnits,
    sums: SharedSums,
    addition: Omit<Addition, 'account' | 'hasQuota'>,
    now: number,
  ): Promise<Sums | undefined> {
    const { connection } = sums;
    try {
      const added = await sums.add({ account: account.id, hasQuota: account.hasQuota, ...addition });
      const { deltas, conditional } = addition;
      const units = deltas.monthUsed + (added.isAdded ? (conditional?.deltas.monthUsed ?? 0) : 0);
      account.confirm(added, units, connection, now);
      addDeltas(account.state, account.unsent, 1, { now, date: utcDate() });
      return added;
    } catch {
      if (!canAdd(sums, account)) this.#exchangeSoon(account);
      return undefined;
    }
  }

  /** Takes a charge by what is known here, and has it exchanged. */
  #chargeHere(account: AccountUnits, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const outcome = account.take(limits, charge);
    if (outcome.shortage === undefined) this.#sendSoon(account, limits, charge);
    return outcome;
  }

  #sendSoon(account: AccountUnits, limits: KeyLimits, charge: Charge): void {
    addCharge(account.unsent, limits, charge, utcDate());
    this.#exchangeSoon(account);
  }

  #chargeWithoutSums(account: AccountUnits, limits: KeyLimits, charge: Charge): ChargeOutcome {
    const hasQuota = limits.daily !== undefined || limits.monthly !== undefined;
    if (hasQuota && !this.#shouldServeWithoutRedis) {
      this.counts['quota-unreachable'] += 1;
      return { shortage: briefShortage('quota-unreachable', 'quota', charge, undefined), allowance: undefined };
    }
    this.counts['without-redis'] += 1;
    return this.#chargeHere(account, limits, charge);
  }

  #accountOf(limits: KeyLimits): AccountUnits {
    let account = this.#accounts.get(limits.account);
    if (account === undefined) this.#accounts.set(limits.account, (account = new AccountUnits(limits.account)));
    account.setLimits(limits);
    return account;
  }
}
