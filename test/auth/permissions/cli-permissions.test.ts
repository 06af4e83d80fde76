import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { keysCommand } from '../../../gateway/cli/keys.ts';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { permissionFields } from '../../../gateway/auth/permissions/permissions.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';

interface Run {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

let dataDir: string;
let redis: RedisServer | undefined;

async function keys(...args: string[]): Promise<Run> {
  let [out, err] = ['', ''];
  const command = keysCommand({
    settings: () => ({ REDIS_URL: redis?.url, DATA_DIR: dataDir }),
    input: (async function* () {
      await Promise.resolve();
      yield Buffer.from('');
    })(),
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  try {
    await command.parseAsync(args, { from: 'user' });
    return { out, err, exitCode: 0 };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { out, err, exitCode: error.exitCode };
  }
}

async function json<T>(...args: string[]): Promise<T> {
  const { out, err } = await keys(...args, '--json');
  expect(err).toBe('');
  return JSON.parse(out) as T;
}
const create = (...flags: string[]) =>
  json<{ id: string; key: string; secret?: string }>('create', '--name', 'alice', ...flags);
const rules = async (id: string) => (await json<{ rules?: Record<string, string> }>('show', id)).rules;

describe.each(['file', 'redis'])('rules of keys on the command line, kept in %s', (kind) => {
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
    redis = kind === 'redis' ? await startRedis() : undefined;
    onTestFinished(async () => {
      rmSync(dataDir, { recursive: true });
      await redis?.stop();
    });
  });

  /** The audit, a line each: act, key, detail. */
  async function audit(): Promise<string[]> {
    if (redis === undefined) {
      const path = join(dataDir, 'audit.jsonl');
      expect(statSync(path).mode & 0o077).toBe(0);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      return lines.map((line) => told(JSON.parse(line) as Record<string, string>));
    }
    const text = await redis.cli('XRANGE', 'gatehouse:audit', '-', '+');
    const entries = text.split(/^\d+-\d+$/m).slice(1);
    return entries.map((entry) => {
      const words = entry.trim().split('\n');
      return told(Object.fromEntries(words.flatMap((word, at) => (at % 2 === 0 ? [[word, words[at + 1] ?? '']] : []))));
    });
  }
  function told({ at = '', by, act = '', key = '', detail = '' }: Record<string, string>): string {
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(10_000);
    expect(by).toMatch(new RegExp(`^${userInfo().username}@.`));
    return `${act} ${key} ${detail}`.trimEnd();
  }

  it('create takes all of them, show tells them, update changes and takes away', async () => {
    const { id } = await create(
      ...['--networks', 'base, linea', '--methods', 'eth', '--origins', '*.example.org', '--user-agents', 'curl'],
      ...['--ips', '10.0.0.0/8,::1', '--contracts', `0x${'ab'.repeat(20)}`, '--expires', '2099-01-01', '--rate', '10'],
      ...['--burst', '50', '--method-rates', 'eth_getLogs=1', '--daily', '1000', '--monthly', '20000'],
      ...['--sockets', '9', '--subscriptions', '99', '--permissions', 'explain'],
    );
    const all = await rules(id);
    expect(all).toMatchObject({ networks: 'base, linea', ips: '10.0.0.0/8,::1', rate: '10', daily: '1000' });
    const given = permissionFields.filter(({ name }) => !['secrets', 'account'].includes(name));
    expect(Object.keys(all ?? {}).toSorted()).toEqual(given.map(({ name }) => name).toSorted());
    expect((await keys('show', id)).out).toMatch(/\nnetworks +base, linea\n/);

    expect((await keys('update', id, '--rate', '20', '--networks', '', '--expires', '90d')).out).toBe(
      `Key ${id} is changed.\n`,
    );
    const changed = await rules(id);
    expect(changed).toMatchObject({ rate: '20', burst: '50', daily: '1000' });
    expect(changed).not.toHaveProperty('networks');
    const days = (Date.parse(changed?.['expiresAt'] ?? '') - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect(await audit()).toEqual([
      expect.stringMatching(new RegExp(`^create ${id} networks methods `)) as string,
      `update ${id} networks expiresAt rate`,
    ]);
  });

  it('refuses what cannot be understood, and changes nothing', async () => {
    const { id } = await create('--rate', '10');
    for (const [flag, value] of [
      ['--ips', '10.0.0.0/99'],
      ['--rate', ''],
      ['--daily', 'many'],
      ['--expires', 'soon'],
    ] as const) {
      const { err, exitCode } = await keys('update', id, flag, value, '--burst', '5');
      expect([exitCode, err]).toEqual([
        1,
        expect.stringMatching(/^(\w+: expected |burst: there is no rate)/) as string,
      ]);
      expect(await rules(id)).toEqual({ rate: '10' });
    }
    expect((await keys('create', '--name', 'bob', '--origins', '*')).exitCode).toBe(1);
    expect(await json<unknown[]>('list')).toHaveLength(1);
    expect((await keys('update', id)).err).toContain('Nothing to change');
    expect((await keys('update', '0123456789ab', '--rate', '1')).err).toContain('There is no key with the id');
    expect((await keys('update', id, '--network', 'base')).err).toContain('Did you mean --networks?');
  });

  it('a secret is shown once, and two may be live for a while', async () => {
    const { id, secret = '' } = await create('--secret');
    expect(secret).toMatch(/^ghs_\w{32}$/);
    expect(await rules(id)).toEqual({ secrets: keyIdOf(digestOf(secret)) });
    const next = await json<{ secret: string }>('rotate', id, '--secret', '--grace', '2h');
    const [first = '', second = ''] = (await rules(id))?.['secrets']?.split(',') ?? [];
    expect(first).toBe(keyIdOf(digestOf(next.secret)));
    const [before, until = ''] = second.split(/@(.*)/s);
    expect(before).toBe(keyIdOf(digestOf(secret)));
    expect(Math.round((Date.parse(until) - Date.now()) / 60_000)).toBe(120);
    expect((await keys('update', id, '--no-secret')).exitCode).toBe(0);
    expect(await rules(id)).toBeUndefined();
    expect((await keys('rotate', id, '--secret')).err).toContain('demands no secret');
    const everything = (await audit()).join('\n') + (await keys('list', '--json')).out + (await keys('show', id)).out;
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(next.secret);
  });

  it('rotate makes a key with the same rules and one account; the old one ends', async () => {
    const old = await create('--rate', '10', '--networks', 'base');
    const next = await json<{ id: string; key: string }>('rotate', old.id, '--grace', '1h');
    expect(next.id).toBe(keyIdOf(digestOf(next.key)));
    expect(await rules(next.id)).toEqual({ rate: '10', networks: 'base', account: old.id });
    const end = Date.parse((await rules(old.id))?.['expiresAt'] ?? '');
    expect(Math.round((end - Date.now()) / 60_000)).toBe(60);
    const third = await json<{ id: string }>('rotate', next.id, '--grace', '0m');
    expect(await rules(third.id)).toMatchObject({ account: old.id });
    expect((await keys('list')).out).toMatch(new RegExp(`^${next.id} .* expired `, 'm'));
    await keys('revoke', third.id);
    expect((await keys('rotate', third.id)).err).toContain('opens nothing any more');
    expect((await keys('rotate', old.id, '--grace', 'soon')).err).toContain('--grace: expected');
    expect((await audit()).slice(1)).toEqual([
      `rotate ${old.id} ${next.id}`,
      `rotate ${next.id} ${third.id}`,
      `revoke ${third.id}`,
    ]);
  });

  it('warns of methods that the spec has not, and takes them: a network may', async () => {
    const { out, err, exitCode } = await keys('create', '--name', 'x', '--method-rates', 'eth_getLog=5,eth_call=1');
    expect([exitCode, err]).toEqual([
      0,
      'warning: eth_getLog counts on networks whose file names it only, the spec has none; did you mean eth_getLogs?\n',
    ]);
    expect(out).toContain('shown only this once');
    expect((await keys('create', '--name', 'y', '--methods', 'eth,trace,trace_block', '--json')).err).toMatch(
      /^warning: trace_block counts [^\n]*\n$/,
    );
  });

  it('shows what was made, also where the audit cannot be written', async () => {
    // In place of the audit stands something else.
    if (redis === undefined) mkdirSync(join(dataDir, 'audit.jsonl'), { recursive: true });
    else await redis.cli('SET', 'gatehouse:audit', 'text');
    const warning = ['this is done, but the audit could not be written'];
    const made = JSON.parse((await keys('create', '--name', 'alice', '--json')).out) as { id: string; key: string };
    expect(made).toEqual({ id: keyIdOf(digestOf(made.key)), key: made.key, warnings: warning });
    const rotated = JSON.parse((await keys('rotate', made.id, '--json')).out) as { id: string; key: string };
    expect(rotated).toEqual({ id: keyIdOf(digestOf(rotated.key)), key: rotated.key, warnings: warning });
  });
});
