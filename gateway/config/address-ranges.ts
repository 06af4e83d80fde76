import { BlockList, isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { maxEntries } from './max-entries.ts';

/** Looked up again, an address costs a tenth: a BlockList makes an object of each (2.5 µs). */
const knownMax = 1_000;

/** Addresses and CIDR ranges, of both versions of IP, compiled once. */
export class AddressRanges {
  readonly #ranges = new BlockList();
  readonly #known = new LRUCache<string, boolean>(maxEntries(knownMax));

  /** @param ranges each of which `isAddressRange` */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const version = isIP(address) === 4 ? 'ipv4' : 'ipv6';
      this.#ranges.addSubnet(address, Number(bits ?? (version === 'ipv4' ? 32 : 128)), version);
    }
  }

  /** @param address as a socket or a header tells it; IPv4 in IPv6's clothes counts as IPv4 */
  has(address: string): boolean {
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const found = this.#check(address);
    this.#known.set(address, found);
    return found;
  }

  #check(address: string): boolean {
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && this.#ranges.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

/** `10.0.0.0/8`, `2001:db8::/32`, or a single address. */
export function isAddressRange(text: string): boolean {
  const [, address = '', bits] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  // A zone names an interface of one machine; in a range it means nothing.
  if (version === 0 || address.includes('%')) return false;
  return bits === undefined || Number(bits) <= (version === 4 ? 32 : 128);
}

/** The caller's IPv4 address where a dual-stack socket shows it as `::ffff:192.0.2.1`. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
