import { keccak_256 } from '@noble/hashes/sha3.js';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../config/max-entries.ts';
import type { Log, LogFilter } from './log-filter.ts';

const BYTES = 256;
/** Hashing costs 10 µs; most blocks have logs of the same few contracts. */
const bitsByValue = new LRUCache<string, readonly number[]>(maxEntries(20_000));

/** What a block's header says of its logs: which addresses and topics can be among them (yellow paper, 4.4.3). */
export class LogsBloom {
  readonly #bytes: Buffer;
  /** No bit is set. Some nodes never set any (zkSync), so that it does not prove that there are no logs. */
  readonly isEmpty: boolean;

  /** @param text 256 bytes in hexadecimal; anything else counts as empty */
  constructor(text: unknown) {
    const bytes = typeof text === 'string' ? Buffer.from(text.slice(2), 'hex') : Buffer.alloc(0);
    this.#bytes = bytes.length === BYTES ? bytes : Buffer.alloc(BYTES);
    this.isEmpty = this.#bytes.every((byte) => byte === 0);
  }

  /** Whether there may be logs that a filter lets through. */
  mayMatch({ addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): boolean {
    return [addresses, ...topics].every((place) => place === undefined || this.#hasOneOf(place));
  }

  /** Whether it is of a block with this log. */
  mayContain({ address, topics }: Log): boolean {
    return this.#has(address) && topics.every((topic) => this.#has(topic));
  }

  #hasOneOf(values: ReadonlySet<string>): boolean {
    for (const value of values) if (this.#has(value)) return true;
    return false;
  }

  #has(value: string): boolean {
    let bits = bitsByValue.get(value);
    if (bits === undefined) bitsByValue.set(value, (bits = hashToBits(value)));
    return bits.every((bit) => ((this.#bytes[BYTES - 1 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0);
  }
}

/** The three bits that an address or a topic sets. @param value in hexadecimal */
export function hashToBits(value: string): number[] {
  const hash = keccak_256(Buffer.from(value.slice(2), 'hex'));
  return [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047);
}
