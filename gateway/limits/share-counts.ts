import type { KeyLimits, PublicShare } from '../auth/permissions/key-limits.ts';
import { clock } from '../clock/clock.ts';
import type { ChargeOutcome } from './account-units.ts';
import { AddressEntry, AddressTable, type Place } from './address-table.ts';
import {
  ADMISSION_UNITS,
  allowanceOf,
  missingOf,
  setMissing,
  shortageOf,
  take,
  usedPartOf,
  type Charge,
  type Shortage,
} from './limit-state.ts';
import { currentMoment, utcDate } from './utc-date.ts';

/** `member` of a /48: its only /64 as the key of its place, or that it has several, or that they have accounts of their own. */
const [SEVERAL, SPLIT] = [-1, -2];

const noMethods: ReadonlyMap<string, number> = new Map();

/** An account that a share counts in. */
interface Counted {
  readonly entry: AddressEntry;
  readonly limits: KeyLimits;
  /** Place of the account; undefined: it is one of all shares for which there is no place. */
  readonly at: { readonly table: AddressTable; readonly place: Place } | undefined;
}

export interface ShareOutcome extends ChargeOutcome {
  readonly hasPlace: boolean;
  /** How much of the nearest limit is used: 1 is all. */
  readonly usedPart: number;
}

/** What a share has used, for the counts of another process. */
export interface ShareUse {
  readonly network: 'only' | 'several' | 'split' | undefined;
  /** Missing units and units of the day, of the /48 first. Empty: it has no place. */
  readonly accounts: readonly (readonly [number, number])[];
}

/**
 * Counts the shares of callers without a key, in tables of bounded size. IPv4 addresses have places of their own: one IPv6
 * customer has more addresses than there are places. A /48 counts as one address until it has used the limits of one: no /64 of
 * it can have used more. From then on it has the limits of several, and each /64 an account of its own.
 */
export class ShareCounts {
  readonly #ipv4: AddressTable;
  readonly #others: AddressTable;
  /** Entries of all shares for which there is no place, by the account of their limits. */
  readonly #overflow = new Map<string, AddressEntry>();
  /** What was read for one charge: a /48, and an address. */
  readonly #wide = new AddressEntry();
  readonly #own = new AddressEntry();

  /** @param maxAccounts of each table, for tests */
  constructor(maxAccounts?: number) {
    [this.#ipv4, this.#others] = [new AddressTable(maxAccounts), new AddressTable(maxAccounts)];
  }

  get size(): number {
    return this.#ipv4.size + this.#others.size;
  }

  /** Takes units as a whole, or reports the limit that rejects them. */
  take(share: PublicShare, units: number): ShareOutcome {
    const charge = { units, byMethod: noMethods };
    let counted = this.#countedFor(share);
    let shortage = firstShortage(counted, charge);
    if (shortage !== undefined && isWhole(share, counted)) {
      counted = this.#split(share);
      shortage = firstShortage(counted, charge);
    }
    const hasPlace = counted.every(({ at }) => at !== undefined);
    if (shortage !== undefined) return { shortage, allowance: shortage.allowance, hasPlace, usedPart: 1 };
    this.#add(share, counted, charge);
    const moment = currentMoment();
    const usedPart = Math.max(...counted.map((each) => usedPartOf(each.entry.state, each.limits, moment.now)));
    const { entry, limits } = counted.at(-1) as Counted;
    return { shortage, allowance: allowanceOf(entry.state, limits, charge, moment), hasPlace, usedPart };
  }

  /** Takes units without checking the limits. Negative ones are given back. */
  add(share: PublicShare, units: number): void {
    this.#add(share, this.#countedFor(share), { units, byMethod: noMethods });
  }

  /** The limit that rejects a charge of some units now. */
  shortageOf(share: PublicShare, units = ADMISSION_UNITS): Shortage | undefined {
    const counted = this.#countedFor(share);
    // A /48 that has used the limits of one address gets those of several.
    return isWhole(share, counted) ? undefined : firstShortage(counted, { units, byMethod: noMethods });
  }

  useOf(share: PublicShare): ShareUse {
    const counted = this.#countedFor(share);
    if (counted.some(({ at }) => at === undefined)) return { network: undefined, accounts: [] };
    const accounts = counted.map(({ entry: { state }, limits }): [number, number] => [
      missingOf(state, limits, clock.now()),
      state.dayUsed,
    ]);
    if (!isWhole(share, counted)) return { network: share.wideAccount === undefined ? undefined : 'split', accounts };
    return { network: this.#wide.member === this.#keyOf(share) ? 'only' : 'several', accounts };
  }

  /** Replaces what a share has used. @returns false: it has no place, here or there */
  set(share: PublicShare, { network, accounts }: ShareUse): boolean {
    let counted = this.#countedFor(share);
    if (network === 'split' && isWhole(share, counted)) counted = this.#split(share);
    if (counted.length !== accounts.length || counted.some(({ at }) => at === undefined)) return false;
    for (const [index, { entry }] of counted.entries()) {
      const [missing, dayUsed] = accounts[index] as [number, number];
      setMissing(entry.state, '', missing, clock.now());
      entry.state.dayUsed = dayUsed;
    }
    if (isWhole(share, counted)) this.#wide.member = network === 'only' ? this.#keyOf(share) : SEVERAL;
    this.#write(counted);
    return true;
  }

  /** The accounts are valid until the next call. The last one is that of the address. */
  #countedFor(share: PublicShare): Counted[] {
    const { wideAccount, limits } = share;
    if (wideAccount === undefined || limits.wide === undefined) return [this.#ownOf(share)];
    const at = { table: this.#others, place: this.#others.placeOf(wideAccount) };
    if (!at.table.read(at.place, this.#wide, clock.now(), utcDate())) return [this.#withoutPlace(share)];
    if (this.#wide.member !== SPLIT) return [{ entry: this.#wide, limits: limits.own, at }];
    return [{ entry: this.#wide, limits: limits.wide, at }, this.#ownOf(share)];
  }

  #ownOf(share: PublicShare): Counted {
    const { account, isIpv4, limits } = share;
    const table = isIpv4 ? this.#ipv4 : this.#others;
    const place = table.placeOf(account);
    if (!table.read(place, this.#own, clock.now(), utcDate())) return this.#withoutPlace(share);
    return { entry: this.#own, limits: limits.own, at: { table, place } };
  }

  #withoutPlace({ limits: { others } }: PublicShare): Counted {
    let entry = this.#overflow.get(others.account);
    if (entry === undefined) this.#overflow.set(others.account, (entry = new AddressEntry()));
    return { entry, limits: others, at: undefined };
  }

  /** Each /64 of the /48, which was read, has an account from now on. That of its only one has used what the /48 has. */
  #split(share: PublicShare): Counted[] {
    const { member, state } = this.#wide;
    this.#wide.member = SPLIT;
    const own = this.#ownOf(share);
    if (own.at?.place.key === member) {
      const { missing = 0, at = clock.now() } = state.buckets.get('') ?? {};
      setMissing(own.entry.state, '', missing, at);
      own.entry.state.dayUsed = state.dayUsed;
    }
    const { table, place } = { table: this.#others, place: this.#others.placeOf(share.wideAccount ?? '') };
    const counted = [{ entry: this.#wide, limits: share.limits.wide ?? share.limits.own, at: { table, place } }, own];
    this.#write(counted);
    return counted;
  }

  #add(share: PublicShare, counted: readonly Counted[], charge: Charge): void {
    for (const { entry, limits } of counted) {
      take(entry.state, limits, charge, currentMoment());
    }
    if (isWhole(share, counted)) {
      const key = this.#keyOf(share);
      this.#wide.member = this.#wide.member === 0 || this.#wide.member === key ? key : SEVERAL;
    }
    this.#write(counted);
  }

  /** A /48 is kept as long as its /64s: else these would have the limits of one address again. */
  #write(counted: readonly Counted[]): void {
    let droppedAt = 0;
    for (const { entry, limits, at } of [...counted].reverse()) {
      if (at !== undefined) droppedAt = at.table.write(at.place, entry, limits, clock.now(), utcDate(), droppedAt);
    }
  }

  #keyOf({ account }: PublicShare): number {
    return this.#others.placeOf(account).key;
  }
}

function firstShortage(counted: readonly Counted[], charge: Charge): Shortage | undefined {
  const moment = currentMoment();
  for (const { entry, limits } of counted) {
    const shortage = shortageOf(entry.state, limits, charge, moment);
    if (shortage !== undefined) return shortage;
  }
  return undefined;
}

/** Whether a /48 counts as one address. */
function isWhole({ wideAccount }: PublicShare, counted: readonly Counted[]): boolean {
  return wideAccount !== undefined && counted.length === 1 && counted[0]?.at !== undefined;
}
