import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { editableFields } from '../../../gateway/auth/permissions/permission-fields.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import { runKeys, type KeysRun } from '../run-keys.ts';
import { fieldSamples } from './field-samples.ts';

let dataDir: string;
let redis: RedisServer | undefined;

const keys = (...args: string[]): Promise<KeysRun> => runKeys({ REDIS_URL: redis?.url, DATA_DIR: dataDir }, args);

async function json<T>(...args: string[]): Promise<T> {
  const { out, err } = await keys(...args, '--json');
  expect(err).toBe('');
  return JSON.parse(out) as T;
}
const create = (...flags: string[]) =>
  json<{ id: string; key: string; secret?: string }>('create', '--name', 'alice', ...flags);
const permissionsOf = async (id: string) =>
  (await json<{ permissions?: Record<string, string> }>('show', id)).permissions;

describe.each(['file', 'redis'])('permissions of keys on the command line, stored in %s', (kind) => {
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
    redis = kind === 'redis' ? await startRedis() : undefined;
    onTestFinished(async () => {
      rmSync(dataDir, { recursive: true });
      await redis?.stop();
    });
  });

  /** The entries of the audit log: operation, key, detail. */
  async function auditLog(): Promise<string[]> {
    if (redis === undefined) {
      const path = join(dataDir, 'audit.jsonl');
      expect(statSync(path).mode & 0o077).toBe(0);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      return lines.map((line) => entryText(JSON.parse(line) as Record<string, string>));
    }
    const text = await redis.cli('XRANGE', 'gatehouse:audit', '-', '+');
    const entries = text.split(/^\d+-\d+$/m).slice(1);
    return entries.map((entry) => {
      const fields = entry.trim().split('\n');
      return entryText(
        Object.fromEntries(fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? '']] : []))),
      );
    });
  }
  function entryText({ at = '', by, act = '', key = '', detail = '' }: Record<string, string>): string {
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    expect(by).toMatch(new RegExp(`^${userInfo().username}@.`));
    return `${act} ${key} ${detail}`.trimEnd();
  }

  it('create sets all of them, show prints them, update changes and removes them', async () => {
    // One warns that the key has no public key: test/infura/tokens.test.ts. The other needs auth.yaml: test/auth/cli-networks.test.ts.
    const fields = editableFields.filter(({ name }) => name !== 'requireToken' && name !== 'plan');
    const given = fields.map(({ name, flag }) => ({ name, flag, text: fieldSamples[name].good[0] }));
    const { id } = await create(
      '--secret',
      ...given.flatMap(({ flag, text }) => (flag.includes(' ') ? [flag.split(' ')[0] ?? '', text] : [flag])),
    );
    const texts = Object.fromEntries(given.map(({ name, text }) => [name, text]));
    expect(await permissionsOf(id)).toEqual({ ...texts, secrets: expect.any(String) as string });
    expect((await keys('show', id)).out).toMatch(/\nnetworks +base\n/);

    expect((await keys('update', id, '--rate', '20', '--networks', '', '--expires', '90d')).out).toBe(
      `Key ${id} is changed.\n`,
    );
    const changed = await permissionsOf(id);
    expect(changed).toMatchObject({ rate: '20', burst: '1', daily: '1' });
    expect(changed).not.toHaveProperty('networks');
    const days = (Date.parse(changed?.['expiresAt'] ?? '') - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect(await auditLog()).toEqual([
      expect.stringMatching(new RegExp(`^create ${id} networks methods `)) as string,
      `update ${id} networks expiresAt rate`,
    ]);
  });

  it('rejects invalid values without changing the key', async () => {
    const { id } = await create('--rate', '10');
    for (const [flag, value] of [
      ['--ips', '10.0.0.0/99'],
      ['--rate', ''],
      ['--daily', 'many'],
      ['--expires', 'soon'],
    ] as const) {
      const { err, exitCode } = await keys('update', id, flag, value, '--burst', '5');
      expect([exitCode, err]).toEqual([1, expect.stringMatching(/^(\w+: expected |burst: requires rate)/) as string]);
      expect(await permissionsOf(id)).toEqual({ rate: '10' });
    }
    expect((await keys('create', '--name', 'bob', '--origins', '*')).exitCode).toBe(1);
    expect(await json<unknown[]>('list')).toHaveLength(1);
    expect((await keys('update', id)).err).toContain('Nothing to change');
    expect((await keys('update', '0123456789ab', '--rate', '1')).err).toContain('There is no key with the id');
    expect((await keys('update', id, '--network', 'base')).err).toContain('Did you mean --networks?');
  });

  it('a secret is shown once, and two can be valid during a grace period', async () => {
    const { id, secret = '' } = await create('--secret', '--rate', '9');
    expect(secret).toMatch(/^ghs_\w{32}$/);
    expect(await permissionsOf(id)).toEqual({ rate: '9', secrets: keyIdOf(digestOf(secret)) });
    const next = await json<{ secret: string }>('rotate', id, '--secret', '--grace', '2h');
    const [first = '', second = ''] = (await permissionsOf(id))?.['secrets']?.split(',') ?? [];
    expect(first).toBe(keyIdOf(digestOf(next.secret)));
    const [oldId, expiresAt = ''] = second.split(/@(.*)/s);
    expect(oldId).toBe(keyIdOf(digestOf(secret)));
    expect(Math.round((Date.parse(expiresAt) - Date.now()) / 60_000)).toBe(120);
    expect((await keys('update', id, '--no-secret')).exitCode).toBe(0);
    expect(await permissionsOf(id)).toEqual({ rate: '9' });
    expect((await keys('rotate', id, '--secret')).err).toContain('requires no secret');
    const everything =
      (await auditLog()).join('\n') + (await keys('list', '--json')).out + (await keys('show', id)).out;
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(next.secret);
  });

  it('rotate creates a key with the same permissions and account; the old key expires', async () => {
    const old = await create('--rate', '10', '--networks', 'base');
    const next = await json<{ id: string; key: string }>('rotate', old.id, '--grace', '1h');
    expect(next.id).toBe(keyIdOf(digestOf(next.key)));
    expect(await permissionsOf(next.id)).toEqual({ rate: '10', networks: 'base', account: old.id });
    const end = Date.parse((await permissionsOf(old.id))?.['expiresAt'] ?? '');
    expect(Math.round((end - Date.now()) / 60_000)).toBe(60);
    const third = await json<{ id: string }>('rotate', next.id, '--grace', '0m');
    expect(await permissionsOf(third.id)).toMatchObject({ account: old.id });
    expect((await keys('list')).out).toMatch(new RegExp(`^${next.id} .* expired `, 'm'));
    await keys('revoke', third.id);
    expect((await keys('rotate', third.id)).err).toContain('is not active');
    expect((await keys('rotate', old.id, '--grace', 'soon')).err).toContain('--grace: expected');
    expect((await auditLog()).slice(1)).toEqual([
      `rotate ${old.id} ${next.id}`,
      `rotate ${next.id} ${third.id}`,
      `revoke ${third.id}`,
    ]);
  });

  it('warns of methods that are not in the spec, but accepts them', async () => {
    const { out, err, exitCode } = await keys(
      'create',
      '--name',
      'x',
      '--rate',
      '9',
      '--method-rates',
      'eth_getLog=5,eth_call=1',
    );
    expect([exitCode, err]).toEqual([
      0,
      'warning: eth_getLog is not in the spec; it applies only to networks whose file lists it; did you mean eth_getLogs?\n',
    ]);
    expect(out).toContain('shown only once');
    expect(
      (await keys('create', '--name', 'y', '--rate', '9', '--methods', 'eth,trace,trace_block', '--json')).err,
    ).toMatch(/^warning: trace_block is not in the spec; [^\n]*\n$/);
  });

  it('create warns of a key without a rate limit', async () => {
    const { err, exitCode } = await keys('create', '--name', 'x', '--daily', '5');
    expect({ err, exitCode }).toEqual({
      err: 'warning: the key has no rate limit; in production, set --rate\n',
      exitCode: 0,
    });
    expect((await keys('create', '--name', 'y', '--rate', '5')).err).toBe('');
  });

  it('create and update warn of a rate below the price of a lookup', async () => {
    const env = { DATA_DIR: dataDir, REDIS_URL: redis?.url, UNITS_FILE: 'infura' };
    const warning =
      'warning: the rate 10 is below the 80 request units of eth_getBlockByNumber: one such call in 8 s\n';
    const { out, err } = await runKeys(env, ['create', '--name', 'x', '--rate', '10', '--json']);
    expect(err).toBe(warning);
    const { id } = JSON.parse(out) as { id: string };
    expect((await runKeys(env, ['update', id, '--rate', '800'])).err).toBe('');
    expect((await runKeys(env, ['update', id, '--rate', '10'])).err).toBe(warning);
  });

  it('shows a new key even if the audit log cannot be written', async () => {
    // A folder or a string replaces the audit log, so that writing fails.
    if (redis === undefined) mkdirSync(join(dataDir, 'audit.jsonl'), { recursive: true });
    else await redis.cli('SET', 'gatehouse:audit', 'text');
    const warning = ['the operation succeeded, but its audit entry could not be written'];
    const created = JSON.parse((await keys('create', '--name', 'alice', '--json')).out) as { id: string; key: string };
    expect(created).toEqual({ id: keyIdOf(digestOf(created.key)), key: created.key, warnings: warning });
    const rotated = JSON.parse((await keys('rotate', created.id, '--json')).out) as { id: string; key: string };
    expect(rotated).toEqual({ id: keyIdOf(digestOf(rotated.key)), key: rotated.key, warnings: warning });
  });
});
