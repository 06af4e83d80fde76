import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { FileUsageStore } from './file-usage-store.ts';
import { RedisUsageStore } from './redis-usage-store.ts';
import type { ListedUsageStore } from './usage-store.ts';

/**
 * Opens the usage store: Redis if REDIS_URL is set, else files.
 * @param acceptsReplica for commands, which may read usage from a replica
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openUsageStore(
  { REDIS_URL: url, DATA_DIR }: Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>,
  log: Log,
  acceptsReplica = false,
): ListedUsageStore {
  if (url === undefined) return new FileUsageStore(DATA_DIR, log);
  const address = parseRedisUrl(url);
  return new RedisUsageStore(new RedisLink({ purpose: 'usage', address, log, autoPipelining: true, acceptsReplica }));
}
