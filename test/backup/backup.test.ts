import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { listKeys, type KeyRecord, type KeyStore } from '../../gateway/auth/stores/key-store.ts';
import { openKeyStore } from '../../gateway/auth/stores/open-key-store.ts';
import { backupCommands } from '../../gateway/cli/backup.ts';
import { openLog } from '../../gateway/config/log.ts';
import { openUsageStore } from '../../gateway/usage/open-usage-store.ts';
import { lastDays, type ListedUsageStore, type UsageRow } from '../../gateway/usage/usage-store.ts';
import { startRedis } from '../support/redis.ts';

interface Stores {
  readonly keys: KeyStore;
  readonly usage: ListedUsageStore;
  /** Runs `gatehouse <args>` on these stores. @returns what it printed */
  readonly run: (...args: string[]) => Promise<string>;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => {
    rmSync(path, { recursive: true });
  });
  return path;
}

async function openStores(kind: 'files' | 'Redis'): Promise<Stores> {
  const redis = kind === 'Redis' ? await startRedis() : undefined;
  const settings = { REDIS_URL: redis?.url, DATA_DIR: folder() };
  const log = openLog('silent');
  const [keys, usage] = [openKeyStore(settings, log), openUsageStore(settings, log)];
  onTestFinished(async () => {
    await Promise.all([keys.close(), usage.close()]);
    await redis?.stop();
  });
  await keys.waitUntilReady(5_000);
  await usage.waitUntilReady(5_000);
  const run = async (...args: string[]): Promise<string> => {
    let printed = '';
    const commands = backupCommands(
      () => settings,
      (text) => void (printed += text),
    );
    const command = commands.find((one) => one.name() === args[0]);
    await command?.parseAsync(args.slice(1), { from: 'user' });
    return printed;
  };
  return { keys, usage, run };
}

const days = lastDays(3);
const [digest, revoked] = [digestOf(makeKey()), digestOf(makeKey())];
const amounts = [
  { place: 'main eth_call', calls: 5, units: 10, errors: 1, bytes: 2_000 },
  { place: 'main eth_chainId', calls: 7, units: 1, errors: 0, bytes: 300 },
];

/** Two keys, one revoked and one with a rate, a development key, and usage on two days. */
async function fill({ keys, usage }: Stores): Promise<void> {
  const createdAt = '2026-01-01T00:00:00.000Z';
  await keys.add(digest, { name: 'Zoë "the, key"', createdAt, permissions: { rate: '50', networks: 'main,base' } });
  await keys.add(revoked, { name: 'bob', createdAt, revokedAt: '2026-02-01T00:00:00.000Z' });
  await keys.add(digestOf(makeKey()), { name: 'development', createdAt, development: true });
  const batches = days.slice(0, 2).map((day, index) => ({ key: keyIdOf(digest), day, number: index + 1, amounts }));
  expect(await usage.add(batches)).toEqual([]);
}

const read = async ({ keys, usage }: Stores): Promise<[KeyRecord[], UsageRow[]]> => [
  (await listKeys(keys)).filter(({ development }) => development !== true),
  await usage.read(keyIdOf(digest), days),
];

it.each([
  ['files', 'Redis'],
  ['Redis', 'files'],
] as const)('keys and usage in %s are the same after a backup and its restoration in %s', async (from, to) => {
  const [source, target] = [await openStores(from), await openStores(to)];
  await fill(source);
  const path = join(folder(), 'backup.jsonl');
  expect(await source.run('backup', path)).toBe(`${path}: 2 keys, 2 days of usage\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const added = 'Keys: 2 added, 0 already there\nDays of usage: 2 added, 0 already there, 0 expired\n';
  expect(await target.run('restore', path)).toBe(added);
  const [keys, rows] = await read(source);
  expect([keys.length, rows.length]).toEqual([2, 4]);
  // Another store of the same process reads the file within a second.
  await expect.poll(() => read(target), { timeout: 10_000 }).toEqual([keys, rows]);
  const nothing = 'Keys: 0 added, 2 already there\nDays of usage: 0 added, 2 already there, 0 expired\n';
  expect(await target.run('restore', path)).toBe(nothing);
  await expect.poll(() => read(target), { timeout: 10_000 }).toEqual([keys, rows]);
});

it('existing keys stay as they are, except that revocations are added', async () => {
  const [source, target] = [await openStores('files'), await openStores('files')];
  await fill(source);
  const path = join(folder(), 'backup.jsonl');
  await source.run('backup', path);
  const now = { name: 'renamed', createdAt: '2026-03-01T00:00:00.000Z' };
  for (const one of [digest, revoked]) await target.keys.add(one, now);
  expect(await target.run('restore', path)).toContain('Keys: 0 added, 2 already there');
  expect(await target.keys.find(digest)).toEqual({ ...now, id: keyIdOf(digest) });
  const withRevocation = { name: 'renamed', revokedAt: '2026-02-01T00:00:00.000Z' };
  await expect.poll(() => target.keys.find(revoked), { timeout: 10_000 }).toMatchObject(withRevocation);
});

it('usage older than it is kept is not restored', async () => {
  const target = await openStores('files');
  const path = join(folder(), 'backup.jsonl');
  const usage = { usage: keyIdOf(digest), day: '2020-01-01', rows: [['main eth_call', 1, 1, 0, 9]] };
  writeFileSync(path, [start, usage, { end: true, keys: 0, days: 1 }].map((line) => JSON.stringify(line)).join('\n'));
  expect(await target.run('restore', path)).toContain('0 added, 0 already there, 1 expired');
});

const start = { format: 'gatehouse backup', version: 1, at: '' };
const key = { digest, key: { name: 'alice', createdAt: '' } };
const end = { end: true, keys: 1, days: 0 };

it.each<[string, unknown[], string]>([
  ['a file without its end', [start, key], 'line 3: the end is missing'],
  ['a file with a missing line', [start, { ...end, keys: 2 }], 'line 2: expected 2 keys and 0 days of usage'],
  [
    'a file of another version',
    [{ ...start, version: 9 }, key, end],
    'line 1: expected "gatehouse backup" of version 1',
  ],
  ['a file of another kind', [{ keys: {} }, end], 'line 1: expected one of format, digest'],
  ['a key that is no digest', [start, key, { ...key, digest: 'x' }, end], 'line 3: digest: expected 64'],
  ['a key without a name', [start, { digest, key: {} }, end], 'line 2: key: expected an object with a name'],
  ['a wrong day', [start, key, { usage: keyIdOf(digest), day: 'x', rows: [] }, end], 'line 3: day: expected'],
  [
    'a negative number',
    [start, key, { usage: keyIdOf(digest), day: days[0], rows: [['a b', -1, 0, 0, 0]] }, end],
    'line 3: rows:',
  ],
  ['text behind the end', [start, key, end, key], 'line 4: nothing may follow the end'],
  ['no JSON', ['?'], 'line 1: expected a JSON object'],
])('%s is rejected with its line, and nothing is restored', async (_, lines, message) => {
  const target = await openStores('files');
  const path = join(folder(), 'backup.jsonl');
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
  await expect(target.run('restore', path)).rejects.toThrow(message);
  expect(await listKeys(target.keys)).toEqual([]);
});

it('a backup replaces no file, and a failed one leaves none', async () => {
  const source = await openStores('Redis');
  const path = join(folder(), 'backup.jsonl');
  writeFileSync(path, 'mine');
  await expect(source.run('backup', path)).rejects.toThrow(`${path} exists: choose another name`);
  expect(readFileSync(path, 'utf8')).toBe('mine');
  const missing = join(path, 'x', 'backup.jsonl');
  await expect(source.run('backup', missing)).rejects.toThrow(`${missing}: ENOTDIR`);
  expect(existsSync(missing)).toBe(false);
  await expect(source.run('restore', missing)).rejects.toThrow(`${missing}: ENOTDIR`);
});

it('a backup has no key', async () => {
  const source = await openStores('files');
  const secret = makeKey();
  await source.keys.add(digestOf(secret), { name: 'alice', createdAt: '' });
  const path = join(folder(), 'backup.jsonl');
  await source.run('backup', path);
  expect(readFileSync(path, 'utf8')).not.toContain(secret);
});
