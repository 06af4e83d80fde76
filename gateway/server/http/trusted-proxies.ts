import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressGroup } from '../../auth/formats/address-group.ts';
import { AddressRanges, plainAddress } from '../../config/address-ranges.ts';

/**
 * Determines a client's address, host and scheme. X-Forwarded-… headers are only used if a trusted proxy wrote them,
 * because any client can send them.
 */
export class TrustedProxies {
  readonly #ranges: AddressRanges | undefined;

  /** @param ranges valid by `isAddressRange` */
  constructor(ranges: readonly string[]) {
    if (ranges.length > 0) this.#ranges = new AddressRanges(ranges);
  }

  /** The client's address: the right-most one that is not a trusted proxy's. */
  addressOf(request: IncomingMessage): string {
    const ranges = this.#ranges;
    let address = request.socket.remoteAddress ?? '';
    if (ranges?.has(address) !== true) return address;
    const forwarded = headerOf(request, 'x-forwarded-for');
    for (const entry of forwarded.split(',').reverse()) {
      const next = addressIn(entry.trim());
      // An unreadable entry hides the client, so the proxy that wrote it counts as the client.
      if (next === undefined) return address;
      address = next;
      if (!ranges.has(address)) return address;
    }
    return address;
  }

  /** The client's address, or the network of one customer. */
  addressGroupOf(request: IncomingMessage): string {
    return addressGroup(this.addressOf(request));
  }

  /** The host that the client requested: from the nearest trusted proxy, else from the Host header. */
  hostOf(request: IncomingMessage): string | undefined {
    return this.#forwarded(request, 'x-forwarded-host') || request.headers.host;
  }

  /** The client's scheme, from the nearest trusted proxy. The gateway itself only serves http. */
  schemeOf(request: IncomingMessage): 'http' | 'https' {
    return this.#forwarded(request, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http';
  }

  /** What the nearest proxy wrote into a header; undefined: it is not trusted. */
  #forwarded(request: IncomingMessage, name: string): string | undefined {
    if (this.#ranges?.has(request.socket.remoteAddress ?? '') !== true) return undefined;
    return headerOf(request, name).split(',').at(-1)?.trim();
  }

  /** The origin that the client requested. */
  originOf(request: IncomingMessage): string {
    return `${this.schemeOf(request)}://${this.hostOf(request) ?? 'localhost'}`;
  }
}

/** Joins repeated headers, as Node does for most names. */
function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

/** Some proxies add the port: `192.0.2.7:1234`, `[2001:db8::1]:1234`. */
function addressIn(entry: string): string | undefined {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  return isIP(bare) === 0 ? undefined : plainAddress(bare);
}
