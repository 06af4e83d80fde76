import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { Limiter } from './limiter.ts';

/** A call waits no longer for its limits; a connection of their own, so that no look-up of a key is cut short by it. */
const commandTimeoutMs = 100;

/** @throws SettingsError for a malformed REDIS_URL */
export function openLimiter(
  { REDIS_URL: url, QUOTAS_WITHOUT_REDIS: quotas }: Pick<Settings, 'REDIS_URL' | 'QUOTAS_WITHOUT_REDIS'>,
  log: Log,
): Limiter {
  const link =
    url === undefined
      ? undefined
      : new RedisLink({ purpose: 'limits', address: parseRedisUrl(url), log, commandTimeoutMs });
  return new Limiter({ link, quotasFailOpen: quotas === 'open', log });
}
