import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { Limiter } from './limiter.ts';

/**
 * Opens the limiter: with its own Redis connection if REDIS_URL is set, so that its timeout does not apply to key lookups.
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openLimiter(
  {
    REDIS_URL: url,
    QUOTAS_WITHOUT_REDIS: quotas,
    LIMITS_TIMEOUT_MS: commandTimeoutMs,
  }: Pick<Settings, 'REDIS_URL' | 'QUOTAS_WITHOUT_REDIS' | 'LIMITS_TIMEOUT_MS'>,
  log: Log,
): Limiter {
  const prepare = (): Promise<void> => limiter.restore();
  const link =
    url === undefined
      ? undefined
      : new RedisLink({ purpose: 'limits', address: parseRedisUrl(url), log, commandTimeoutMs, prepare });
  const limiter: Limiter = new Limiter({ link, shouldServeWithoutRedis: quotas === 'open', log });
  return limiter;
}
