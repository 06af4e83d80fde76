import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { AddressRanges, plainAddress } from '../../config/address-ranges.ts';

/**
 * Whom we believe what they say of a caller. Anybody can send an X-Forwarded-For: it counts only as far as proxies of
 * ours wrote it.
 */
export class TrustedProxies {
  readonly #ranges: AddressRanges | undefined;

  /** @param ranges each of which `isAddressRange` */
  constructor(ranges: readonly string[]) {
    if (ranges.length > 0) this.#ranges = new AddressRanges(ranges);
  }

  /** The caller's address: the right-most that is no proxy of ours. */
  addressOf(request: IncomingMessage): string {
    const ranges = this.#ranges;
    let address = request.socket.remoteAddress ?? '';
    if (ranges?.has(address) !== true) return address;
    const forwarded = headerOf(request, 'x-forwarded-for');
    for (const entry of forwarded.split(',').reverse()) {
      const next = addressIn(entry.trim());
      // What cannot be read hides who came: then it is the proxy that told us so.
      if (next === undefined) return address;
      address = next;
      if (!ranges.has(address)) return address;
    }
    return address;
  }

  /** The host that the caller asked for: what the nearest proxy says, else the Host header. */
  hostOf(request: IncomingMessage): string | undefined {
    const { host } = request.headers;
    if (this.#ranges?.has(request.socket.remoteAddress ?? '') !== true) return host;
    return headerOf(request, 'x-forwarded-host').split(',').at(-1)?.trim() || host;
  }

  /** How the caller asked: as the nearest proxy says. We speak plain HTTP ourselves. */
  schemeOf(request: IncomingMessage): 'http' | 'https' {
    if (this.#ranges?.has(request.socket.remoteAddress ?? '') !== true) return 'http';
    const scheme = headerOf(request, 'x-forwarded-proto').split(',').at(-1)?.trim().toLowerCase();
    return scheme === 'https' ? 'https' : 'http';
  }
}

/** Node joins what comes several times. */
function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

/** Some proxies add the port: `192.0.2.7:1234`, `[2001:db8::1]:1234`. */
function addressIn(entry: string): string | undefined {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  return isIP(bare) === 0 ? undefined : plainAddress(bare);
}
