import type { RedisOptions } from 'ioredis';
import { SettingsError } from '../config/settings.ts';

/** Where a Redis is, and who we are to it. */
export type RedisAddress = Pick<
  RedisOptions,
  'host' | 'port' | 'path' | 'family' | 'db' | 'username' | 'password' | 'tls'
>;

const expected =
  'REDIS_URL: expected redis://[user:password@]host[:port][/database], rediss:// for TLS, or the path of a socket';

/**
 * Reads `REDIS_URL`. ioredis would read it too, but takes `?option=…` from it before our own options, and a mistyped
 * scheme for a host name.
 * @throws SettingsError that does not repeat the URL: it may contain a password.
 */
export function parseRedisUrl(text: string): RedisAddress {
  if (text.startsWith('/')) return { path: text };
  if (!URL.canParse(text)) throw new SettingsError([expected]);
  const url = new URL(text);
  const database = /^\/?(\d{0,5})$/.exec(url.pathname);
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || database === null) {
    throw new SettingsError([expected]);
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    db: Number(database[1]),
    ...(url.username !== '' && { username: decode(url.username) }),
    ...(url.password !== '' && { password: decode(url.password) }),
    ...(url.protocol === 'rediss:' && { tls: {} }),
    ...family(url.searchParams),
  };
}

/** `?family=0|4|6` is what hosters of private IPv6 networks tell their customers to add; nothing else is known. */
function family(query: URLSearchParams): RedisAddress {
  const unknown = [...query.keys()].find((name) => name !== 'family');
  if (unknown !== undefined)
    throw new SettingsError([`REDIS_URL: the option ?${unknown}= is not known, only ?family=`]);
  const value = query.get('family');
  if (value === null) return {};
  if (!['0', '4', '6'].includes(value)) throw new SettingsError(['REDIS_URL: expected ?family=0, 4 or 6']);
  return { family: Number(value) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new SettingsError([`${expected}; a % in user or password is written %25`]);
  }
}
