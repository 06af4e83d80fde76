import type { Log } from '../../config/log.ts';
import type { Settings } from '../../config/settings.ts';
import { FileKeyStore } from './file-key-store.ts';
import type { KeyStore } from './key-store.ts';
import { RedisKeyStore } from './redis-key-store.ts';

/** The settings that select a key store. */
export type KeyStoreSettings = Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>;

/** Opens a store; undefined if the settings do not select it. */
type OpenStore = (settings: KeyStoreSettings, log: Log, acceptsReplica: boolean) => KeyStore | undefined;

/** The key stores by kind. The first one that the settings select is used. */
export const keyStores = {
  redis: ({ REDIS_URL: url }, log, acceptsReplica) =>
    url === undefined ? undefined : new RedisKeyStore(url, log, acceptsReplica),
  file: ({ DATA_DIR: folder }, log) => new FileKeyStore(folder, log),
} satisfies Record<string, OpenStore>;

/**
 * Opens the key store of the settings: Redis if REDIS_URL is set, else the key file. Does not wait for Redis.
 * @param acceptsReplica for commands, which may read keys from a replica
 * @throws SettingsError for a malformed REDIS_URL, KeyFileError for an invalid key file
 */
export function openKeyStore(settings: KeyStoreSettings, log: Log, acceptsReplica = false): KeyStore {
  for (const open of Object.values<OpenStore>(keyStores)) {
    const store = open(settings, log, acceptsReplica);
    if (store !== undefined) return store;
  }
  throw new Error('the settings select no key store');
}
