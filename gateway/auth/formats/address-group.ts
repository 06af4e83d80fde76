import { plainAddress } from '../../config/address-ranges.ts';

/**
 * Returns the group by which abuse is limited: an IPv4 address, or the /64 network of an IPv6 address, because one
 * customer has all 2⁶⁴ addresses of a /64.
 */
export function addressGroup(address: string): string {
  return addressPrefix(address, 32, 64);
}

/** The first bits of an address, by which it is counted. An IPv4-mapped IPv6 address counts as IPv4. */
export function addressPrefix(address: string, ipv4Bits: number, ipv6Bits: number): string {
  const plain = plainAddress(address);
  if (plain.includes(':')) return ipv6Prefix(plain, ipv6Bits);
  if (ipv4Bits === 32) return plain;
  const parts = plain.split('.').map(Number);
  return parts.map((part, index) => part & mask(ipv4Bits - 8 * index, 8)).join('.');
}

/** Whether an address is of IPv6, and not one that only shows an IPv4 address. */
export function isIpv6(address: string): boolean {
  return plainAddress(address).includes(':');
}

function ipv6Prefix(address: string, bits: number): string {
  const [head = '', tail] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last];
  return groups
    .slice(0, Math.ceil(bits / 16))
    .map((group, index) => (Number.parseInt(group, 16) & mask(bits - 16 * index, 16)).toString(16))
    .join(':');
}

/** The first `bits` of a number with `width` bits. */
function mask(bits: number, width: number): number {
  return bits >= width ? 2 ** width - 1 : 2 ** width - 2 ** (width - Math.max(0, bits));
}
