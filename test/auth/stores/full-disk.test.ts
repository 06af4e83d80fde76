import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/redis.ts';
import { openLog } from '../../../gateway/config/log.ts';
import { openStore } from '../../../gateway/store/open-store.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { runKeys } from '../run-keys.ts';

const ADMIN_TOKEN = 'the-admin-token-of-this-test';
const DISK_BYTES = 25_165_824;

let disk: string;
let node: FakeNode;
let gateway: TestGateway;
let ops: string;

beforeAll(async () => {
  disk = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'));
  // Fails without root: a test that skips itself would show nothing.
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'none', disk]);
  node = await startFakeNode({ chainId: 5 });
  const env = { DATA_DIR: join(disk, 'data'), OPS_PORT: String(await freePort()), ADMIN_TOKEN };
  ops = `http://127.0.0.1:${env.OPS_PORT}`;
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
});

afterEach(() => {
  rmSync(join(disk, 'filler'), { force: true });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
  execFileSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true });
});

/** @param leave bytes that stay free */
function fillDisk(leave = 0): void {
  const filler = openSync(join(disk, 'filler'), 'w');
  const write = (bytes: number): void => {
    for (let done = 0; done < bytes;) done += writeSync(filler, Buffer.alloc(Math.min(4_096, bytes - done)));
  };
  try {
    const free = Number(execFileSync('df', ['--output=avail', '-B1', disk], { encoding: 'utf8' }).split('\n')[1]);
    write(free - leave);
    if (leave === 0)
      expect(() => {
        write(4_096);
      }).toThrow('ENOSPC');
  } finally {
    closeSync(filler);
  }
}

const keys = (...args: string[]): ReturnType<typeof runKeys> =>
  runKeys({ REDIS_URL: undefined, DATA_DIR: join(disk, 'data') }, args);
const readiness = async (): Promise<[number, unknown]> => {
  const response = await fetch(`${ops}/readyz`);
  return [response.status, await response.json()];
};
const keyStoreUp = async (): Promise<number | undefined> => (await readMetrics(ops)).value('gatehouse_key_store_up');

it('a full DATA_DIR is seen without a change of keys, calls go on, and a command is rejected with the cause', async () => {
  expect(await readiness()).toMatchObject([200, { ready: true, keyStore: { available: true } }]);
  fillDisk();
  await eventually(async () => (await readiness())[0] === 503, 60_000, 250);
  expect(await readiness()).toMatchObject([503, { ready: false, keyStore: { kind: 'file', available: false } }]);
  expect(await keyStoreUp()).toBe(0);
  expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });

  const created = await keys('create', '--name', 'alice');
  expect(created.exitCode).toBe(1);
  expect(created.err).toMatch(/^\S+\/gatehouse\.db cannot be written: the disk is full\n$/);
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const response = await fetch(`${ops}/admin/keys`, { method: 'POST', headers, body: '{"name":"alice"}' });
  const text = expect.stringMatching(/gatehouse\.db cannot be written: the disk is full$/) as string;
  expect([response.status, await response.json()]).toEqual([503, { error: { message: text } }]);
  expect(readdirSync(join(disk, 'data')).filter((name) => /lock|tmp|probe/.test(name))).toEqual([]);
  const { id } = JSON.parse((await keys('list', '--json')).out.slice(1, -2)) as { id: string };
  expect(await keys('revoke', id)).toMatchObject({ exitCode: 0, err: '' });
  await eventually(async () => 'error' in (await gateway.call('main', 'net_version')));

  rmSync(join(disk, 'filler'));
  await eventually(async () => (await readiness())[0] === 200, 60_000, 250);
  expect(await keyStoreUp()).toBe(1);
  expect((await keys('create', '--name', 'alice')).exitCode).toBe(0);
});

it('on a disk with little space, sums are rejected and keys can be created', async () => {
  await eventually(async () => (await readiness())[0] === 200);
  fillDisk(700_000);
  const store = openStore({ REDIS_URL: undefined, DATA_DIR: join(disk, 'data') }, openLog('silent'));
  await expect(store.add('counts', 'k', { a: 1 }, { ttlMs: 3_600_000, number: 1 })).rejects.toThrow('the disk is full');
  expect((await keys('create', '--name', 'alice')).exitCode).toBe(0);
  await store.close();
});
