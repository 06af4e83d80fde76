import type { KeyLimits, PublicLimits, PublicShare } from '../auth/permissions/key-limits.ts';
import { clock } from '../clock/clock.ts';
import { LEASE_MS, type ChargeOutcome } from './account.ts';
import { AddressTable, type Place } from './address-table.ts';
import type { ChargeRequest, ChargeStore } from './charge-store.ts';
import {
  ADMISSION_UNITS,
  allowanceOf,
  briefShortage,
  newLimitState,
  shortageOf,
  take,
  type Charge,
  type LimitState,
  type Shortage,
} from './limit-state.ts';
import { nothingToReport } from './report.ts';
import { utcDate } from './utc-date.ts';

/** In the store, the units of a day are kept for this time after the last charge. */
const DAY_TTL_MS = 90_000_000;

const noMethods: ReadonlyMap<string, number> = new Map();
const oneUnit: Charge = { units: ADMISSION_UNITS, byMethod: noMethods };

/** The limits of all callers without a key together: those of an account, which the limiter charges. */
export interface TotalLimiter {
  charge(limits: KeyLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome>;
  shortageOf(limits: KeyLimits): Shortage | undefined;
}

/**
 * Charges bodies of callers without a key: to the shares of their address, then to the limits of all of them together. This
 * gateway counts each share in a table of bounded size. All gateways with the same Redis, or all workers of a machine, share
 * them too, and both counts must allow a charge: so an address above its share costs no round trip, and has no fresh share
 * while Redis is unavailable.
 */
export class PublicCharges {
  /** Charges by outcome: taken; rejected by the share of the address, by that of those without a place, by the total. */
  readonly counts = { taken: 0, address: 0, 'table-full': 0, total: 0 };
  readonly table: AddressTable;
  readonly #total: TotalLimiter;
  readonly #store: ChargeStore | undefined;
  readonly #reportRejection: (error: unknown) => void;
  /** The shares without a place in the table, by their kind. */
  readonly #overflow = new Map<string, LimitState>();
  /** States that were read from the table, for one charge. */
  readonly #states: LimitState[] = [];

  /** @param reportRejection called with errors of the store  @param table for tests */
  constructor(
    total: TotalLimiter,
    store: ChargeStore | undefined,
    reportRejection: (error: unknown) => void,
    table = new AddressTable(),
  ) {
    this.#total = total;
    this.#store = store;
    this.#reportRejection = reportRejection;
    this.table = table;
  }

  /** Takes a charge as a whole, or reports the limit that rejects it. The promise never rejects. */
  charge(limits: PublicLimits, charge: Charge): ChargeOutcome | Promise<ChargeOutcome> {
    // Before the share of the address, which otherwise would be charged for bodies that this limit rejects.
    const exhausted = this.#totalShortage(limits);
    if (exhausted !== undefined) return this.#rejectedByAll(exhausted);
    const outcome = this.#takeHere(limits.shares, charge);
    if (outcome.shortage !== undefined) return outcome;
    const isShared = this.#store?.isUp === true && limits.shares.length > 0;
    return isShared ? this.#chargeShared(limits, charge, outcome) : this.#chargeAll(limits, charge, outcome, false);
  }

  /** The limit that rejects a charge of one unit now, as far as this gateway knows. */
  shortageOf(limits: PublicLimits): Shortage | undefined {
    const [now, date] = [clock.now(), utcDate()];
    const found = this.#read(limits.shares)
      .map(({ share, state }) => shortageOf(state, share.limits, oneUnit, now, date))
      .find((shortage) => shortage !== undefined);
    return found === undefined ? this.#totalShortage(limits) : { ...found, scope: 'address' };
  }

  #totalShortage({ all }: PublicLimits): Shortage | undefined {
    return all === undefined ? undefined : this.#total.shortageOf(all);
  }

  #takeHere(shares: readonly PublicShare[], charge: Charge): ChargeOutcome {
    const [now, date] = [clock.now(), utcDate()];
    const read = this.#read(shares);
    for (const { share, state, place } of read) {
      const shortage = shortageOf(state, share.limits, charge, now, date);
      if (shortage === undefined) continue;
      this.counts[place === undefined ? 'table-full' : 'address']++;
      return { shortage: { ...shortage, scope: 'address' }, allowance: shortage.allowance };
    }
    let allowance: ChargeOutcome['allowance'];
    for (const { share, state, place } of read) {
      take(state, share.limits, charge, now, date);
      // The last one is that of the address.
      allowance = allowanceOf(state, share.limits, charge, now, date);
      if (place !== undefined) this.#write(place, state, share.limits);
    }
    return { shortage: undefined, allowance };
  }

  /** Gives back what was taken here. @param isOfDay only of the day: an attempt counts for the rate of this gateway */
  #giveBack(shares: readonly PublicShare[], { units }: Charge, isOfDay: boolean): void {
    const [now, date] = [clock.now(), utcDate()];
    for (const { share, state, place } of this.#read(shares)) {
      const { missing = 0, at = now } = state.buckets.get('') ?? {};
      take(state, share.limits, { units: -units, byMethod: noMethods }, now, date);
      const left = state.buckets.get('');
      if (isOfDay) state.buckets.set('', { missing, at });
      // What has returned meanwhile is not given back.
      else if (left !== undefined) left.missing = Math.max(0, left.missing);
      if (place !== undefined) this.#write(place, state, share.limits);
    }
  }

  async #chargeShared(limits: PublicLimits, charge: Charge, here: ChargeOutcome): Promise<ChargeOutcome> {
    const store = this.#store as ChargeStore;
    let outcomes: ChargeOutcome[];
    try {
      outcomes = await Promise.all(limits.shares.map((share) => chargeShare(store, share, charge)));
    } catch (error) {
      this.#reportRejection(store.reportFailure(error));
      return this.#chargeAll(limits, charge, here, false);
    }
    const rejected = outcomes.find(({ shortage }) => shortage !== undefined);
    if (rejected === undefined) return this.#chargeAll(limits, charge, outcomes.at(-1) ?? here, true);
    this.#giveBack(limits.shares, charge, true);
    const taken = limits.shares.filter((_, at) => outcomes[at]?.shortage === undefined);
    this.#giveBackInStore(taken, charge);
    this.counts.address++;
    return rejected;
  }

  #giveBackInStore(shares: readonly PublicShare[], { units }: Charge): void {
    const store = this.#store as ChargeStore;
    for (const share of shares) {
      const request = { ...requestFor(share), report: { ...nothingToReport, debtUnits: -units } };
      store.charge(share.limits, [], request).catch((error: unknown) => {
        this.#reportRejection(store.reportFailure(error));
      });
    }
  }

  /** @param isShared whether the shares are charged in the store too */
  #chargeAll(
    limits: PublicLimits,
    charge: Charge,
    outcome: ChargeOutcome,
    isShared: boolean,
  ): ChargeOutcome | Promise<ChargeOutcome> {
    const { all, shares } = limits;
    const finish = ({ shortage }: ChargeOutcome): ChargeOutcome => {
      if (shortage === undefined) {
        this.counts.taken++;
        return outcome;
      }
      this.#giveBack(shares, charge, false);
      if (isShared) this.#giveBackInStore(shares, charge);
      return this.#rejectedByAll(shortage);
    };
    if (all === undefined) return finish(outcome);
    const charged = this.#total.charge(all, charge);
    return charged instanceof Promise ? charged.then(finish) : finish(charged);
  }

  #rejectedByAll(shortage: Shortage): ChargeOutcome {
    this.counts.total++;
    return { shortage: { ...shortage, scope: 'all' }, allowance: shortage.allowance };
  }

  /** The states are valid until the next call. */
  #read(shares: readonly PublicShare[]): { share: PublicShare; state: LimitState; place: Place | undefined }[] {
    const [now, date] = [clock.now(), utcDate()];
    return shares.map((share, index) => {
      const state = (this.#states[index] ??= newLimitState());
      const place = this.table.placeOf(share.account);
      if (this.table.read(place, state, now, date)) return { share, state, place };
      return { share, state: this.#overflowOf(share.limits.account), place: undefined };
    });
  }

  #write(place: Place, state: LimitState, { rate, daily }: KeyLimits): void {
    const perSecond = rate?.perSecond ?? Infinity;
    this.table.write(place, state, clock.now(), utcDate(), perSecond, daily !== undefined);
  }

  #overflowOf(account: string): LimitState {
    let state = this.#overflow.get(account);
    if (state === undefined) this.#overflow.set(account, (state = newLimitState()));
    return state;
  }
}

/** @throws the error of the store (rejects with it) */
async function chargeShare(store: ChargeStore, share: PublicShare, charge: Charge): Promise<ChargeOutcome> {
  const { limits } = share;
  const request = requestFor(share);
  const { state, sentAt, date } = request;
  const { taken } = await store.charge(limits, [charge], request);
  const allowance = allowanceOf(state, limits, charge, sentAt, date);
  if (taken[0] === true) return { shortage: undefined, allowance };
  const shortage =
    shortageOf(state, limits, charge, sentAt, date) ?? briefShortage('rate-limit', 'rate', charge, allowance);
  return { shortage: { ...shortage, scope: 'address' }, allowance: shortage.allowance };
}

function requestFor({ account, limits }: PublicShare): ChargeRequest {
  return {
    ...{ account, state: newLimitState(), hasQuota: limits.daily !== undefined, quotaTtlMs: DAY_TTL_MS },
    ...{ date: utcDate(), sentAt: clock.now(), report: nothingToReport, leaseUnits: 0, leaseMs: LEASE_MS },
  };
}
