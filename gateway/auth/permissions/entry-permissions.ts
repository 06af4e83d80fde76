import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AddressRanges } from '../../config/address-ranges.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { KeyPermissions, Secret } from './permissions.ts';
import { originMatcher } from '../formats/origin-pattern.ts';

/** Who comes with a key, and what for: all that is known before the body is read. */
export interface Caller {
  /** Slug of the network. */
  readonly network: string;
  readonly address: string;
  readonly headers: Pick<IncomingHttpHeaders, 'origin' | 'user-agent' | 'authorization'>;
}

/** What a key demands of whoever comes with it. Entries of one kind are alternatives, kinds must all be met. */
export class EntryPermissions {
  readonly #permissions: KeyPermissions;
  readonly #fitsOrigin: ((origin: string) => boolean) | undefined;
  readonly #ranges: AddressRanges | undefined;

  constructor(permissions: KeyPermissions) {
    this.#permissions = permissions;
    if (permissions.origins !== undefined) this.#fitsOrigin = originMatcher(permissions.origins);
    if (permissions.ips !== undefined) this.#ranges = new AddressRanges(permissions.ips);
  }

  /** @throws RpcError key-invalid (its time is over), secret-invalid, key-settings */
  check({ network, address, headers }: Caller): void {
    const { expiresAt, secrets, networks, userAgents } = this.#permissions;
    if (expiresAt !== undefined && Date.now() >= expiresAt) throw new RpcError('key-invalid');
    if (secrets !== undefined && !isOneOf(secrets, passwordIn(headers.authorization))) {
      throw new RpcError('secret-invalid');
    }
    const agent = headers['user-agent'] ?? '';
    const fits =
      networks?.includes(network) !== false &&
      this.#fitsOrigin?.(headers.origin ?? '') !== false &&
      userAgents?.some((part) => agent.includes(part)) !== false &&
      this.#ranges?.has(address) !== false;
    if (!fits) throw new RpcError('key-settings');
  }
}

/** Basic authentication with an empty user, as with Infura. */
function passwordIn(authorization = ''): string | undefined {
  const [, base64] = /^basic +([a-z0-9+/_-]+=*)$/i.exec(authorization) ?? [];
  const text = base64 === undefined ? '' : Buffer.from(base64, 'base64').toString();
  return text.startsWith(':') ? text.slice(1) : undefined;
}

function isOneOf(secrets: readonly Secret[], given: string | undefined): boolean {
  if (given === undefined) return false;
  const digest = hash('sha256', given, 'buffer');
  const now = Date.now();
  return secrets.some((secret) => timingSafeEqual(secret.digest, digest) && now < secret.deadline);
}
