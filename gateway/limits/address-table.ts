import { hash } from 'node:crypto';
import { random } from '../clock/random.ts';
import { setMissing, type LimitState, type UtcDate } from './limit-state.ts';

/** Parts of the table, which grow one by one: to copy all of it at once would block the event loop. */
const SEGMENTS = 256;
/** So that a segment is at most half full. The largest table has 101 MB. */
const MAX_PER_SEGMENT = 4_096;
const MIN_SLOTS = 16;
/** A full segment is searched for accounts that can be dropped once in this time. */
const SWEEP_INTERVAL_MS = 1_000;

/** Numbers of one account: its digest, when it was charged, `missing` then, the day, its units, when it is as if unused. */
const WIDTH = 6;
const [KEY, AT, MISSING, DAY, USED, FRESH_AT] = [0, 1, 2, 3, 4, 5] as const;

/** Where an account is, or would be. */
export interface Place {
  readonly segment: number;
  /** Above 0. */
  readonly key: number;
}

/**
 * The state of up to a million accounts of callers without a key: a rate and the units of the day, in 48 bytes each and the
 * space to find them. An account is dropped only when it is as if unused, so no account gets a fresh share. Digests are
 * salted: nobody can make two accounts that share one.
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
   * Reads the state of an account; one that the table does not have is unused.
   * @returns false: it has no place  @param now by clock.now()
   */
  read({ segment, key }: Place, state: LimitState, now: number, date: UtcDate): boolean {
    if (date.day > this.#day) [this.#day, this.#dayNumber] = [date.day, this.#dayNumber + 1];
    const { numbers, slot, isFound } = this.#segmentAt(segment).find(key);
    if (!isFound && !this.#segmentAt(segment).hasPlace(this.#maxPerSegment, now)) return false;
    setMissing(
      state,
      '',
      isFound ? (numbers[slot + MISSING] as number) : 0,
      isFound ? (numbers[slot + AT] as number) : now,
    );
    state.day = date.day;
    state.dayUsed = isFound && numbers[slot + DAY] === this.#dayNumber ? (numbers[slot + USED] as number) : 0;
    return true;
  }

  /**
   * Stores the state of an account for which `read` returned true in the same turn.
   * @param perSecond units that return; Infinity: it has no rate
   * @param hasQuota whether the units of the day count
   */
  write(
    { segment, key }: Place,
    state: LimitState,
    now: number,
    date: UtcDate,
    perSecond: number,
    hasQuota: boolean,
  ): void {
    const { missing = 0, at = now } = state.buckets.get('') ?? {};
    const fullAt = at + (missing * 1_000) / perSecond;
    const freshAt = hasQuota && state.dayUsed > 0 ? Math.max(fullAt, now + date.dayEndsInS * 1_000) : fullAt;
    this.#segmentAt(segment).set([key, at, missing, this.#dayNumber, state.dayUsed, freshAt]);
  }

  #segmentAt(index: number): Segment {
    return (this.#segments[index] ??= new Segment());
  }
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

  /** Whether an account can be added. Drops others only if they are as if unused. */
  hasPlace(max: number, now: number): boolean {
    const slots = this.#numbers.length / WIDTH;
    if (this.count < max && (this.count + 1) * 4 <= slots * 3) return true;
    if (this.count >= max && now - this.#sweptAt < SWEEP_INTERVAL_MS) return false;
    this.#sweptAt = now;
    this.#rebuild(now);
    return this.count < max;
  }

  set(values: ArrayLike<number>): void {
    const { numbers, slot, isFound } = this.find(values[KEY] as number);
    numbers.set(values, slot);
    if (!isFound) this.count++;
  }

  /** Keeps what is not as if unused, with space for as many. */
  #rebuild(now: number): void {
    const old = this.#numbers;
    const kept: number[] = [];
    for (let slot = 0; slot < old.length; slot += WIDTH) {
      if (old[slot + KEY] !== 0 && (old[slot + FRESH_AT] as number) > now) kept.push(slot);
    }
    let slots = MIN_SLOTS;
    while (slots < 2 * kept.length) slots *= 2;
    this.#numbers = new Float64Array(slots * WIDTH);
    this.count = 0;
    for (const slot of kept) this.set(old.subarray(slot, slot + WIDTH));
  }
}
