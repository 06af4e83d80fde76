import { KeyStore } from '../../gateway/auth/stores/key-store.ts';
import { openLog, type Log } from '../../gateway/config/log.ts';
import { openStore, type StoreSettings } from '../../gateway/store/open-store.ts';
import type { Store } from '../../gateway/store/store.ts';

/** Keys with the store that they are in, which `close` closes. */
export type OpenKeys = KeyStore & { readonly store: Store; readonly close: () => Promise<void> };

/** Opens keys as another process does. Does not wait for Redis. */
export function openKeys(
  settings: Partial<StoreSettings>,
  log: Log = openLog('silent'),
  acceptsReplica = false,
): OpenKeys {
  const store = openStore({ REDIS_URL: undefined, DATA_DIR: '', ...settings }, log, acceptsReplica);
  return Object.assign(new KeyStore(store, log), { store, close: () => store.close() });
}
