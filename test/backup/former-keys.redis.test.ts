import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { keyIdOf } from '../../gateway/auth/formats/key.ts';
import { KeyStore } from '../../gateway/auth/stores/key-store.ts';
import { openImportedStore } from '../../gateway/backup/former-files.ts';
import { openStore } from '../../gateway/store/open-store.ts';
import type { RedisStore } from '../../gateway/store/redis-store.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { runCommand } from '../support/run-command.ts';

const createdAt = '2026-01-02T03:04:05.678Z';
const [alice, bob, carol] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
let dataDir: string;
let redis: RedisServer | undefined;
let lines: string[];

beforeEach(() => {
  redis = undefined;
  lines = [];
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
});

async function open(url = redis?.url, timeoutMs = 10_000): Promise<KeyStore> {
  const log = pino({}, { write: (line) => lines.push(line) });
  const store = await openImportedStore({ REDIS_URL: url, DATA_DIR: dataDir }, log, timeoutMs);
  onTestFinished(() => store.close());
  return new KeyStore(store, log);
}

const records = [
  { id: keyIdOf(alice), name: 'alice "the, key" 鍵', createdAt, permissions: { rate: '50', team: 'core' } },
  { id: keyIdOf(bob), name: 'bob', createdAt, revokedAt: '2026-02-01T00:00:00.000Z' },
  { id: keyIdOf(carol), name: 'development', createdAt, development: true },
];

describe('the key file of version 0.1', () => {
  const path = (): string => join(dataDir, 'keys.json');
  // As that version wrote it.
  const fields = {
    [alice]: { createdAt, name: 'alice "the, key" 鍵', rate: '50', team: 'core' },
    [bob]: { createdAt, name: 'bob', revokedAt: '2026-02-01T00:00:00.000Z' },
    [carol]: { createdAt, name: 'development', development: true },
  };

  it('is imported once, and kept under another name', async () => {
    const text = `${JSON.stringify({ keys: fields }, undefined, 2)}\n`;
    writeFileSync(path(), text, { mode: 0o600 });
    const keys = await open();
    expect([...(await keys.entries()).values()]).toEqual(records);
    expect([existsSync(path()), readFileSync(`${path()}.imported`, 'utf8')]).toEqual([false, text]);
    expect(lines.join()).toContain('keys.json.imported');
    await keys.revoke(keyIdOf(alice));
    expect((await (await open()).find(alice))?.revokedAt).toBeDefined();
  });

  it('is imported by one of two processes that start at the same moment', async () => {
    writeFileSync(path(), JSON.stringify({ keys: fields }), { mode: 0o600 });
    for (const keys of await Promise.all([open(), open()])) expect((await keys.entries()).size).toBe(3);
  });

  it('that is a folder stops the start', async () => {
    mkdirSync(path());
    await expect(open()).rejects.toThrow(`${path()} cannot be imported (EISDIR)`);
  });

  it('changes nothing that the store has', async () => {
    await (await open()).add(alice, { name: 'revoked since', createdAt, revokedAt: createdAt });
    writeFileSync(path(), JSON.stringify({ keys: fields }), { mode: 0o600 });
    expect(await (await open()).find(alice)).toMatchObject({ name: 'revoked since', revokedAt: createdAt });
  });

  it('adds its revocations to what the store has', async () => {
    await (await open()).add(bob, { name: 'not revoked', createdAt });
    writeFileSync(path(), JSON.stringify({ keys: fields }), { mode: 0o600 });
    expect(await (await open()).find(bob)).toMatchObject({ name: 'not revoked', revokedAt: records[1]?.revokedAt });
  });

  it.each([
    ['{"keys": {', 'is not valid JSON'],
    ['[]', 'is not a key file'],
    ['{"keys": {"alice": {"name": "alice", "createdAt": ""}}}', 'entry 1 is not a key'],
    [`{"keys": {"${alice}": {"name": "alice"}, "${bob}": {"name": 1}}}`, 'entry 2 is not a key'],
  ])('with the content %s stops the start, with its path, and nothing is imported', async (text, message) => {
    writeFileSync(path(), text, { mode: 0o600 });
    await expect(open()).rejects.toThrow(message);
    await expect(open()).rejects.toThrow(path());
    rmSync(path());
    expect((await (await open()).entries()).size).toBe(0);
  });

  it.each([0o620, 0o602, 0o666])('with the mode %o, which lets others write it, stops the start', async (mode) => {
    writeFileSync(path(), JSON.stringify({ keys: fields }));
    chmodSync(path(), mode);
    await expect(open()).rejects.toThrow(
      `${path()} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`,
    );
  });
});

describe('keys in Redis in the form of version 0.1', () => {
  beforeEach(async () => {
    redis = await startRedis();
    onTestFinished(redis.stop);
    // As that version wrote them.
    const key = (digest: string): string => `gatehouse:key:${digest}`;
    await redis.cli(
      ...['HSET', key(alice), 'createdAt', createdAt, 'name', 'alice "the, key" 鍵', 'rate', '50', 'team', 'core'],
    );
    await redis.cli(
      ...['HSET', key(bob), 'createdAt', createdAt, 'name', 'bob', 'revokedAt', '2026-02-01T00:00:00.000Z'],
    );
    await redis.cli('HSET', key(carol), 'createdAt', createdAt, 'name', 'development', 'development', 'true');
  });

  it('get the new form once', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    for (const keys of [one, other])
      expect([...(await keys.entries()).values()].sort((a, b) => a.id.localeCompare(b.id))).toEqual(records);
    expect(await redis?.cli('KEYS', '*')).toBe('gatehouse:key');
    // A hash that comes later is no key: it may be of a backup of Redis, where it was not revoked.
    await redis?.cli('HSET', `gatehouse:key:${'d'.repeat(64)}`, 'name', 'dora');
    expect((await (await open()).entries()).size).toBe(3);
  });

  it('change nothing that has the new form, and leave what is no key', async () => {
    await redis?.cli('HSET', 'gatehouse:key', alice, JSON.stringify({ name: 'revoked since', revokedAt: createdAt }));
    await redis?.cli('SET', `gatehouse:key:${'e'.repeat(64)}`, 'text');
    await redis?.cli('HSET', 'gatehouse:key:other', 'name', 'other');
    const keys = await open();
    expect(await keys.find(alice)).toMatchObject({ name: 'revoked since', revokedAt: createdAt });
    expect((await keys.entries()).size).toBe(3);
    expect((await redis?.cli('KEYS', 'gatehouse:key:*'))?.split('\n').sort()).toEqual([
      ...[`gatehouse:key:${'e'.repeat(64)}`, 'gatehouse:key:other'],
    ]);
  });

  it('add their revocations to what has the new form', async () => {
    await redis?.cli('HSET', 'gatehouse:key', bob, JSON.stringify({ name: 'not revoked', createdAt }));
    expect(await (await open()).find(bob)).toMatchObject({ name: 'not revoked', revokedAt: records[1]?.revokedAt });
  });

  it('that are revoked while they get the new form stay revoked', async () => {
    const store = openStore({ REDIS_URL: redis?.url, DATA_DIR: dataDir }, pino({ level: 'silent' })) as RedisStore;
    onTestFinished(() => store.close());
    await store.waitUntilReady(10_000);
    const seen: string[] = [];
    const count = await store.moveHashes('gatehouse:key', async (name, hash) => {
      seen.push(`${hash['name'] ?? ''} ${hash['revokedAt'] ?? ''}`);
      if (name === alice && hash['revokedAt'] === undefined)
        await redis?.cli('HSET', `gatehouse:key:${alice}`, 'revokedAt', createdAt);
      return true;
    });
    expect([count, seen.filter((line) => line.startsWith('alice'))]).toEqual([
      ...[3, ['alice "the, key" 鍵 ', `alice "the, key" 鍵 ${createdAt}`]],
    ]);
    expect(await redis?.cli('KEYS', '*')).toBe('');
  });

  it('get the new form later if Redis does not respond at first, and none is called unknown before', async () => {
    redis?.pause();
    const log = pino({ level: 'silent' });
    const store = await openImportedStore({ REDIS_URL: redis?.url, DATA_DIR: dataDir }, log, 200);
    onTestFinished(() => store.close());
    const keys = new KeyStore(store, log);
    await expect(keys.find(alice)).rejects.toThrow('Redis is unreachable');
    const ready = store.waitUntilReady(10_000);
    redis?.resume();
    await ready;
    await expect(keys.find(alice)).rejects.toThrow('keys of a former version get their new form now');
    await eventually(async () => (await keys.find(alice).catch(() => undefined)) !== undefined);
    await eventually(async () => (await keys.find('d'.repeat(64)).catch(() => null)) === undefined);
  });

  it('that cannot get the new form are an error of a command', async () => {
    await redis?.cli(
      'ACL',
      'SETUSER',
      'viewer',
      'on',
      '>pass',
      '-@all',
      '+ping',
      '+hget',
      '+hscan',
      '%R~gatehouse:key',
    );
    const env = { REDIS_URL: redis?.url.replace('//', '//viewer:pass@'), DATA_DIR: dataDir };
    for (const args of [
      ['keys', 'list'],
      ['backup', join(dataDir, 'backup.jsonl')],
    ]) {
      const { code, stdout, stderr } = await runCommand(args, { env });
      expect([code, stdout, existsSync(join(dataDir, 'backup.jsonl'))]).toEqual([78, '', false]);
      expect(stderr).toMatch(/^Redis may have keys of a former version, .*NOPERM/);
    }
  });

  it('stay as they are for a user without the rights, and the log says what to do', async () => {
    await redis?.cli('ACL', 'SETUSER', 'gateway', 'on', '>pass', '-@all', '+ping', '+hget', '%R~gatehouse:key');
    await open(redis?.url.replace('//', '//gateway:pass@'));
    expect(lines.join()).toMatch(/NOPERM.*run `gatehouse keys list` with the rights of operator/);
    expect((await (await open()).entries()).size).toBe(3);
  });
});
