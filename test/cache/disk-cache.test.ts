import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { DiskCache } from '../../gateway/cache/disk-cache.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openSqlite } from '../../gateway/store/open-sqlite.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { runCommand } from '../support/run-command.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { makeFolderInMemory } from '../support/folder-in-memory.ts';
import { account, callThroughCache, followCache, responseOf } from './follow-cache.ts';

const atFinal = [account, '0x0', '0x64'];
const word = `0x${'7'.repeat(64)}`;
const neverAsked = (): Promise<never> => Promise.reject(new Error('the test expects no upstream request'));

function folderOfTest(): string {
  const folder = makeFolderInMemory('gatehouse-cache-');
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return join(folder, 'data');
}

function openDisk(dataDir: string, { maxBytes = 10_000_000, freeBytes = (): number => 1e12 } = {}) {
  const outcomes: Record<string, number> = {};
  let logged = '';
  const log = pino({ base: null }, { write: (line) => (logged += line) });
  const path = join(dataDir, 'cache.db');
  const disk = new DiskCache(
    path,
    maxBytes,
    (outcome) => (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1),
    log,
    freeBytes,
  );
  onTestFinished(() => disk.close());
  return { disk, path, outcomes, logged: () => logged };
}

async function store(disk: DiskCache, key: string, json: string | Buffer): Promise<void> {
  expect(await disk.write(key, json)).toBe(true);
}

it('a permanently valid result survives a restart', async () => {
  const dataDir = folderOfTest();
  const chain = new ScriptedChain({ from: 100 });
  const before = openDisk(dataDir);
  const one = await followCache({ finalized: 100, durable: before.disk, chain });
  await callThroughCache(one.cacheOf('eth_getStorageAt'), atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => before.outcomes['written'] === 1);
  await before.disk.close();

  const { disk } = openDisk(dataDir);
  const other = await followCache({ finalized: 100, durable: disk, chain: chain.copy() });
  const found = await callThroughCache(other.cacheOf('eth_getStorageAt'), atFinal, neverAsked);
  expect(found).toEqual({ kind: 'cached', result: `"${word}"` });
  expect(other.counted).toMatchObject({ disk: 1, miss: 0 });
});

it('results of a chain that was wiped meanwhile are not found', async () => {
  const dataDir = folderOfTest();
  const before = openDisk(dataDir);
  const one = await followCache({ finalized: 100, durable: before.disk });
  await callThroughCache(one.cacheOf('eth_getStorageAt'), atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => before.outcomes['written'] === 1);
  await before.disk.close();

  const { disk } = openDisk(dataDir);
  const other = await followCache({
    finalized: 100,
    durable: disk,
    chain: new ScriptedChain({ from: 100 }),
  });
  const request = (): Promise<ReturnType<typeof responseOf>> => Promise.resolve(responseOf('0x1'));
  expect(await callThroughCache(other.cacheOf('eth_getStorageAt'), atFinal, request)).toEqual({
    kind: 'cached',
    result: '"0x1"',
  });
});

it('large and small results are found as they were stored, also by another process with the same file', async () => {
  const dataDir = folderOfTest();
  const { disk } = openDisk(dataDir);
  const large = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `0x${index.toString(16)}`));
  await store(disk, 'small', '"0x1"');
  await store(disk, 'large', Buffer.from(large));
  const { disk: other } = openDisk(dataDir);
  for (const each of [disk, other]) {
    expect(await each.get('small')).toBe('"0x1"');
    expect((await each.get('large'))?.toString()).toBe(large);
    expect(await each.get('none')).toBeUndefined();
  }
  expect(statSync(join(dataDir, 'cache.db')).mode & 0o777).toBe(0o600);
});

it('above its size, the oldest results go', async () => {
  const { disk } = openDisk(folderOfTest(), { maxBytes: 500_000 });
  // Not compressible: each takes 1 kB.
  const resultOf = (index: number): string =>
    JSON.stringify(String.fromCharCode(65 + (index % 26)).repeat(900) + index);
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => store(disk, `key ${index}`, resultOf(index))));
  expect(disk.bytes).toBeLessThan(800_000);
  expect(await disk.get('key 0')).toBeUndefined();
  expect(await disk.get('key 1999')).toBe(resultOf(1_999));
});

it('the file is removed while the disk is almost full, and the log says so', async () => {
  let free = 1e12;
  const { disk, path, logged, outcomes } = openDisk(folderOfTest(), { freeBytes: () => free });
  await store(disk, 'one', '1');
  free = 1e8;
  await eventually(() => !existsSync(path));
  expect(logged()).toContain('the disk has less than 128 MB left');
  disk.set('two', '2');
  expect(outcomes['not-written']).toBe(1);
  expect(await disk.get('one')).toBeUndefined();
});

it.each(['is no database', 'SQLite format 3\0'])('a file with %j is removed', async (content) => {
  const dataDir = folderOfTest();
  await openDisk(dataDir).disk.close();
  const first = openDisk(dataDir);
  await store(first.disk, 'one', '1');
  await first.disk.close();
  rmSync(`${first.path}-wal`);
  writeFileSync(first.path, content);
  const { disk, path, logged } = openDisk(dataDir);
  expect(await disk.get('one')).toBeUndefined();
  expect(existsSync(path)).toBe(false);
  expect(logged()).toContain('it is damaged');
});

it('while another process writes, nothing is lost', async () => {
  const dataDir = folderOfTest();
  const { disk } = openDisk(dataDir);
  await store(disk, 'one', '1');
  const other = openSqlite(join(dataDir, 'cache.db'));
  other.exec('BEGIN IMMEDIATE');
  let isWritten: boolean | undefined;
  void disk.write('two', '2').then((written) => (isWritten = written));
  await scenarioPause(100);
  expect(isWritten).toBeUndefined();
  other.exec('COMMIT');
  other.close();
  await eventually(() => isWritten === true);
  expect(await disk.get('two')).toBe('2');
});

it('a file that another process has put in place of this one is not removed', async () => {
  const dataDir = folderOfTest();
  const { disk, path } = openDisk(dataDir);
  await store(disk, 'one', '1');
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  const { disk: other } = openDisk(dataDir);
  await store(other, 'two', '2');
  await eventually(async () => (await disk.get('two')) === '2');
  expect(await other.get('two')).toBe('2');
});

it('a file that other accounts may write is not used', async () => {
  const dataDir = folderOfTest();
  const { disk, path } = openDisk(dataDir);
  await store(disk, 'one', '1');
  await disk.close();
  chmodSync(path, 0o666);
  const { disk: again } = openDisk(dataDir);
  expect(await again.get('one')).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('nothing is written after the end', async () => {
  const { disk, path } = openDisk(folderOfTest());
  await disk.close();
  expect(await disk.write('one', '1')).toBe(false);
  expect(existsSync(path)).toBe(false);
});

it('a folder that cannot be written costs one line of the log', async () => {
  const dataDir = folderOfTest();
  writeFileSync(dataDir, 'a file in place of the folder');
  const { disk, logged, outcomes } = openDisk(dataDir);
  expect(await disk.write('one', '1')).toBe(false);
  expect(await disk.get('one')).toBeUndefined();
  disk.set('two', '2');
  expect(outcomes['not-written']).toBe(1);
  expect(logged().trim().split('\n')).toHaveLength(1);
  expect(logged()).toContain('results about final blocks are not stored');
});

it('`cache clear` removes the results of a network, and a gateway in use finds none of them', async () => {
  const dataDir = folderOfTest();
  const { disk, outcomes } = openDisk(dataDir);
  const { cacheOf, final } = await followCache({ finalized: 100, durable: disk });
  const storage = cacheOf('eth_getStorageAt');
  await callThroughCache(storage, atFinal, () => Promise.resolve(responseOf(word)));
  await eventually(() => outcomes['written'] === 1);
  const { generation } = final;
  const clear = (...args: string[]) =>
    runCommand(['cache', 'clear', ...args], { env: { DATA_DIR: dataDir }, folder: dataDir });
  expect((await clear('other')).stdout).toBe('Removed the cached responses of 0 networks\n');
  expect((await clear('--json', 'test')).stdout).toBe('{"networks":1}\n');
  await eventually(() => {
    // As after 30 s.
    final.isChecked(clock.now() + 60_000);
    return final.generation !== generation;
  });
  const again = await callThroughCache(storage, atFinal, () => Promise.resolve(responseOf('0x1')));
  expect(again).toEqual({ kind: 'cached', result: '"0x1"' });
});

it('a gateway that was restarted serves old blocks without its upstream', async () => {
  const dataDir = folderOfTest();
  const chain = new ScriptedChain({ from: 100 });
  const node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  node.response('eth_getBlockByNumber', ([which]: [string]) => chain.byNumber(which === 'finalized' ? '0x64' : which));
  const call = async (): Promise<{ requests: number; metrics: string }> => {
    const gateway = await startGateway({ main: network(5, [node.url]) }, { DATA_DIR: dataDir });
    try {
      // Until the final block is known.
      await eventually(async () => {
        const before = node.callsOf('eth_getStorageAt').length;
        expect((await gateway.call('main', 'eth_getStorageAt', atFinal)).result).toBe(word);
        return node.callsOf('eth_getStorageAt').length === before;
      });
      const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
      return { requests: node.callsOf('eth_getStorageAt').length, metrics };
    } finally {
      await gateway.stop();
    }
  };
  const first = await call();
  const second = await call();
  const lookups = second.metrics.split('\n').filter((line) => line.startsWith('gatehouse_cache_lookups_total{'));
  expect(lookups.filter((line) => line.includes('disk'))).toEqual([expect.stringMatching(/ 1$/)]);
  expect(second.requests - first.requests).toBe(0);
});
