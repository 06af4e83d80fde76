import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AddressRanges } from '../../config/address-ranges.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { KeyPermissions, Secret } from './permissions.ts';
import { originMatcher } from '../formats/origin-pattern.ts';

/** The facts about a request that are known before its body is read. */
export interface Caller {
  /** Slug of the network. */
  readonly network: string;
  readonly address: string;
  readonly headers: Pick<IncomingHttpHeaders, 'origin' | 'user-agent' | 'authorization'>;
}

/**
 * Checks the permissions of a key that need no request body: expiry, secret, network, origin, user agent and address.
 * Each kind of permission must match; within a kind one matching entry suffices.
 */
export class EntryPermissions {
  readonly #permissions: KeyPermissions;
  readonly #matchesOrigin: ((origin: string) => boolean) | undefined;
  readonly #ranges: AddressRanges | undefined;

  constructor(permissions: KeyPermissions) {
    this.#permissions = permissions;
    if (permissions.origins !== undefined) this.#matchesOrigin = originMatcher(permissions.origins);
    if (permissions.ips !== undefined) this.#ranges = new AddressRanges(permissions.ips);
  }

  /** @throws RpcError key-invalid (expired), secret-invalid, key-settings */
  check({ network, address, headers }: Caller): void {
    const { expiresAt, secrets, networks, userAgents } = this.#permissions;
    if (expiresAt !== undefined && Date.now() >= expiresAt) throw new RpcError('key-invalid');
    if (secrets !== undefined && !isOneOf(secrets, passwordIn(headers.authorization))) {
      throw new RpcError('secret-invalid');
    }
    const agent = headers['user-agent'] ?? '';
    const isAllowed =
      networks?.includes(network) !== false &&
      this.#matchesOrigin?.(headers.origin ?? '') !== false &&
      userAgents?.some((part) => agent.includes(part)) !== false &&
      this.#ranges?.has(address) !== false;
    if (!isAllowed) throw new RpcError('key-settings');
  }
}

/** Reads the password of Basic authentication with an empty user name, as Infura does. */
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
