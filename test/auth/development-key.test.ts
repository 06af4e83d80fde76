import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ensureDevelopmentKey } from '../../gateway/auth/development-key.ts';
import { digestOf, isWellFormedKey, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { openKeys, type OpenKeys } from '../support/open-keys.ts';
import { createdAt } from './auth-setup.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

function open(dataDir: string): OpenKeys {
  const keys = openKeys({ DATA_DIR: dataDir });
  onTestFinished(() => keys.close());
  return keys;
}

describe('the development key', () => {
  it('is the same at each start, marked, and readable only by its owner', async () => {
    const dataDir = join(makeFolder(), 'data');
    const store = open(dataDir);
    const key = await ensureDevelopmentKey(store, dataDir);
    expect(isWellFormedKey(key)).toBe(true);
    expect(await ensureDevelopmentKey(store, dataDir)).toBe(key);
    expect(await ensureDevelopmentKey(open(dataDir), dataDir)).toBe(key);
    expect(await store.find(digestOf(key))).toMatchObject({ name: 'development', development: true });
    expect(statSync(join(dataDir, 'development-key')).mode & 0o777).toBe(0o600);
  });

  it('is replaced if its file is missing or invalid, or if it is unknown or revoked', async () => {
    const dataDir = makeFolder();
    const store = open(dataDir);
    const path = join(dataDir, 'development-key');
    let key = await ensureDevelopmentKey(store, dataDir);
    const invalidations: (() => unknown)[] = [
      () => {
        rmSync(path);
      },
      () => {
        writeFileSync(path, 'gh_nonsense');
        chmodSync(path, 0o644);
      },
      () => {
        writeFileSync(path, makeKey());
      },
      () => store.revoke(keyIdOf(digestOf(key))),
    ];
    for (const act of invalidations) {
      await act();
      const next = await ensureDevelopmentKey(store, dataDir);
      expect(next).not.toBe(key);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(await ensureDevelopmentKey(store, dataDir)).toBe(next);
      key = next;
    }
  });

  it('is never an ordinary key', async () => {
    const dataDir = makeFolder();
    const store = open(dataDir);
    const key = makeKey();
    await store.add(digestOf(key), { name: 'alice', createdAt });
    writeFileSync(join(dataDir, 'development-key'), key);
    expect(await ensureDevelopmentKey(store, dataDir)).not.toBe(key);
  });
});
