import { BlockList, isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { maxEntries } from './max-entries.ts';

/** Cached addresses. A hit takes a tenth of a check, in which BlockList creates an object (2.5 µs). */
const MAX_KNOWN = 1_000;

/** Tests whether an address is in a list of addresses and CIDR ranges, IPv4 and IPv6. Ranges are compiled once. */
export class AddressRanges {
  readonly #ranges = new BlockList();
  readonly #known = new LRUCache<string, boolean>(maxEntries(MAX_KNOWN));

  /** @param ranges valid ones, by `isAddressRange` */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const version = isIP(address) === 4 ? 'ipv4' : 'ipv6';
      this.#ranges.addSubnet(address, Number(bits ?? (version === 'ipv4' ? 32 : 128)), version);
    }
  }

  /** @param address from a socket or a header; an IPv4-mapped IPv6 address counts as IPv4 */
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
  // A zone (`%eth0`) names an interface of one machine, and has no meaning in a range.
  if (version === 0 || address.includes('%')) return false;
  return bits === undefined || Number(bits) <= (version === 4 ? 32 : 128);
}

/** The IPv4 address if a dual-stack socket shows it as `::ffff:192.0.2.1`, else the address itself. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
