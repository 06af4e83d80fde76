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

it('a plan is one of auth.yaml, and keys list has it', async () => {
  const withPlan = ['create', '--name', 'alice', '--plan', 'free'];
  expect(await keys(...withPlan)).toEqual({
    out: '',
    err: 'plan: expected the name of a plan in auth.yaml (it has none)\n',
    exitCode: 1,
  });
  writeFileSync(join(folder, 'auth.yaml'), 'plans: { free: { rate: 5, daily: 1000 }, gold: { rate: 50 } }');
  expect((await keys('create', '--name', 'alice', '--plan', 'fre')).err).toBe(
    'plan: expected the name of a plan in auth.yaml (free, gold)\n',
  );
  expect(await keys(...withPlan)).toMatchObject({ err: '', exitCode: 0 });
  const { out } = await keys('list', '--csv');
  expect(out.split('\n')[1]).toMatch(/^[0-9a-f]{12},alice,,free,.*,active$/);
  writeFileSync(join(folder, 'auth.yaml'), 'plans: { gold: { rate: 50 } }');
  const [id = ''] = out.split('\n')[1]?.split(',') ?? [];
  expect((await keys('show', id)).out).toContain(
    'rejected until corrected: plan: expected the name of a plan in auth.yaml (gold)',
  );
  expect(await keys('update', id, '--plan', 'gold')).toMatchObject({ err: '', exitCode: 0 });
});
