import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { runKeys, type KeysRun } from './run-keys.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
});

const keys = (...args: string[]): Promise<KeysRun> =>
  runKeys({ REDIS_URL: undefined, DATA_DIR: join(folder, 'data'), NETWORKS_DIR: folder }, args);

/** The content does not matter: a network whose file is invalid has a name, too. */
function addFiles(...slugs: string[]): void {
  for (const slug of slugs) writeFileSync(join(folder, `${slug}.yaml`), '');
}

async function restrictedNetworks(): Promise<unknown[]> {
  const records = JSON.parse((await keys('list', '--json')).out) as { permissions?: { networks?: string } }[];
  return records.map(({ permissions }) => permissions?.networks);
}

it('a network without a file is rejected with a suggestion, unless --force is given', async () => {
  addFiles('local', 'base', 'defaults');
  const misspelt = ['create', '--name', 'alice', '--networks', 'base,locl'];
  expect(await keys(...misspelt)).toEqual({
    out: '',
    err: '--networks: there is no network locl; did you mean local? (--force accepts it)\n',
    exitCode: 1,
  });
  expect((await keys('create', '--name', 'alice', '--networks', 'defaults')).exitCode).toBe(1);
  expect(await restrictedNetworks()).toEqual([]);
  expect((await keys(...misspelt, '--force')).exitCode).toBe(0);
  expect(await restrictedNetworks()).toEqual(['base,locl']);
});

it('a change of a key is checked in the same way', async () => {
  addFiles('local', 'base');
  const { id } = JSON.parse((await keys('create', '--name', 'alice', '--networks', 'base', '--json')).out) as {
    id: string;
  };
  expect((await keys('update', id, '--networks', 'bse')).err).toMatch(/there is no network bse; did you mean base\?/);
  expect(await restrictedNetworks()).toEqual(['base']);
  expect((await keys('update', id, '--networks', '')).exitCode).toBe(0);
  expect((await keys('update', id, '--networks', 'bse', '--force')).exitCode).toBe(0);
  expect(await restrictedNetworks()).toEqual(['bse']);
});

it('a shell without network files accepts any network', async () => {
  expect((await keys('create', '--name', 'alice', '--networks', 'locl')).exitCode).toBe(0);
  expect(await restrictedNetworks()).toEqual(['locl']);
});
