import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listKeys } from '../../../gateway/auth/stores/key-store.ts';
import { ensureDevelopmentKey } from '../../../gateway/auth/development-key.ts';
import { withFileLock } from '../../../gateway/auth/stores/file-lock.ts';
import { FileKeyStore } from '../../../gateway/auth/stores/file-key-store.ts';
import { KeyFileError } from '../../../gateway/auth/stores/key-file.ts';
import { digestOf, isWellFormedKey, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { eventually, SOON_MS, staysTrueFor } from '../../support/eventually.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { startFileWriter } from './file-writer.ts';
import { tracked } from '../../support/child-processes.ts';

const silent = pino({ level: 'silent' });
const createdAt = '2026-01-02T03:04:05.678Z';
const openFile = fs.openSync;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

function open(dataDir: string, log = silent): FileKeyStore {
  const store = new FileKeyStore(dataDir, log);
  onTestFinished(() => store.close());
  return store;
}

describe('the key file', () => {
  it('is readable only by its owner, like its folder, and has digests instead of keys', async () => {
    const dataDir = join(makeFolder(), 'deep', 'data');
    const key = makeKey();
    await open(dataDir).add(digestOf(key), { name: 'alice', createdAt });
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'keys.json')).mode & 0o777).toBe(0o600);
    const text = readFileSync(join(dataDir, 'keys.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ keys: { [digestOf(key)]: { name: 'alice', createdAt } } });
    expect(readdirSync(dataDir)).toEqual(['keys.json']);
  });

  it('loses nothing if several processes write concurrently and one is killed', async () => {
    const dataDir = join(makeFolder(), 'data');
    const [killed, ...writers] = ['killed', 'a', 'b', 'c', 'd'].map((name) => startFileWriter(dataDir, name));
    // From now on: on a loaded machine, one has ended before the other is killed.
    const codes = Promise.all(writers.map(async (child) => ((await once(child, 'exit')) as [number])[0]));
    await eventually(async () => (await open(dataDir).entries()).size > 10);
    killed?.kill('SIGKILL');
    expect(await codes).toEqual([0, 0, 0, 0]);
    const names = (await listKeys(open(dataDir))).map((record) => record.name);
    for (const name of ['a', 'b', 'c', 'd']) expect(names.filter((other) => other === name)).toHaveLength(25);
  });

  it('is not created before the first key', async () => {
    const dataDir = join(makeFolder(), 'data');
    const store = open(dataDir);
    expect(await listKeys(store)).toEqual([]);
    expect(readdirSync(join(dataDir, '..'))).toEqual([]);
  });

  it('has a key that another process has added at the next lookup', async () => {
    const dataDir = makeFolder();
    const [store, other] = [open(dataDir), open(dataDir)];
    for (let count = 0; count < 5; count++) {
      const digest = digestOf(makeKey());
      await other.add(digest, { name: 'alice', createdAt });
      // Shorter than the interval at which the file is polled.
      await scenarioPause(15);
      expect(await store.find(digest)).toMatchObject({ name: 'alice' });
    }
  });

  it.each([
    ['{"keys": {', 'is not valid JSON'],
    ['[]', 'is not a key file'],
    ['{"keys": {"alice": {"name": "alice", "createdAt": ""}}}', 'the entry alice… is not a key'],
    [`{"keys": {"${'0'.repeat(64)}": {"name": 1, "createdAt": ""}}}`, 'the entry 000000000000… is not a key'],
    [`{"keys": {"${'0'.repeat(64)}": {"name": "a", "createdAt": "", "revokedAt": null}}}`, 'is not a key'],
  ])('with the content %s stops the start, with its path', (text, message) => {
    const dataDir = makeFolder();
    writeFileSync(join(dataDir, 'keys.json'), text);
    expect(() => new FileKeyStore(dataDir, silent)).toThrow(KeyFileError);
    expect(() => new FileKeyStore(dataDir, silent)).toThrow(message);
    expect(() => new FileKeyStore(dataDir, silent)).toThrow(join(dataDir, 'keys.json'));
  });

  it('that becomes invalid is logged once, and the previous keys stay active until it is corrected', async () => {
    const dataDir = makeFolder();
    const lines: string[] = [];
    const store = open(dataDir, pino({ base: null }, { write: (line) => lines.push(line) }));
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    const valid = readFileSync(store.path, 'utf8');

    writeFileSync(store.path, 'oops');
    await eventually(() => lines.length > 0, SOON_MS);
    await staysTrueFor(500, () => lines.length === 1);
    expect(lines[0]).toContain('keys.json is not valid JSON');
    expect(await store.find(digest)).toMatchObject({ name: 'alice' });
    await expect(store.add(digestOf('b'), { name: 'bob', createdAt })).rejects.toThrow(KeyFileError);

    writeFileSync(store.path, valid.replace('alice', 'carol'));
    await eventually(async () => (await store.find(digest))?.name === 'carol', SOON_MS);
  });

  it('that cannot be read for a while is logged once, and its change is active when it can be read again', async () => {
    const dataDir = makeFolder();
    const lines: string[] = [];
    const store = open(dataDir, pino({ base: null }, { write: (line) => lines.push(line) }));
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    const failure = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    const opening = vi.spyOn(fs, 'openSync').mockImplementation((path, flags, mode) => {
      if (path === store.path && flags === 'r') throw failure;
      return openFile(path, flags, mode);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      opening.mockRestore();
      syncBuiltinESMExports();
    });
    const { keys } = JSON.parse(readFileSync(store.path, 'utf8')) as { readonly keys: Record<string, object> };
    writeFileSync(store.path, JSON.stringify({ keys: { [digest]: { ...keys[digest], revokedAt: createdAt } } }));
    await eventually(() => lines.length > 0, SOON_MS);
    await staysTrueFor(500, () => lines.length === 1);
    expect(lines[0]).toContain('keys.json cannot be read (EMFILE)');
    expect(lines[0]).toContain('the key file cannot be read now: the previous keys stay active');
    expect(await store.find(digest)).not.toHaveProperty('revokedAt');
    opening.mockRestore();
    syncBuiltinESMExports();
    await eventually(async () => (await store.find(digest))?.revokedAt === createdAt, SOON_MS);
    expect(lines).toHaveLength(1);
  });

  it.each([0o620, 0o602, 0o666])('with the mode %o, which lets others write it, stops the start', async (mode) => {
    const dataDir = makeFolder();
    const { path } = open(dataDir);
    await open(dataDir).add(digestOf(makeKey()), { name: 'alice', createdAt });
    chmodSync(path, mode);
    expect(() => new FileKeyStore(dataDir, silent)).toThrow(KeyFileError);
    expect(() => new FileKeyStore(dataDir, silent)).toThrow(
      `${path} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`,
    );
  });

  it('is not used from the moment when others may write it, and the log has a warning while others may read it', async () => {
    const dataDir = makeFolder();
    const lines: string[] = [];
    const store = open(dataDir, pino({ base: null }, { write: (line) => lines.push(line) }));
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    expect(lines).toEqual([]);
    chmodSync(store.path, 0o640);
    await eventually(() => lines.length === 1, SOON_MS);
    expect(lines[0]).toContain('other accounts may read the key file: chmod 600 keys.json');
    expect(await store.find(digest)).toMatchObject({ name: 'alice' });
    chmodSync(store.path, 0o606);
    writeFileSync(store.path, readFileSync(store.path, 'utf8').replace('alice', 'mallory'));
    await eventually(() => lines.length > 1, SOON_MS);
    expect(lines[1]).toContain('may be written by other accounts (mode 606)');
    await staysTrueFor(500, async () => (await store.find(digest))?.name === 'alice');
    chmodSync(store.path, 0o600);
    await eventually(async () => (await store.find(digest))?.name === 'mallory', SOON_MS);
  });

  it('removes all keys when it is deleted', async () => {
    const store = open(makeFolder());
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    rmSync(store.path);
    await eventually(async () => (await store.find(digest)) === undefined, SOON_MS);
  });

  it('is watched without preventing the end of the process', () => {
    const handles = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = handles();
    open(makeFolder());
    expect(handles()).toBe(before);
  });
});

describe('the lock of the key file', () => {
  it('is removed at once if its process was killed', async () => {
    const child = tracked(spawn(process.execPath, ['-e', '']));
    await once(child, 'exit');
    const path = join(makeFolder(), 'lock');
    writeFileSync(path, `${hostname()} ${child.pid ?? 0} left-behind`);
    // Its age would not end it before the timeout of 10 s.
    const later = new Date(Date.now() + 60_000);
    utimesSync(path, later, later);
    expect(await withFileLock(path, () => 'done')).toBe('done');
  });

  it('of another machine is removed after 5 s', async () => {
    const path = join(makeFolder(), 'lock');
    writeFileSync(path, 'elsewhere 1 left-behind');
    let isDone = false;
    const work = withFileLock(path, () => {
      isDone = true;
    });
    await staysTrueFor(200, () => !isDone);
    const earlier = new Date(Date.now() - 6_000);
    utimesSync(path, earlier, earlier);
    await work;
    expect(isDone).toBe(true);
  });

  it('has one holder at a time, even if many callers find a stale lock at once', async () => {
    const folder = makeFolder();
    const path = join(folder, 'lock');
    writeFileSync(path, 'elsewhere 1 left-behind');
    const earlier = new Date(Date.now() - 6_000);
    utimesSync(path, earlier, earlier);
    const file = join(folder, 'count');
    writeFileSync(file, '0');
    const count = (): void => {
      writeFileSync(file, String(Number(readFileSync(file, 'utf8')) + 1));
    };
    await Promise.all(Array.from({ length: 30 }, () => withFileLock(path, count)));
    expect(readFileSync(file, 'utf8')).toBe('30');
    expect(readdirSync(folder)).toEqual(['count']);
  });

  it('is released if the work fails', async () => {
    const path = join(makeFolder(), 'lock');
    const fail = (): never => {
      throw new Error('no');
    };
    await expect(withFileLock(path, fail)).rejects.toThrow('no');
    expect(await withFileLock(path, () => 'done')).toBe('done');
  });
});

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
