import { resolve } from 'node:path';
import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { FileStore } from './file-store.ts';
import { RedisStore } from './redis-store.ts';
import type { Store } from './store.ts';

/** The settings that select a store. */
export type StoreSettings = Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>;

/**
 * Opens the store: Redis if REDIS_URL is set, else a file in DATA_DIR. Does not wait for Redis, and makes no file.
 * @param acceptsReplica for commands, which may read from a replica
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openStore({ REDIS_URL: url, DATA_DIR }: StoreSettings, log: Log, acceptsReplica = false): Store {
  if (url === undefined) return new FileStore(resolve(DATA_DIR), log);
  return new RedisStore({ address: parseRedisUrl(url), log, acceptsReplica });
}
