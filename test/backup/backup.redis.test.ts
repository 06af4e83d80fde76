import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { listKeys, type KeyRecord, type KeyStore, type StoredKey } from '../../gateway/auth/stores/key-store.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { backupCommands } from '../../gateway/cli/backup.ts';
import { openKeys } from '../support/open-keys.ts';
import { openUsage } from '../usage/open-usage.ts';
import { dayOf, lastDays, type UsageRow, type UsageStore } from '../../gateway/usage/usage-store.ts';
import { storageParams, withNodes } from '../routing/with-nodes.ts';
import { eventually } from '../support/eventually.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';

interface StoreSettings {
  readonly REDIS_URL: string | undefined;
  readonly DATA_DIR: string;
}

interface Stores {
  readonly keys: KeyStore;
  readonly usage: UsageStore;
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
  const redis = kind === 'Redis' ? await ownRedis() : undefined;
  return storesOf({ REDIS_URL: redis?.url, DATA_DIR: folder() });
}

async function ownRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return redis;
}

async function storesOf(settings: StoreSettings): Promise<Stores> {
  const keys = openKeys(settings);
  onTestFinished(() => keys.close());
  await keys.store.waitUntilReady(5_000);
  const usage = await openUsage(settings);
  return { keys, usage, run: commandsOf(settings) };
}

function commandsOf(settings: StoreSettings): Stores['run'] {
  return async (...args) => {
    let printed = '';
    const commands = backupCommands({
      settings: () => ({ ...readSettings({}), ...settings }),
      out: (text) => void (printed += text),
    });
    const command = commands.find((one) => one.name() === args[0]);
    await command?.parseAsync(args.slice(1), { from: 'user' });
    return printed;
  };
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
  await expect.poll(() => read(target)).toEqual([keys, rows]);
  const nothing = 'Keys: 0 added, 2 already there\nDays of usage: 0 added, 2 already there, 0 expired\n';
  expect(await target.run('restore', path)).toBe(nothing);
  await expect.poll(() => read(target)).toEqual([keys, rows]);
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
  await expect.poll(() => target.keys.find(revoked)).toMatchObject(withRevocation);
});

it('usage older than it is kept is not restored', async () => {
  const target = await openStores('files');
  const path = join(folder(), 'backup.jsonl');
  const usage = { usage: keyIdOf(digest), day: '2020-01-01', rows: [['main eth_call', 1, 1, 0, 9]] };
  writeFileSync(path, [start, usage, { end: true, keys: 0, days: 1 }].map((line) => JSON.stringify(line)).join('\n'));
  expect(await target.run('restore', path)).toContain('0 added, 0 already there, 1 expired');
});

/** Everything that a backup has of two stores, in one order. */
async function contentOf({ keys, usage }: Stores): Promise<object> {
  const days: Record<string, unknown> = {};
  for await (const { key, day, amounts } of usage.entries())
    if (amounts.length > 0) days[`${key} ${day}`] = amounts.toSorted((a, b) => a.place.localeCompare(b.place));
  const own = [...(await keys.entries())].filter(([, { development }]) => development !== true);
  return { keys: Object.fromEntries(own), days };
}

// Separators at which some readers divide lines, and digests of which some have one id.
const text = fc.string({
  unit: fc.constantFrom('a', '"', ' ', '\u2028', '\u2029', '\u0085', '\r', '\n', '\0', 'é', '😀'),
  maxLength: 8,
});
const field = fc.oneof(fc.constantFrom('rate', 'networks', '__proto__'), text);
const storedKey: fc.Arbitrary<StoredKey> = fc.record(
  {
    ...{ name: text, createdAt: text, revokedAt: text, development: fc.constant(true) },
    permissions: fc.dictionary(field, text, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
  },
  { requiredKeys: ['name', 'createdAt'] },
);
const hexadecimal = fc.constantFrom('0', 'f');
const digests = fc.tuple(hexadecimal, hexadecimal).map(([id, rest]) => id.repeat(12) + rest.repeat(52));
const count = fc.oneof(fc.nat(), fc.maxSafeNat());
const places = fc
  .tuple(fc.constantFrom('main', 'a-1'), fc.constantFrom('eth_call', 'other:rate-limit', 'x.y_Z'))
  .map((words) => words.join(' '));
const amountsOfPlaces = fc.uniqueArray(
  fc.record({
    place: places,
    calls: count.map((some) => some + 1 - (some & 1)),
    units: count,
    errors: count,
    bytes: count,
  }),
  { minLength: 1, maxLength: 4, selector: ({ place }) => place },
);
const usageDays = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom('operator', 'public', '0123456789ab', 'ffffffffffff'),
    day: fc.constantFrom(...lastDays(3)),
    amounts: amountsOfPlaces,
  }),
  { maxLength: 6, selector: ({ key, day }) => `${key} ${day}` },
);
const content = fc.record({ keys: fc.dictionary(digests, storedKey, { noNullPrototype: true }), days: usageDays });

const keysOfOneId: Record<string, StoredKey> = {
  ['0'.repeat(64)]: { name: 'alice', createdAt: '' },
  ['0'.repeat(63) + 'f']: { name: 'bob', createdAt: '' },
};

it.each([
  ['files', 'files'],
  ['files', 'Redis'],
  ['Redis', 'files'],
  ['Redis', 'Redis'],
] as const)('whatever %s can hold is the same after a backup and its restoration in %s', async (from, to) => {
  const servers: (RedisServer | undefined)[] = [];
  for (const kind of [from, to]) servers.push(kind === 'Redis' ? await ownRedis() : undefined);
  const open = (index: number): Promise<Stores> => storesOf({ REDIS_URL: servers[index]?.url, DATA_DIR: folder() });
  await fc.assert(
    fc.asyncProperty(content, async ({ keys, days }) => {
      for (const server of servers) await server?.cli('FLUSHALL');
      const [source, target] = [await open(0), await open(1)];
      for (const [digest, key] of Object.entries(keys)) await source.keys.add(digest, key);
      expect(await source.usage.add(days.map((day, index) => ({ ...day, number: index + 1 })))).toEqual([]);
      const path = join(folder(), 'backup.jsonl');
      await source.run('backup', path);
      await target.run('restore', path);
      const expected = await contentOf(source);
      await expect.poll(() => contentOf(target)).toEqual(expected);
    }),
    { numRuns: propertyRuns(80), examples: [[{ keys: keysOfOneId, days: [] }]] },
  );
});

it('calls of `gatehouse explain` have usage, which is restored', async () => {
  const redis = await ownRedis();
  const source = await storesOf({ REDIS_URL: redis.url, DATA_DIR: folder() });
  const { gateway } = await withNodes(1, { REDIS_URL: redis.url, OPS_PORT: '0', ADMIN_TOKEN: 'correct-horse-battery' });
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams };
  const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/explain/test`, {
    ...{ method: 'POST', headers: { authorization: 'Bearer correct-horse-battery' }, body: JSON.stringify(call) },
  });
  expect(response.status).toBe(200);
  await eventually(async () => (await source.usage.read('operator', days)).length > 0);
  const path = join(folder(), 'backup.jsonl');
  await source.run('backup', path);
  const target = await openStores('files');
  await target.run('restore', path);
  expect(await target.usage.read('operator', days)).toEqual(await source.usage.read('operator', days));
});

it('what was written into Redis by hand and is no usage keeps nothing from being restored', async () => {
  const redis = await ownRedis();
  const source = await storesOf({ REDIS_URL: redis.url, DATA_DIR: folder() });
  await fill(source);
  const today = dayOf(Date.now());
  const wrong = ['main  calls', '1', 'main eth_a calls', 'many', 'main eth_b units', '-5', 'main eth_c bytes', '1.5'];
  await redis.cli('HSET', `gatehouse:usage:${keyIdOf(digest)}:${today}`, ...wrong);
  await redis.cli('HSET', 'gatehouse:usage:someone:sometime', 'main eth_call calls', '1');
  await redis.cli('SET', `gatehouse:usage:someone:${today}`, 'text');
  await redis.cli('HSET', 'gatehouse:key', digestOf(makeKey()), '{"name":"","rate":"5"}');
  await redis.cli('HSET', 'gatehouse:key', digestOf(makeKey()), 'text');
  const path = join(folder(), 'backup.jsonl');
  expect(await source.run('backup', path)).toBe(`${path}: 3 keys, 2 days of usage\n`);
  const target = await openStores('files');
  expect(await target.run('restore', path)).toContain('Keys: 3 added, 0 already there\nDays of usage: 2 added');
  expect(await target.usage.read(keyIdOf(digest), days)).toEqual(await source.usage.read(keyIdOf(digest), days));
});

const start = { format: 'gatehouse backup', version: 1, at: '' };
const key = { digest, key: { name: 'alice', createdAt: '' } };
const end = { end: true, keys: 1, days: 0 };

it.each<[string, unknown[], string | RegExp]>([
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
  ['a second format', [start, key, start, end], 'line 3: the format belongs to line 1'],
  [
    'two wrong lines',
    [start, {}, key, '?', end],
    /line 2: expected one of .*\nline 4: expected a JSON object\nNothing is restored\. With --skip-unreadable/,
  ],
  ['a usage without an id', [start, { usage: '', day: days[0], rows: [] }, end], 'line 2: usage: expected an id'],
  [
    'a negative number',
    [start, key, { usage: keyIdOf(digest), day: days[0], rows: [['a b', -1, 0, 0, 0]] }, end],
    'line 3: rows:',
  ],
  ['text behind the end', [start, key, end, key], 'line 4: nothing may follow the end'],
  ['no JSON', ['?'], 'line 1: expected a JSON object'],
])('%s is rejected with its line, and nothing is restored', async (_, lines, message) => {
  const target = await openStores('files');
  const path = fileOf(lines);
  await expect(target.run('restore', path)).rejects.toThrow(message);
  await expect(target.run('restore', path, '--check')).rejects.toThrow(message);
  expect(await listKeys(target.keys)).toEqual([]);
});

function fileOf(lines: readonly unknown[]): string {
  const path = join(folder(), 'backup.jsonl');
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
  return path;
}

it('with --skip-unreadable all other lines are restored, also of an incomplete file', async () => {
  const target = await openStores('files');
  const usage = { usage: keyIdOf(digest), day: days[0], rows: [['main eth_call', 1, 2, 0, 9]] };
  const path = fileOf([start, { digest: 'x', key: { name: '' } }, key, { ...usage, rows: [['a b', null]] }, usage]);
  const skipped = [
    'line 2: digest: expected 64 hexadecimal digits',
    'line 4: rows: expected lists of "<network> <method>" and four whole numbers',
    'line 6: the end is missing, so the backup is incomplete',
  ];
  const text = skipped.map((line) => `Skipped ${line}\n`).join('');
  expect(await target.run('restore', path, '--check', '--skip-unreadable')).toBe(
    `${text}${path}: 1 keys, 1 days of usage\n`,
  );
  expect(await listKeys(target.keys)).toEqual([]);
  expect(await target.run('restore', path, '--skip-unreadable')).toBe(
    `${text}Keys: 1 added, 0 already there\nDays of usage: 1 added, 0 already there, 0 expired\n`,
  );
  await expect.poll(() => target.keys.find(digest)).toMatchObject({ name: 'alice' });
  expect(await target.usage.read(keyIdOf(digest), days)).toMatchObject([{ method: 'eth_call', calls: 1, units: 2 }]);
  expect(JSON.parse(await target.run('restore', path, '--skip-unreadable', '--json'))).toEqual({
    keys: { added: 0, there: 1 },
    days: { added: 0, there: 1, expired: 0 },
    unreadable: skipped,
  });
});

it('with --check a backup is read, and nothing is written', async () => {
  const path = fileOf([start, key, end]);
  // No store is opened.
  const run = commandsOf({ REDIS_URL: 'redis://127.0.0.1:1', DATA_DIR: '' });
  expect(await run('restore', path, '--check')).toBe(`${path}: 1 keys, 0 days of usage\n`);
  expect(JSON.parse(await run('restore', path, '--check', '--json'))).toEqual({ keys: 1, days: 0, unreadable: [] });
});

it('usage that a file has twice is restored once', async () => {
  const target = await openStores('files');
  const usage = { usage: 'operator', day: days[0], rows: [['main eth_call', 1, 2, 0, 9]] };
  const path = fileOf([start, usage, usage, { end: true, keys: 0, days: 2 }]);
  expect(await target.run('restore', path)).toContain('1 added, 1 already there');
  expect(await target.usage.read('operator', days)).toMatchObject([{ calls: 1, units: 2 }]);
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
