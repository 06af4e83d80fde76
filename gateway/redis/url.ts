import type { RedisOptions } from 'ioredis';
import { SettingsError } from '../config/settings.ts';

/** Where a Redis is, and who we are to it. */
export type RedisAddress = Pick<
  RedisOptions,
  'host' | 'port' | 'path' | 'family' | 'db' | 'username' | 'password' | 'tls'
> & {
  /** Sentinels, to be asked for the Redis that leads under `name`. */
  readonly sentinels?: readonly HostPort[];
  readonly name?: string;
  readonly sentinelPassword?: string;
  /** Nodes of a cluster, to be asked for the others. */
  readonly cluster?: readonly HostPort[];
};

interface HostPort {
  readonly host: string;
  readonly port: number;
}

const expected =
  'expected redis://[user:password@]host[:port][/database], rediss:// for TLS, the path of a socket, ' +
  'redis+sentinel://host[:port],host[:port]…/name[/database] or redis+cluster://host[:port],host[:port]…';

/** Does not repeat the URL: it may contain a password. */
class InvalidUrl extends Error {}

/**
 * Reads a Redis' URL. ioredis would read it too, but takes `?option=…` from it before our own options, and a mistyped
 * scheme for a host name.
 * @param setting that it is the value of
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
  const places = hosts.split(',').map((host) => parseHost(host, user, kind === 'sentinel' ? 26_379 : 6379));
  const [first] = places;
  if (first === undefined) throw new InvalidUrl(expected);
  const common = { ...credentials(user), ...(scheme === 'rediss' && { tls: {} }) };
  if (kind === 'sentinel') {
    const [, name = '', database = ''] = /^\/([^/]+)(?:\/(\d{0,5}))?$/.exec(path) ?? [];
    if (name === '') throw new InvalidUrl(expected);
    const { sentinelPassword, ...family } = options(query, ['family', 'sentinelPassword']);
    const known = sentinelPassword === undefined ? {} : { sentinelPassword };
    return { sentinels: places, name: decode(name), db: Number(database), ...common, ...familyOf(family), ...known };
  }
  const database = /^\/?(\d{0,5})$/.exec(path)?.[1];
  const others = familyOf(options(query, ['family']));
  if (kind === 'cluster') {
    // A cluster has one database only.
    if (Number(database) !== 0) throw new InvalidUrl(expected);
    return { cluster: places, ...common, ...others };
  }
  if (places.length > 1 || database === undefined) throw new InvalidUrl(expected);
  return { ...first, db: Number(database), ...common, ...others };
}

/** By way of a URL, which knows what a host is. */
function parseHost(host: string, user: string, defaultPort: number): HostPort {
  const text = `redis://${user}${host}`;
  if (host === '' || !URL.canParse(text)) throw new InvalidUrl(expected);
  const { hostname, port } = new URL(text);
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
    throw new InvalidUrl(`the option ?${unknown}= is not known, only ${names}`);
  }
  return Object.fromEntries(given);
}

/** `?family=0|4|6` is what hosters of private IPv6 networks tell their customers to add. */
function familyOf({ family }: Record<string, string | undefined>): RedisAddress {
  if (family === undefined) return {};
  if (!['0', '4', '6'].includes(family)) throw new InvalidUrl('expected ?family=0, 4 or 6');
  return { family: Number(family) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new InvalidUrl(`${expected}; a % in user or password is written %25`);
  }
}
