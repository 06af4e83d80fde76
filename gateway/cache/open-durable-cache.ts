import { join, resolve } from 'node:path';
import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { DiskCache } from './disk-cache.ts';
import type { DurableCache } from './durable-cache.ts';
import { RedisCache } from './redis-cache.ts';

export type DurableCacheSettings = Pick<
  Settings,
  'CACHE_MAX_BYTES' | 'CACHE_REDIS_URL' | 'CACHE_DISK_MAX_BYTES' | 'DATA_DIR'
>;

/**
 * Opens the Redis of CACHE_REDIS_URL, or else a file under DATA_DIR; undefined without both, or without a cache in memory.
 * @throws SettingsError for a malformed CACHE_REDIS_URL
 */
export function openDurableCache(settings: DurableCacheSettings, metrics: Metrics, log: Log): DurableCache | undefined {
  const { CACHE_REDIS_URL: url, CACHE_DISK_MAX_BYTES: maxBytes, CACHE_MAX_BYTES } = settings;
  if (CACHE_MAX_BYTES === 0) return undefined;
  if (url !== undefined) {
    const link = new RedisLink({ purpose: 'cache', address: parseRedisUrl(url, 'CACHE_REDIS_URL'), log });
    return new RedisCache(link, metrics.durableCache());
  }
  if (maxBytes === 0) return undefined;
  const cache = new DiskCache(cachePathIn(settings.DATA_DIR), maxBytes, metrics.durableCache(), log);
  metrics.watchValue('gatehouse_cache_disk_bytes', () => cache.bytes);
  return cache;
}

export function cachePathIn(dataDir: string): string {
  return join(resolve(dataDir), 'cache.db');
}
