import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';
import type { KeyStore } from '../../../gateway/auth/stores/key-store.ts';
import { keyStores, openKeyStore, type KeyStoreSettings } from '../../../gateway/auth/stores/open-key-store.ts';
import { startRedis } from '../../support/redis.ts';
import { keyStoreContract } from './key-store.contract.ts';

const stores = 'gateway/auth/stores';
const thisFile = 'test/auth/stores/key-stores.redis.test.ts';
const log = pino({ level: 'silent' });
const kinds: readonly string[] = Object.keys(keyStores);

interface Server {
  readonly settings: Partial<KeyStoreSettings>;
  readonly stop: () => Promise<void>;
}

/** Starts the server of a store that needs one, with the settings that select the store. */
const servers: Readonly<Partial<Record<string, () => Promise<Server>>>> = {
  redis: async () => {
    const { url, stop } = await startRedis();
    return { settings: { REDIS_URL: url }, stop };
  },
};

/** Storage for one test: a folder, and a server if the store needs one. `DATA_DIR` ends in `.<kind>`, for stores selected by it. */
async function makeStorage(kind: string): Promise<{ settings: KeyStoreSettings; remove: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const server = await servers[kind]?.();
  return {
    settings: { REDIS_URL: undefined, DATA_DIR: join(folder, `data.${kind}`), ...server?.settings },
    remove: async () => {
      rmSync(folder, { recursive: true });
      await server?.stop();
    },
  };
}

function open(kind: string, settings: KeyStoreSettings): KeyStore {
  const store = openKeyStore(settings, log);
  const step = `correct its condition in ${stores}/open-key-store.ts, or add its settings to \`servers\` in ${thisFile}`;
  expect(store.kind, `the settings of this test do not select the key store ${kind}: ${step}`).toBe(kind);
  return store;
}

for (const kind of kinds) {
  keyStoreContract(kind, async () => {
    const { settings, remove } = await makeStorage(kind);
    return { open: async () => Promise.resolve(open(kind, settings)), remove };
  });
}

describe('the table of key stores', () => {
  it('has each store of the folder', () => {
    const files = readdirSync(join(packageRoot, stores)).filter((file) => file !== 'open-key-store.ts');
    const found = files.flatMap((file) => /^(.+)-key-store\.ts$/.exec(file)?.[1] ?? []);
    const unused = found.filter((kind) => !kinds.includes(kind));
    expect(unused, `add a line for ${unused.join()} to \`keyStores\` in ${stores}/open-key-store.ts`).toEqual([]);
    expect(found.toSorted(), `each store is in ${stores}/<kind>-key-store.ts`).toEqual(kinds.toSorted());
  });
});
