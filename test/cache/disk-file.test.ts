import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DiskCache } from '../../gateway/cache/disk-cache.ts';
import { openSqlite } from '../../gateway/store/open-sqlite.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { folderOfTest, openDisk } from './open-disk.ts';

const time = simulateTime();

async function store(disk: DiskCache, key: string, json: string | Buffer): Promise<void> {
  expect(await time().advanceUntil(disk.write(key, json))).toBe(true);
}

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
  // Too short to be compressed: each takes 1 kB.
  const resultOf = (index: number): string =>
    JSON.stringify(String.fromCharCode(65 + (index % 26)).repeat(900) + index);
  await Promise.all(Array.from({ length: 2_000 }, (_, index) => store(disk, `key ${index}`, resultOf(index))));
  expect(disk.bytes).toBeLessThanOrEqual(500_000);
  expect(await disk.get('key 0')).toBeUndefined();
  expect(await disk.get('key 1999')).toBe(resultOf(1_999));
});

it('the file is removed while the disk is almost full, and the log says so', async () => {
  let free = 1e12;
  const { disk, path, logged, outcomes } = openDisk(folderOfTest(), { freeBytes: () => free });
  await store(disk, 'one', '1');
  free = 1e8;
  await time().advance(10_000);
  expect(existsSync(path)).toBe(false);
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
  await time().advance(1_000);
  expect(isWritten).toBeUndefined();
  other.exec('COMMIT');
  other.close();
  await time().advance(1_000);
  expect(isWritten).toBe(true);
  expect(await disk.get('two')).toBe('2');
});

it('a file that another process has put in place of this one is not removed', async () => {
  const dataDir = folderOfTest();
  const { disk, path } = openDisk(dataDir);
  await store(disk, 'one', '1');
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  const { disk: other } = openDisk(dataDir);
  await store(other, 'two', '2');
  await time().advance(10_000);
  expect(await disk.get('two')).toBe('2');
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
  expect(await time().advanceUntil(disk.write('one', '1'))).toBe(false);
  expect(existsSync(path)).toBe(false);
});

it('a folder that cannot be written costs one line of the log', async () => {
  const dataDir = folderOfTest();
  writeFileSync(dataDir, 'a file in place of the folder');
  const { disk, logged, outcomes } = openDisk(dataDir);
  expect(await time().advanceUntil(disk.write('one', '1'))).toBe(false);
  expect(await disk.get('one')).toBeUndefined();
  disk.set('two', '2');
  expect(outcomes['not-written']).toBe(1);
  expect(logged().trim().split('\n')).toHaveLength(1);
  expect(logged()).toContain('results about final blocks are not stored');
});
