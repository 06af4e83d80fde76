import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../gateway/store/open-store.ts';
import type { Store } from '../../gateway/store/store.ts';
import { silent } from '../auth/auth-setup.ts';
import { eventually, SOON_MS, staysTrueFor } from '../support/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';

const HOUR_MS = 3_600_000;

let dataDir: string;
let redis: RedisServer | undefined;

beforeEach(() => {
  redis = undefined;
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-store-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
});

async function open(): Promise<Store> {
  const store = openStore({ REDIS_URL: redis?.url, DATA_DIR: dataDir }, silent);
  onTestFinished(() => store.close());
  await store.waitUntilReady(10_000);
  return store;
}

async function namesIn(store: Store, folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const name of store.names(folder)) names.push(name);
  return names.sort();
}

const adding = (number: number, ttlMs = HOUR_MS) => ({ number, ttlMs });

describe.each(['a file', 'Redis'])('a store in %s', (kind) => {
  let one: Store;
  let other: Store;
  beforeEach(async () => {
    if (kind === 'Redis') {
      redis = await startRedis();
      onTestFinished(redis.stop);
    }
    one = await open();
    other = await open();
  });

  it('has the records that any process put, by folder and name', async () => {
    expect([await one.get('places', 'a'), await one.delete('places', 'a')]).toEqual([undefined, false]);
    expect([...(await one.scan('places'))]).toEqual([]);
    await one.put('places', 'a b', 'first');
    await other.put('places', 'ü', '{"text":"zweite\\n"}');
    await other.put('places:more', 'a b', 'third');
    await one.put('places', 'a b', 'fourth');
    expect(await other.get('places', 'a b')).toBe('fourth');
    const all = new Map([
      ['a b', 'fourth'],
      ['ü', '{"text":"zweite\\n"}'],
    ]);
    for (const store of [one, other]) expect(await store.scan('places')).toEqual(all);
    expect([await other.delete('places', 'a b'), await one.delete('places', 'a b')]).toEqual([true, false]);
    expect(await one.get('places', 'a b')).toBeUndefined();
    expect(await one.get('places:more', 'a b')).toBe('third');
  });

  it('puts a record only if it has the expected text', async () => {
    const put = (text: string, expected: string | null) => one.put('places', 'a', text, { expected });
    expect(await put('first', 'none')).toBe(false);
    expect(await one.get('places', 'a')).toBeUndefined();
    expect([await put('first', null), await put('second', null), await put('third', 'first')]).toEqual([
      ...[true, false, true],
    ]);
    expect(await one.get('places', 'a')).toBe('third');
    // Of processes that change a record at the same time, each begins with the text of another one.
    await one.put('places', 'a', '0');
    await Promise.all(
      [one, other, one, other].map(async (store) => {
        for (let done = 0; done < 10;) {
          const text = (await store.get('places', 'a')) ?? '';
          if (await store.put('places', 'a', String(Number(text) + 1), { expected: text })) done++;
        }
      }),
    );
    expect(await other.get('places', 'a')).toBe('40');
  });

  it('adds to sums what all processes add, and returns the new ones', async () => {
    expect(await one.add('counts', 'k:1', { 'main a': 2, 'main b': 5 }, adding(1))).toEqual({
      'main a': 2,
      'main b': 5,
    });
    expect(await other.add('counts', 'k:1', { 'main a': 40 }, adding(1))).toEqual({ 'main a': 42 });
    const number = Array.from({ length: 250 }, (_, index) => index + 2);
    await Promise.all(number.map((each) => one.add('counts', 'k:2', { 'main a': 1 }, adding(each))));
    expect(await other.sums('counts', ['k:1', 'none', 'k:2'])).toEqual([
      ...[{ 'main a': 42, 'main b': 5 }, {}, { 'main a': 250 }],
    ]);
    expect(await namesIn(one, 'counts')).toEqual(['k:1', 'k:2']);
  });

  it('has more names than one response of Redis or of the file', async () => {
    const all = Array.from({ length: 1_201 }, (_, index) => String(index).padStart(4, '0'));
    await Promise.all(all.map((name) => one.add('counts', name, { a: 1 }, adding(1))));
    await one.add('other', 'name', { a: 1 }, adding(1));
    expect(await namesIn(other, 'counts')).toEqual(all);
  });

  it('finds records by the beginning of their names', async () => {
    for (const name of ['ab1', 'ab2', 'abc', 'b', 'Ab']) await one.put('places', name, name);
    expect([...(await other.scan('places', 'ab')).keys()].sort()).toEqual(['ab1', 'ab2', 'abc']);
    expect([...(await other.scan('places', 'c')).keys()]).toEqual([]);
  });

  it('reports records that any process puts or deletes, and not those with a time to live', async () => {
    const reported: (string | undefined)[] = [];
    one.watch('places', (name) => reported.push(name));
    await one.waitUntilReady(10_000);
    await other.waitUntilReady(10_000);
    expect(one.isWatching).toBe(true);
    const isReported = (name: string): boolean =>
      reported.splice(0).some((each) => each === name || each === undefined);
    await one.put('places', 'own', 'first');
    await eventually(() => isReported('own'), SOON_MS);
    await other.put('places', 'a', 'first', { expected: null });
    await eventually(() => isReported('a'), SOON_MS);
    await other.put('places', 'a', 'second', { expected: 'first' });
    await eventually(() => isReported('a'), SOON_MS);
    await other.delete('places', 'a');
    await eventually(() => isReported('a'), SOON_MS);
    await other.put('places', 'passing', 'first', { ttlMs: HOUR_MS });
    await other.put('elsewhere', 'b', 'first');
    await other.put('places', 'b', 'first', { expected: 'none' });
    await other.delete('places', 'none');
    await other.add('counts', 'k', { a: 1 }, adding(1));
    await staysTrueFor(1_200, () => reported.length === 0);
  });

  it('appends entries to a journal', async () => {
    const entries = [
      { at: '1', text: 'a "b"' },
      { at: '2', text: 'ü' },
    ];
    for (const entry of entries) await one.append('gatehouse:audit', entry);
    if (redis === undefined) {
      const lines = readFileSync(join(dataDir, 'audit.jsonl'), 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual(entries);
    } else {
      const text = await redis.cli('XRANGE', 'gatehouse:audit', '-', '+');
      expect(text.split('\n').filter((_, index) => index % 5 !== 0)).toEqual(
        entries.flatMap((entry) => Object.entries(entry).flat()),
      );
    }
  });

  it('removes what has a time to live', async () => {
    await one.put('places', 'a', 'first', { ttlMs: 40 });
    await one.add('counts', 'k', { a: 1 }, adding(1, 40));
    await one.put('lasting', 'a', 'first', { ttlMs: HOUR_MS });
    await eventually(async () => (await other.get('places', 'a')) === undefined);
    await eventually(async () => (await namesIn(other, 'counts')).length === 0);
    expect([...(await other.scan('places'))]).toEqual([]);
    expect(await other.sums('counts', ['k'])).toEqual([{}]);
    expect(await other.get('lasting', 'a')).toBe('first');
  });
});

describe('a store in Redis', () => {
  beforeEach(async () => {
    redis = await startRedis();
    onTestFinished(redis.stop);
  });

  it('adds once what is repeated because its response was lost', async () => {
    const store = await open();
    await store.add('counts', 'k', { a: 1 }, adding(7));
    expect(await store.add('counts', 'k', { a: 1 }, adding(7))).toBeUndefined();
    expect(await store.sums('counts', ['k'])).toEqual([{ a: 1 }]);
  });

  it('fails at once while Redis is unavailable, and works again', async () => {
    const store = await open();
    await redis?.kill();
    await eventually(() => !store.isUp);
    await expect(store.get('places', 'a')).rejects.toThrow('Redis is unreachable');
    await expect(store.put('places', 'a', 'b')).rejects.toThrow('Redis is unreachable');
    await redis?.restart();
    await eventually(() => store.isUp);
    expect(await store.put('places', 'a', 'b')).toBe(true);
  });
});

describe('a watched store in Redis', () => {
  beforeEach(async () => {
    redis = await startRedis();
    onTestFinished(redis.stop);
  });

  it('reports that any record may have changed when it is connected again', async () => {
    const store = await open();
    const reported: (string | undefined)[] = [];
    store.watch('places', (name) => reported.push(name));
    await eventually(() => store.isWatching);
    reported.splice(0);
    await redis?.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(() => reported.includes(undefined) && store.isWatching);
    await redis?.kill();
    await eventually(() => !store.isWatching);
    await redis?.restart();
    await eventually(() => store.isUp && store.isWatching);
    await store.put('places', 'a', 'first');
    await eventually(() => reported.includes('a'));
  });

  it('is not watched if Redis rejects SUBSCRIBE, which is logged once', async () => {
    await redis?.cli('ACL', 'SETUSER', 'managed', 'on', '>pass', '~*', '&*', '+@all', '-subscribe');
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const url = redis?.url.replace('//', '//managed:pass@');
    const store = openStore({ REDIS_URL: url, DATA_DIR: dataDir }, log);
    onTestFinished(() => store.close());
    store.watch('places', () => undefined);
    await store.waitUntilReady(10_000);
    await eventually(() => lines.length > 0);
    await redis?.cli('CLIENT', 'KILL', 'USER', 'managed');
    await eventually(() => !store.isUp);
    await eventually(() => store.isUp);
    await staysTrueFor(200, () => !store.isWatching);
    expect(lines.filter((line) => line.includes('Redis rejects SUBSCRIBE'))).toHaveLength(1);
    expect(lines.join('')).not.toContain('pass"');
  });

  it('puts an urgent record, and writes the journal, while the memory of Redis is full', async () => {
    const store = await open();
    await store.put('places', 'a', 'first');
    await redis?.cli('CONFIG', 'SET', 'maxmemory', '1');
    await expect(store.put('places', 'b', 'first')).rejects.toThrow('OOM');
    await expect(store.add('counts', 'k', { a: 1 }, adding(1))).rejects.toThrow('OOM');
    expect(await store.put('places', 'a', 'second', { expected: 'first', isUrgent: true })).toBe(true);
    expect(await store.get('places', 'a')).toBe('second');
    await store.append('gatehouse:audit', { at: '1' });
    expect(await redis?.cli('XLEN', 'gatehouse:audit')).toBe('1');
  });
});

describe('a store in a file', () => {
  it('makes the file at the first write, for its owner only', async () => {
    const store = await open();
    await store.get('places', 'a');
    await store.scan('places');
    await store.delete('places', 'a');
    expect([await namesIn(store, 'counts'), readdirSync(dataDir)]).toEqual([[], []]);
    await store.put('places', 'a', 'b');
    const files = readdirSync(dataDir);
    expect(files).toContain('gatehouse.db');
    expect(files.map((file) => statSync(join(dataDir, file)).mode & 0o777)).toEqual(files.map(() => 0o600));
    await store.close();
    // So that a copy of the one file has everything.
    expect(statSync(join(dataDir, 'gatehouse.db-wal')).size).toBe(0);
  });

  it.each([['damaged', 'not a database', /gatehouse\.db is damaged \(file is not a database\): restore a backup/]])(
    'that is %s says so, and what to do',
    async (_, text, error) => {
      writeFileSync(join(dataDir, 'gatehouse.db'), text);
      const store = await open();
      await expect(store.get('places', 'a')).rejects.toThrow(error);
      await expect(store.put('places', 'a', 'b')).rejects.toThrow(error);
    },
  );

  it.each([0o620, 0o602, 0o666])('with the mode %o, which lets others write it, is not used', async (mode) => {
    await (await open()).put('places', 'a', 'b');
    const path = join(dataDir, 'gatehouse.db');
    chmodSync(path, mode);
    const store = await open();
    await expect(store.get('places', 'a')).rejects.toThrow(
      `${path} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`,
    );
  });

  it('that others may read is used, with one warning, however often it could not be opened', async () => {
    await (await open()).put('places', 'a', 'b');
    const path = join(dataDir, 'gatehouse.db');
    chmodSync(path, 0o640);
    const setVersion = (version: number): void => {
      const file = new DatabaseSync(path);
      file.exec(`PRAGMA user_version = ${version}`);
      file.close();
    };
    setVersion(2);
    const lines: string[] = [];
    const log = pino({}, { write: (line) => lines.push(line) });
    const store = openStore({ REDIS_URL: undefined, DATA_DIR: dataDir }, log);
    onTestFinished(() => store.close());
    for (let n = 0; n < 2; n++) await expect(store.get('places', 'a')).rejects.toThrow('newer version');
    setVersion(1);
    expect(await store.get('places', 'a')).toBe('b');
    expect(lines).toEqual([expect.stringContaining('chmod 600 gatehouse.db')]);
  });

  it('is watched without preventing the end of the process', async () => {
    const handles = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = handles();
    (await open()).watch('places', () => undefined);
    expect(handles()).toBe(before);
  });

  it('in a place where no folder can be made says so', async () => {
    writeFileSync(join(dataDir, 'file'), '');
    const store = openStore({ REDIS_URL: undefined, DATA_DIR: join(dataDir, 'file', 'data') }, silent);
    expect(await store.get('places', 'a')).toBeUndefined();
    await expect(store.put('places', 'a', 'b')).rejects.toThrow(/gatehouse\.db cannot be opened \((ENOTDIR|EEXIST)\)/);
  });

  it('of a newer version is not changed', async () => {
    const file = new DatabaseSync(join(dataDir, 'gatehouse.db'));
    file.exec('PRAGMA user_version = 2');
    file.close();
    const store = await open();
    await expect(store.put('places', 'a', 'b')).rejects.toThrow('is of a newer version of Gatehouse');
  });

  it('waits for a process that has it locked', async () => {
    const store = await open();
    await store.put('places', 'a', 'first');
    const file = new DatabaseSync(join(dataDir, 'gatehouse.db'));
    file.exec('BEGIN IMMEDIATE');
    const written = store.put('places', 'a', 'second');
    expect(await store.get('places', 'a')).toBe('first');
    file.exec('COMMIT');
    file.close();
    await written;
    expect(await store.get('places', 'a')).toBe('second');
  });
});
