import { keccak256 } from '../../collections/keccak.ts';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../config/max-entries.ts';
import type { OwnedSteps } from '../../event-loop/owned-steps.ts';
import type { EventLog, LogFilter } from './log-filter.ts';

const BYTES = 256;
/** Cache of bit positions: a hash takes 2 µs, and most blocks have logs of the same few contracts. */
const bitsByValue = new LRUCache<string, readonly number[]>(maxEntries(20_000));

/** Three bits of each address, and of each topic by position. Undefined: any value. */
export type FilterBits = readonly (Uint16Array | undefined)[];

/** Bits of a filter. They are not cached: a filter of 20,000 values would evict those of all others. */
export async function filterBits({ addresses, topics }: LogFilter, steps: OwnedSteps): Promise<FilterBits> {
  const bits: (Uint16Array | undefined)[] = [];
  for (const values of [addresses, ...topics]) {
    const ofValues = values && new Uint16Array(3 * values.size);
    let at = 0;
    for (const value of values ?? []) {
      ofValues?.set(hashToBits(value), at);
      at += 3;
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
    }
    bits.push(ofValues);
  }
  return bits;
}

/** How logs differ from a bloom filter. */
export type BloomDifference = 'none' | 'has-less' | 'has-more';

/** The bloom filter of a block header: which addresses and topics its logs can have (Ethereum Yellow Paper, 4.4.3). */
export class LogsBloom {
  readonly #bytes: Buffer;
  /** Whether no bit is set. This does not prove that there are no logs: zkSync nodes never set a bit. */
  readonly isEmpty: boolean;

  /** @param text 256 bytes in hexadecimal; any other value counts as empty */
  constructor(text: unknown) {
    const bytes = typeof text === 'string' ? Buffer.from(text.slice(2), 'hex') : Buffer.alloc(0);
    this.#bytes = bytes.length === BYTES ? bytes : Buffer.alloc(BYTES);
    this.isEmpty = this.#bytes.every((byte) => byte === 0);
  }

  /** Whether the block may have logs that match a filter of few values. */
  mayMatch({ addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): boolean {
    return [addresses, ...topics].every((values) => values === undefined || this.#hasOneOf(values));
  }

  /** The same for a filter of many values, or for many blocks: 20,000 values take less than 1 ms. */
  mayMatchBits(bits: FilterBits): boolean {
    return bits.every((values) => values === undefined || this.#hasBitsOfOne(values));
  }

  /** Whether the block may have this log. */
  mayContain({ address, topics }: EventLog): boolean {
    return this.#has(address) && topics.every((topic) => this.#has(topic));
  }

  /** Whether these are all logs of the block, or bits of the filter are those of other logs, or a log is not in the filter. */
  async compare(logs: readonly EventLog[], steps: OwnedSteps): Promise<BloomDifference> {
    const bytes = Buffer.alloc(BYTES);
    for (const log of logs) {
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
      if (!this.mayContain(log)) return 'has-more';
      for (const value of [log.address, ...log.topics]) for (const bit of bitsOf(value)) setBit(bytes, bit);
    }
    return bytes.equals(this.#bytes) ? 'none' : 'has-less';
  }

  #hasOneOf(values: ReadonlySet<string>): boolean {
    for (const value of values) if (this.#has(value)) return true;
    return false;
  }

  #hasBitsOfOne(values: Uint16Array): boolean {
    for (let at = 0; at < values.length; at += 3)
      if (this.#hasBit(values[at]) && this.#hasBit(values[at + 1]) && this.#hasBit(values[at + 2])) return true;
    return false;
  }

  #has(value: string): boolean {
    return bitsOf(value).every((bit) => this.#hasBit(bit));
  }

  #hasBit(bit = 0): boolean {
    return ((this.#bytes[BYTES - 1 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0;
  }
}

function setBit(bytes: Buffer, bit: number): void {
  const at = BYTES - 1 - (bit >> 3);
  bytes[at] = (bytes[at] ?? 0) | (1 << (bit & 7));
}

function bitsOf(value: string): readonly number[] {
  let bits = bitsByValue.get(value);
  if (bits === undefined) bitsByValue.set(value, (bits = hashToBits(value)));
  return bits;
}

/** Returns the three bits that an address or a topic sets. @param value in hexadecimal */
export function hashToBits(value: string): number[] {
  const hash = keccak256(Buffer.from(value.slice(2), 'hex'));
  return [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047);
}
