import { onTestFinished } from 'vitest';
import { openStore, type StoreSettings } from '../../gateway/store/open-store.ts';
import { UsageStore } from '../../gateway/usage/usage-store.ts';
import { silent } from '../auth/auth-setup.ts';

/** Opens the usage in a store for one test. */
export async function openUsage(settings: StoreSettings): Promise<UsageStore> {
  const store = openStore(settings, silent);
  onTestFinished(() => store.close());
  await store.waitUntilReady(10_000);
  return new UsageStore(store, silent);
}
