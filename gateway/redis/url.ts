import type { RedisOptions } from 'ioredis';
import { parseUrl } from '../config/parse-url.ts';
import { SettingsError } from '../config/settings.ts';

/** Address of a Redis server, Sentinel group or cluster, with credentials. */
export type RedisAddress = Pick<
  RedisOptions,
  'host' | 'port' | 'path' | 'family' | 'db' | 'username' | 'password' | 'tls'
> & {
  /** Sentinels, which know the primary of the group `name`. */
  readonly sentinels?: readonly HostPort[];
  readonly name?: string;
  readonly sentinelPassword?: string;
  /** Some nodes of a cluster, from which the others are discovered. */
  readonly cluster?: readonly HostPort[];
};

interface HostPort {
  readonly host: string;
  readonly port: number;
}

const expected =
  'expected redis://[user:password@]host[:port][/database], rediss:// for TLS, the path of a socket, ' +
  'redis+sentinel://host[:port],host[:port]…/name[/database] or redis+cluster://host[:port],host[:port]…';

/** The URL is malformed. The message does not repeat it, because it may contain a password. */
class InvalidUrl extends Error {}

/**
 * Parses a Redis URL. ioredis' own parser lets `?option=…` override the gateway's options, and takes a mistyped scheme
 * for a host name.
 * @param setting name of the setting that has the URL
 * @throws SettingsError that does not repeat the URL
 */
export function parseRedisUrl(text: string, setting = 'REDIS_URL'): RedisAddress {
  try {
    return addressIn(text);
  } catch (error) {
    throw error instanceof InvalidUrl ? new SettingsError([`${setting}: ${error.message}`]) : error;
  }
}

function addressIn(text: string): RedisAddress {
  if (text.startsWith('/')) return { path: text };
  const [, scheme = '', kind, user = '', hosts = '', path = '', query = ''] =
    /^(rediss?)(?:\+(sentinel|cluster))?:\/\/([^/?#]*@)?([^/?#@]+)(\/[^?#]*)?(\?[^#]*)?$/.exec(text) ?? [];
  const addresses = hosts.split(',').map((host) => parseHost(host, user, kind === 'sentinel' ? 26_379 : 6379));
  const [first] = addresses;
  if (first === undefined) throw new InvalidUrl(expected);
  const common = { ...credentials(user), ...(scheme === 'rediss' && { tls: {} }) };
  if (kind === 'sentinel') {
    const [, name = '', database = ''] = /^\/([^/]+)(?:\/(\d{0,5}))?$/.exec(path) ?? [];
    if (name === '') throw new InvalidUrl(expected);
    const { sentinelPassword, ...family } = options(query, ['family', 'sentinelPassword']);
    const known = sentinelPassword === undefined ? {} : { sentinelPassword };
    return { sentinels: addresses, name: decode(name), db: Number(database), ...common, ...familyOf(family), ...known };
  }
  const database = /^\/?(\d{0,5})$/.exec(path)?.[1];
  const others = familyOf(options(query, ['family']));
  if (kind === 'cluster') {
    // A cluster has only database 0.
    if (Number(database) !== 0) throw new InvalidUrl(expected);
    return { cluster: addresses, ...common, ...others };
  }
  if (addresses.length > 1 || database === undefined) throw new InvalidUrl(expected);
  return { ...first, db: Number(database), ...common, ...others };
}

/** Parses with the URL class, which validates host and port. */
function parseHost(host: string, user: string, defaultPort: number): HostPort {
  const { hostname = '', port = '' } = parseUrl(`redis://${user}${host}`) ?? {};
  if (hostname === '') throw new InvalidUrl(expected);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) };
}

function credentials(user: string): RedisAddress {
  const { username, password } = new URL(`redis://${user}host`);
  return {
    ...(username !== '' && { username: decode(username) }),
    ...(password !== '' && { password: decode(password) }),
  };
}

function options(query: string, known: readonly string[]): Record<string, string | undefined> {
  const given = new URLSearchParams(query);
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const names = known.map((name) => `?${name}=`).join(' and ');
    throw new InvalidUrl(`unknown option ?${unknown}=; known: ${names}`);
  }
  return Object.fromEntries(given);
}

/** `?family=0|4|6`, which hosting providers with private IPv6 networks require. */
function familyOf({ family }: Record<string, string | undefined>): RedisAddress {
  if (family === undefined) return {};
  if (!['0', '4', '6'].includes(family)) throw new InvalidUrl('expected ?family=0, 4 or 6');
  return { family: Number(family) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new InvalidUrl(`${expected}; write a % in user or password as %25`);
  }
}
