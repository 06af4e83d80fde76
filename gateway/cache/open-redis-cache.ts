import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import type { RedisCacheMetric } from '../metrics/cache-metrics.ts';
import { RedisCache } from './redis-cache.ts';

/** @returns undefined without CACHE_REDIS_URL @throws SettingsError for a malformed CACHE_REDIS_URL */
export function openRedisCache(
  { CACHE_REDIS_URL: url }: Pick<Settings, 'CACHE_REDIS_URL'>,
  count: RedisCacheMetric,
  log: Log,
): RedisCache | undefined {
  if (url === undefined) return undefined;
  return new RedisCache(
    new RedisLink({ purpose: 'cache', address: parseRedisUrl(url, 'CACHE_REDIS_URL'), log }),
    count,
  );
}
