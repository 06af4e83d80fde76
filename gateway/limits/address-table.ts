import { hash } from 'node:crypto';
import { random } from '../clock/random.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { newLimitState, setMissing, type LimitState, type UtcDate } from './limit-state.ts';

/** Parts of the table, which grow one by one: to copy all of it at once would block the event loop. */
const SEGMENTS = 256;
/** Maximum of a segment, so that it is at most half full. The largest table has 59 MB. */
const MAX_PER_SEGMENT = 2_048;
const MIN_SLOTS = 16;
/** A full segment is searched for accounts that can be dropped once in this time. */
const SWEEP_INTERVAL_MS = 1_000;
/** When there is no place, accounts that have used less than this part of their day are dropped. */
const MIN_KEPT_PART = 0.01;

/** Numbers of one account: its digest, when it was charged, `missing` then, the day, its units, when it may be dropped, `member`. */
const WIDTH = 7;
const [KEY, AT, MISSING, DAY, USED, DROPPED_AT, MEMBER] = [0, 1, 2, 3, 4, 5, 6] as const;

/** Where an account is, or would be. */
export interface Place {
  readonly segment: number;
  /** Key of the account, above 0. */
  readonly key: number;
}

/** An account of the table. */
export class AddressEntry {
  readonly state: LimitState = newLimitState();
  /** A number that the table keeps with the account; 0 for an unused one. */
  member = 0;
}

/**
 * The state of up to half a million accounts of callers without a key: a rate and the units of the day, in 56 bytes each and
 * the space to find them. An account is dropped if it is as if unused, and when there is no place also if its rate is full and
 * it has used less than 1 % of its day. Digests are salted, so that callers cannot choose two accounts with one digest.
 */
export class AddressTable {
  readonly #salt = random.bytes(16).toString('hex');
  readonly #segments: (Segment | undefined)[] = Array.from({ length: SEGMENTS }, () => undefined);
  readonly #maxPerSegment: number;
  /** The latest day, and its number in the table. */
  #day = '';
  #dayNumber = 0;

  /** @param maxAccounts for tests */
  constructor(maxAccounts = SEGMENTS * MAX_PER_SEGMENT) {
    this.#maxPerSegment = Math.ceil(maxAccounts / SEGMENTS);
  }

  /** Number of accounts, with those that will be dropped. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.count ?? 0), 0);
  }

  placeOf(account: string): Place {
    const digest = hash('sha256', this.#salt + account, 'buffer');
    return { segment: digest.readUInt8(6), key: digest.readUIntBE(0, 6) + 1 };
  }

  /**
   * Reads an account; one that the table does not have is unused.
   * @returns false: it has no place  @param now by clock.now()
   */
  read({ segment, key }: Place, entry: AddressEntry, now: number, date: UtcDate): boolean {
    if (date.day > this.#day) [this.#day, this.#dayNumber] = [date.day, this.#dayNumber + 1];
    const { numbers, slot, isFound } = this.#segmentAt(segment).find(key);
    if (!isFound && !this.#segmentAt(segment).hasPlace(this.#maxPerSegment, now, this.#dayNumber)) return false;
    const number = (column: number): number => numbers[slot + column] as number;
    const isUsed = isFound && !isUnused(numbers, slot, now, this.#dayNumber);
    setMissing(entry.state, '', isUsed ? number(MISSING) : 0, isUsed ? number(AT) : now);
    entry.state.day = date.day;
    entry.state.dayUsed = isUsed && number(DAY) === this.#dayNumber ? number(USED) : 0;
    entry.member = isUsed ? number(MEMBER) : 0;
    return true;
  }

  /**
   * Stores an account for which `read` returned true in the same turn.
   * @param minDroppedAt it is kept until then @returns when it may be dropped
   */
  write(
    { segment, key }: Place,
    { state, member }: AddressEntry,
    { rate, daily = Infinity }: KeyLimits,
    now: number,
    date: UtcDate,
    minDroppedAt = 0,
  ): number {
    const { missing = 0, at = now } = state.buckets.get('') ?? {};
    const used = daily === Infinity ? 0 : state.dayUsed;
    const { numbers, slot, isFound } = this.#segmentAt(segment).find(key);
    const droppedAt = Math.max(
      minDroppedAt,
      isFound ? (numbers[slot + DROPPED_AT] as number) : 0,
      at + (missing * 1_000) / (rate?.perSecond ?? Infinity),
      used >= daily * MIN_KEPT_PART ? now + date.dayEndsInS * 1_000 : 0,
    );
    this.#segmentAt(segment).set([key, at, missing, this.#dayNumber, used, droppedAt, member]);
    return droppedAt;
  }

  #segmentAt(index: number): Segment {
    return (this.#segments[index] ??= new Segment());
  }
}

/** Whether a dropped account would have the same limits. */
function isUnused(numbers: Float64Array, slot: number, now: number, dayNumber: number): boolean {
  if ((numbers[slot + DROPPED_AT] as number) > now) return false;
  return numbers[slot + USED] === 0 || numbers[slot + DAY] !== dayNumber;
}

/** A hash table with linear probing. */
class Segment {
  count = 0;
  #numbers = new Float64Array(MIN_SLOTS * WIDTH);
  #sweptAt = -Infinity;

  /** @returns its slot, or the free one that it would get */
  find(key: number): { readonly numbers: Float64Array; readonly slot: number; readonly isFound: boolean } {
    const numbers = this.#numbers;
    const mask = numbers.length / WIDTH - 1;
    for (let at = key & mask; ; at = (at + 1) & mask) {
      const found = numbers[at * WIDTH + KEY];
      if (found === key || found === 0) return { numbers, slot: at * WIDTH, isFound: found === key };
    }
  }

  /** Whether an account can be added. Drops others only if they may be dropped. */
  hasPlace(max: number, now: number, dayNumber: number): boolean {
    const slots = this.#numbers.length / WIDTH;
    const isFull = this.count >= max;
    if (!isFull && (this.count + 1) * 4 <= slots * 3) return true;
    if (isFull && now - this.#sweptAt < SWEEP_INTERVAL_MS) return false;
    this.#sweptAt = now;
    this.#rebuild((numbers, slot) => !isUnused(numbers, slot, now, dayNumber));
    // Else the next sweep would be soon.
    if (isFull && this.count * 4 > max * 3)
      this.#rebuild((numbers, slot) => (numbers[slot + DROPPED_AT] as number) > now);
    return this.count < max;
  }

  set(values: ArrayLike<number>): void {
    const { numbers, slot, isFound } = this.find(values[KEY] as number);
    numbers.set(values, slot);
    if (!isFound) this.count++;
  }

  /** Rebuilds the segment with space for as many as it keeps. */
  #rebuild(isKept: (numbers: Float64Array, slot: number) => boolean): void {
    const old = this.#numbers;
    const kept: number[] = [];
    for (let slot = 0; slot < old.length; slot += WIDTH)
      if (old[slot + KEY] !== 0 && isKept(old, slot)) kept.push(slot);
    let slots = MIN_SLOTS;
    while (slots < 2 * kept.length) slots *= 2;
    this.#numbers = new Float64Array(slots * WIDTH);
    this.count = 0;
    for (const slot of kept) this.set(old.subarray(slot, slot + WIDTH));
  }
}
