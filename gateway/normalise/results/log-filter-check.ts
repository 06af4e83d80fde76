import { valuesOf, type FilterParams, type LogValues } from '../../chain/logs/log-filter.ts';
import type { JsonReader } from '../../json/json-reader.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import { isQuantity } from './quantity.ts';

/** The members of a log that are checked. A `Layout` has the position of its member in this list. */
export const checkedMembers = [
  'blockNumber',
  'blockHash',
  'address',
  'logIndex',
  'topics',
  'removed',
  'transactionIndex',
  'transactionHash',
] as const;
/** The first of them often have the value of the log before. */
export const REPEATED_MEMBERS = 3;
const [NUMBER, HASH, ADDRESS, INDEX, TOPICS, REMOVED, TRANSACTION, TRANSACTION_HASH] = [
  0, 1, 2, 3, 4, 5, 6, 7,
] as const;

const [QUOTE, ZERO, NINE, LOWER_T, LOWER_X] = [34, 48, 57, 116, 120] as const;
/** Difference from a letter in lower case to its hexadecimal value. */
const HEX_OFFSET = 87;
const MAX_DIGITS = 64;
/** A topic in quotes. */
const TOPIC_BYTES = 68;
/** Addresses and topics by position, each found by its last two digits. */
const [KINDS, SLOTS] = [5, 256] as const;

const anyValues: LogValues = { addresses: undefined, topics: [] };

/**
 * Compares the logs of a list with their filter while they are read: range, addresses and topics, of which any other value is an
 * error, also if the chain has two forms of one address; then their order, which all nodes of a chain may have wrong. Bytes are
 * compared with those of the log before and of values that were allowed before, because most logs have the same ones.
 */
export class LogFilterCheck {
  readonly #params: FilterParams;
  readonly #from: number;
  readonly #to: number;
  #values: LogValues | undefined;
  /** The bytes with the logs that are read. */
  #bytes: Buffer | undefined;
  /** Start and end of each checked member in a log: the one that is read, and the one before. End 0: unknown. */
  places = new Int32Array(2 * checkedMembers.length);
  #before = new Int32Array(2 * checkedMembers.length);
  /** Bits of the members that have the bytes of the log before. */
  #repeated = 0;
  /** Positions of allowed addresses and topics in the bytes. 0: none. */
  #allowed = new Int32Array(0);
  /** The log before; its hash only if its bytes are not there. */
  #last = { number: -1, transaction: NaN, index: -1, hash: undefined as unknown, isIrregular: false };

  private constructor(params: FilterParams) {
    this.#params = params;
    this.#from = boundIn(params.fromBlock, -Infinity);
    this.#to = boundIn(params.toBlock, Infinity);
  }

  /** Check of a filter; undefined: the result is no list of logs, or may have pending ones. */
  static of({ resultIs, splits }: MethodSpec, params: readonly unknown[]): LogFilterCheck | undefined {
    if (resultIs !== 'logs' || splits === undefined) return undefined;
    const filter = (params[splits] ?? {}) as FilterParams;
    const isPending = filter.fromBlock === 'pending' || filter.toBlock === 'pending';
    return isPending ? undefined : new LogFilterCheck(filter);
  }

  /** Whether logs are out of order, have one place, no place or a removed log, or a height has two hashes. */
  get isIrregular(): boolean {
    return this.#last.isIrregular;
  }

  /** Whether a parsed log fits the filter. */
  fits(log: Readonly<Record<string, unknown>>): boolean {
    const { blockNumber, blockHash, transactionHash, transactionIndex, logIndex, address, removed, topics } = log;
    const filter = this.#allowedValues();
    if (filter.addresses !== undefined && !has(filter.addresses, address)) return false;
    const given = Array.isArray(topics) ? (topics as readonly unknown[]) : [];
    if (filter.topics.some((values, at) => values !== undefined && !has(values, given[at]))) return false;
    const number = numberIn(blockNumber);
    if (!this.#isInRange(number)) return false;
    const isSameBlock = number === this.#last.number && blockHash === this.#lastHash();
    const hasHashes = typeof blockHash === 'string' && typeof transactionHash === 'string';
    const isPlaced = hasHashes && removed !== true;
    this.#follow(number, numberIn(transactionIndex), numberIn(logIndex), isSameBlock, isPlaced);
    this.#last.hash = blockHash;
    this.#before.fill(0);
    return true;
  }

  /** Prepares for logs in other bytes. */
  enter(bytes: Buffer): void {
    this.#repeated = 0;
    if (bytes === this.#bytes) return;
    this.#last.hash = this.#lastHash();
    this.#before.fill(0);
    this.#allowed = new Int32Array(KINDS * SLOTS);
    this.#bytes = bytes;
  }

  /** Moves the reader after a value of the log before, if it is there again. */
  skipRepeated(member: number, reader: JsonReader): boolean {
    const { at } = reader;
    const start = this.#before[2 * member] as number;
    const length = (this.#before[2 * member + 1] as number) - start;
    if (!reader.isSame(start, at, length)) {
      // The log may have the member twice: the last value counts.
      this.#repeated &= ~(1 << member);
      return false;
    }
    this.#repeated |= 1 << member;
    this.places[2 * member] = at;
    this.places[2 * member + 1] = reader.at = at + length;
    return true;
  }

  /** Ends a log with all members. @returns false: it does not fit the filter, or must be parsed */
  leaveLog(reader: JsonReader): boolean {
    const { places } = this;
    const { bytes } = reader;
    const { addresses, topics } = this.#allowedValues();
    const last = this.#last;
    if (addresses !== undefined && !this.#isRepeated(ADDRESS)) {
      const end = places[2 * ADDRESS + 1] as number;
      if (!this.#isAllowed(reader, addresses, 0, places[2 * ADDRESS] as number, end)) return false;
    }
    for (let index = 0; index < topics.length; index++) {
      const values = topics[index];
      if (values === undefined) continue;
      const start = (places[2 * TOPICS] as number) + 1 + index * (TOPIC_BYTES + 1);
      const end = start + TOPIC_BYTES;
      if (end >= (places[2 * TOPICS + 1] as number) || !this.#isAllowed(reader, values, 1 + index, start, end))
        return false;
    }
    const number = this.#isRepeated(NUMBER) ? last.number : hexAt(bytes, places[2 * NUMBER] as number);
    if (!this.#isInRange(number)) return false;
    const isSameBlock = number === last.number && (this.#isRepeated(HASH) || this.#hasLastHash(bytes));
    const hasHashes = this.#isText(bytes, HASH) && this.#isText(bytes, TRANSACTION_HASH);
    const isPlaced = hasHashes && bytes[places[2 * REMOVED] as number] !== LOWER_T;
    const transaction = hexAt(bytes, places[2 * TRANSACTION] as number);
    this.#follow(number, transaction, hexAt(bytes, places[2 * INDEX] as number), isSameBlock, isPlaced);
    this.places = this.#before;
    this.#before = places;
    this.#repeated = 0;
    return true;
  }

  /** The outcome of the list. In order, it stays. Otherwise another upstream may have it in order. */
  settle(outcome: Outcome): Outcome {
    if (!this.isIrregular || !outcome.final) return outcome;
    const { response } = outcome;
    return { final: false, failure: 'unknown', response, isIrregular: true, detail: 'logs are not in order' };
  }

  #isRepeated(member: number): boolean {
    return (this.#repeated & (1 << member)) !== 0;
  }

  #isText(bytes: Buffer, member: number): boolean {
    return bytes[this.places[2 * member] as number] === QUOTE;
  }

  /** A number that is not known is in every range. */
  #isInRange(number: number): boolean {
    return !(number < this.#from || number > this.#to);
  }

  /** Whether a value is one of the filter. @param kind 0: address; else the position of a topic, from 1 */
  #isAllowed(reader: JsonReader, values: ReadonlySet<string>, kind: number, start: number, end: number): boolean {
    const { bytes } = reader;
    const slot = kind * SLOTS + (((bytes[end - 3] ?? 0) & 15) << 4) + ((bytes[end - 2] ?? 0) & 15);
    const before = this.#allowed[slot] as number;
    if (before > 0 && reader.isSame(before, start, end - start)) return true;
    if (bytes[end - 1] !== QUOTE || !has(values, textIn(bytes, start, end))) return false;
    this.#allowed[slot] = start;
    return true;
  }

  /**
   * Some chains count the index in the transaction.
   * @param transaction as `index`: NaN if the log does not name it
   * @param isPlaced the log names its block and transaction, and is not removed
   */
  #follow(number: number, transaction: number, index: number, isSameBlock: boolean, isPlaced: boolean): void {
    const last = this.#last;
    const isLaterInBlock = transaction > last.transaction || (index > last.index && !(transaction < last.transaction));
    const isLater = number > last.number || (isSameBlock && isLaterInBlock);
    if (!isLater || !isPlaced || Number.isNaN(transaction + index)) last.isIrregular = true;
    last.number = number;
    last.transaction = transaction;
    last.index = index;
  }

  /** Hash of the log before. */
  #lastHash(): unknown {
    const end = this.#before[2 * HASH + 1] as number;
    if (end === 0 || this.#bytes === undefined) return this.#last.hash;
    return textIn(this.#bytes, this.#before[2 * HASH] as number, end);
  }

  /** Whether the hash is that of the log before. If its bytes are there, the hash is another one. */
  #hasLastHash(bytes: Buffer): boolean {
    if ((this.#before[2 * HASH + 1] as number) > 0) return false;
    return this.#last.hash === textIn(bytes, this.places[2 * HASH] as number, this.places[2 * HASH + 1] as number);
  }

  /** Values that the filter allows, if it has not more topics than a log. They are read once for each list that is not empty. */
  #allowedValues(): LogValues {
    return (this.#values ??= valuesOf(this.#params) ?? anyValues);
  }
}

/** The values are in lower case. */
function has(values: ReadonlySet<string>, value: unknown): boolean {
  return typeof value === 'string' && (values.has(value) || values.has(value.toLowerCase()));
}

/** Text without quotes. */
function textIn(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start + 1, end - 1);
}

function numberIn(value: unknown): number {
  return isQuantity(value) ? Number(value) : NaN;
}

/** The quantity in a text with quotes, as `numberIn` reads it; NaN: there is none. */
function hexAt(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE || bytes[start + 1] !== ZERO || bytes[start + 2] !== LOWER_X) return NaN;
  let value = 0;
  let at = start + 3;
  for (; bytes[at] !== QUOTE; at++) {
    // After the last byte there is no digit.
    const byte = bytes[at] ?? 0;
    const isLetter = byte > NINE;
    const digit = isLetter ? (byte | 32) - HEX_OFFSET : byte - ZERO;
    if (digit < (isLetter ? 10 : 0) || digit > 15) return NaN;
    value = value * 16 + digit;
  }
  const digits = at - start - 3;
  return digits > 0 && digits <= MAX_DIGITS ? value : NaN;
}

/** @param otherwise for tags, whose blocks are not known here */
function boundIn(block: string | null | undefined, otherwise: number): number {
  if (block === 'earliest') return 0;
  return isQuantity(block) ? Number(block) : otherwise;
}
