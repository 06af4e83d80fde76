import type { Log } from '../../config/log.ts';
import type { Settings } from '../../config/settings.ts';
import { FileKeyStore } from './file-key-store.ts';
import type { KeyStore } from './key-store.ts';
import { RedisKeyStore } from './redis-key-store.ts';

/**
 * Opens the key store of the settings: Redis if REDIS_URL is set, else the key file. Does not wait for Redis.
 * @throws SettingsError for a malformed REDIS_URL, KeyFileError for an invalid key file
 */
export function openKeyStore(settings: Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>, log: Log): KeyStore {
  return settings.REDIS_URL === undefined
    ? new FileKeyStore(settings.DATA_DIR, log)
    : new RedisKeyStore(settings.REDIS_URL, log);
}
