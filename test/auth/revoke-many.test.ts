import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { KeyManager } from '../../gateway/auth/manage/manage-keys.ts';
import { openKeys, type OpenKeys } from '../support/open-keys.ts';
import { noPlans } from '../support/no-plans.ts';
import { CommandFolder } from '../support/command-folder.ts';

const createdAt = '2026-01-02T03:04:05.678Z';
let dataDir: string;
let store: OpenKeys;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  store = openKeys({ DATA_DIR: dataDir });
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true });
});

/** Adds keys at the same moment. @returns their ids */
async function addKeys(count: number): Promise<string[]> {
  const digests = Array.from({ length: count }, () => digestOf(makeKey()));
  const added = await Promise.all(digests.map((digest) => store.add(digest, { name: 'many', createdAt })));
  expect(added).toEqual(digests.map(() => true));
  return digests.map(keyIdOf);
}

describe('many keys', () => {
  it('on the command line: several ids are revoked, also beside ids that do not exist, which are all named', async () => {
    const place = new CommandFolder();
    try {
      const ids = await addKeys(3);
      const ended = await place.run(['keys', 'revoke', ...ids.slice(0, 2), '0123456789ab', 'ba9876543210'], {
        DATA_DIR: dataDir,
      });
      expect(ended.stdout.split('\n').filter((line) => line.endsWith('is revoked.'))).toHaveLength(2);
      expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(/0123456789ab.*\n.*ba9876543210/)]);
      const { stdout } = await place.run(['keys', 'list', '--json'], { DATA_DIR: dataDir });
      const listed = JSON.parse(stdout) as { id: string; revokedAt?: string }[];
      const live = listed.filter(({ revokedAt }) => revokedAt === undefined).map(({ id }) => id);
      expect(live).toEqual([ids[2]]);
    } finally {
      await place.close();
    }
  });

  it('are all revoked, also after an error that is no failure of the store', async () => {
    const ids = await addKeys(120);
    const defect = new TypeError('a defect');
    const audit = store.audit.bind(store);
    store.audit = (entry) => (entry.key === ids[0] ? Promise.reject(defect) : audit(entry));
    await expect(new KeyManager(store, noPlans).revokeAll(ids)).rejects.toBe(defect);
    const records = [...(await store.entries()).values()];
    expect(records.filter(({ revokedAt }) => revokedAt !== undefined)).toHaveLength(120);
  });
});
