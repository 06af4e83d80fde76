import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { readLine, writeLine } from '../../gateway/backup/backup-line.ts';
import { openUsage } from './open-usage.ts';
import { dayOf, type UsageDay } from '../../gateway/usage/usage-store.ts';
import { runKeys } from '../auth/run-keys.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { estimate, limited, receipt, storage, type Limited } from '../limits/limited.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

interface UsageRow {
  readonly method: string;
  readonly calls: number;
  readonly units: number;
  readonly errors: number;
  readonly bytes: number;
  readonly reasons?: Readonly<Record<string, number>>;
}

const today = (): string => dayOf(Date.now());

/** The output of `gatehouse keys usage`. */
async function printUsage(id: string, env: { url?: string; dataDir: string }, ...args: string[]): Promise<string> {
  const settings = { REDIS_URL: env.url, DATA_DIR: env.dataDir };
  const { out, err } = await runKeys(settings, ['usage', id, ...args]);
  return out + err;
}

async function startOwnRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return redis;
}

describe.each(['file', 'redis'])('usage, stored in %s', (kind) => {
  let place: { url?: string; dataDir: string };
  let own: Limited;

  async function start(env: Record<string, string> = {}): Promise<RedisServer | undefined> {
    const redis = kind === 'redis' ? await startOwnRedis() : undefined;
    own = await limited({ ...env, ...(redis !== undefined && { REDIS_URL: redis.url }) });
    place = { dataDir: own.gateway.dataDir, ...(redis !== undefined && { url: redis.url }) };
    return redis;
  }

  async function rows(id = own.id): Promise<UsageRow[]> {
    return JSON.parse(await printUsage(id, place, '--json')) as UsageRow[];
  }

  it('counts calls, units, errors and bytes of HTTP calls, batches and WebSockets', async () => {
    await start();
    const { body } = await own.send(storage);
    const bytes = JSON.stringify(body).length;
    await own.batch([storage, estimate, ['eth_chainId'], ['eth_getStorageAt', ['0x']], ['no_such']]);
    const caller = await openCaller(socketUrl(own.gateway, 'other'));
    await caller.call(...(estimate as unknown as [string, unknown]));
    caller.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_chainId' }));
    await eventually(async () => (await rows()).some(({ method }) => method === 'eth_chainId'));
    caller.socket.close();
    await eventually(async () => (await rows()).length === 6);
    const day = today();
    const some = expect.any(Number) as number;
    expect(await rows()).toEqual([
      { day, network: 'other', method: 'eth_chainId', calls: 1, units: 0, errors: 0, bytes: 0 },
      { day, network: 'other', method: 'eth_estimateGas', calls: 1, units: 2, errors: 0, bytes: some },
      { day, network: 'test', method: 'eth_chainId', calls: 1, units: 0, errors: 0, bytes: some },
      { day, network: 'test', method: 'eth_estimateGas', calls: 1, units: 2, errors: 0, bytes: some },
      {
        day,
        network: 'test',
        method: 'eth_getStorageAt',
        calls: 3,
        units: 2,
        errors: 1,
        bytes: some,
        reasons: { 'invalid-params': 1 },
      },
      {
        day,
        network: 'test',
        method: 'other',
        calls: 1,
        units: 0,
        errors: 1,
        bytes: some,
        reasons: { 'method-not-found': 1 },
      },
    ]);
    expect((await rows())[4]?.bytes).toBeGreaterThan(2 * bytes);
  });

  it('counts calls that limits reject under `other`, without units', async () => {
    await start();
    await own.setPermissions({ daily: '2' });
    for (let time = 0; time < 5; time += 1) await own.send(receipt);
    await eventually(async () => (await rows()).reduce((sum, { calls }) => sum + calls, 0) === 5);
    expect(await rows()).toMatchObject([
      { method: 'eth_getTransactionReceipt', calls: 2, units: 2, errors: 0 },
      { method: 'other', calls: 3, units: 0, errors: 3, reasons: { daily: 3 } },
    ]);
    expect(await printUsage(own.id, place)).toMatch(/ test +other +3 +0 +3 +\d+ +daily 3\n$/);
  });

  it('has the errors of a method by permission and by outcome, and survives a backup', async () => {
    await start();
    await own.setPermissions({ methods: 'eth_getStorageAt' });
    for (let time = 0; time < 2; time += 1) await own.send(['eth_getStorageAt', ['0x']]);
    await own.send(storage);
    await own.send(receipt);
    await eventually(async () => (await rows()).reduce((sum, { calls }) => sum + calls, 0) === 4);
    const some = expect.any(Number) as number;
    const expected = [
      { method: 'eth_getStorageAt', calls: 3, units: some, errors: 2, reasons: { 'invalid-params': 2 } },
      { method: 'eth_getTransactionReceipt', calls: 1, errors: 1, reasons: { methods: 1 } },
    ];
    expect(await rows()).toMatchObject(expected);
    const lines: string[] = [];
    const settings = { DATA_DIR: place.dataDir, REDIS_URL: place.url };
    const usage = await openUsage(settings);
    for await (const day of usage.entries()) lines.push(writeLine({ kind: 'usage', ...day }));
    const restored = lines.map(readLine) as UsageDay[];
    const places = restored.flatMap(({ amounts }) => amounts.map(({ place: name }) => name));
    expect(places).toContain('test eth_getStorageAt:invalid-params');
  });

  it('is written completely when the gateway is stopped', async () => {
    await start();
    for (let time = 0; time < 7; time += 1) await own.send(storage);
    await own.gateway.gateway.drain();
    expect(await rows()).toMatchObject([{ calls: 7 }]);
  });

  it('is shown as a table', async () => {
    await start();
    expect(await printUsage(own.id, place)).toBe('No usage yet.\n');
    await own.send(storage);
    await eventually(async () => (await rows()).length === 1);
    const bytes = (await rows())[0]?.bytes ?? 0;
    expect(await printUsage(own.id, place)).toBe(
      `DAY         NETWORK  METHOD            CALLS  UNITS  ERRORS  BYTES${' '.repeat(Math.max(0, String(bytes).length - 5))}  REASONS\n` +
        `${today()}  test     eth_getStorageAt  1      1      0       ${bytes}\n`,
    );
    expect(await printUsage('0123456789ab', place)).toMatch(/^There is no key with the id 0123456789ab: /);
    expect(await printUsage(own.id, place, '--days', '91')).toBe('--days: expected a whole number from 1 to 90\n');
  });
});

describe('usage in Redis', () => {
  it('is the sum of two gateways, in a hash per key and day that expires after 90 days', async () => {
    const redis = await startOwnRedis();
    const [one, two] = [await limited({ REDIS_URL: redis.url }), await limited({ REDIS_URL: redis.url })];
    await one.send(storage);
    const url = `${two.gateway.address}/test/v3/${one.gateway.key}`;
    const [method, params] = storage;
    await (
      await fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
    ).text();
    const name = `gatehouse:usage:${keyIdOf(digestOf(one.gateway.key))}:${today()}`;
    await eventually(async () => (await redis.cli('HGET', name, 'test eth_getStorageAt calls')) === '2');
    expect(Number(await redis.cli('TTL', name))).toBeGreaterThan(90 * 86_400 - 10);
    expect(Number(await redis.cli('TTL', name))).toBeLessThanOrEqual(90 * 86_400);
    const text = await redis.cli('HGETALL', name);
    for (const hidden of [one.gateway.key, digestOf(one.gateway.key)]) expect(text).not.toContain(hidden);
  });

  it('is neither lost nor counted twice while Redis hangs', async () => {
    const redis = await startOwnRedis();
    const own = await limited({ REDIS_URL: redis.url });
    const place = { dataDir: '', url: redis.url };
    const calls = async (): Promise<number | undefined> =>
      (JSON.parse(await printUsage(own.id, place, '--json')) as UsageRow[])[0]?.calls;
    for (let time = 0; time < 4; time += 1) await own.send(storage);
    // Batches are sent before and while Redis hangs; it executes the latter after it resumes.
    redis.pause();
    for (let time = 0; time < 3; time += 1) {
      await own.send(storage);
      await scenarioPause(700);
    }
    redis.resume();
    await own.send(storage);
    await eventually(async () => (await calls()) === 8);
    await staysTrueFor(1_500, async () => (await calls()) === 8);
  });
});

it('the usage in files of version 0.1 is imported once, and the files are kept under another name', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-usage-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
  const [old, day] = [dayOf(Date.now() - 89 * 86_400_000), today()];
  const [first, second] = ['0123456789ab', '0fedcba98765'];
  for (const each of [old, day]) mkdirSync(join(dataDir, 'usage', each), { recursive: true });
  writeFileSync(join(dataDir, 'usage', old, '0.txt'), `\n${first} main eth_call 7 14 0 900\n`);
  const lines = [
    `${first} main eth_call 2 4 0 300`,
    `${second} main eth_call:daily 1 0 1 50`,
    `${first} main eth_call 3 6 0 400`,
  ];
  // The last line is incomplete, as after a power cut.
  writeFileSync(join(dataDir, 'usage', day, '0.txt'), `\n${lines.join('\n')}\n\n${second} main eth_ca`);
  writeFileSync(join(dataDir, 'usage', 'lock'), '');
  const own = await limited({ DATA_DIR: dataDir });
  const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: dataDir });
  expect(await usage.read(first, [old, day])).toEqual([
    { day: old, network: 'main', method: 'eth_call', calls: 7, units: 14, errors: 0, bytes: 900 },
    { day, network: 'main', method: 'eth_call', calls: 5, units: 10, errors: 0, bytes: 700 },
  ]);
  expect((await usage.read(second, [day])).map(({ calls, reasons }) => [calls, reasons])).toEqual([[1, { daily: 1 }]]);
  expect(existsSync(join(dataDir, 'usage'))).toBe(false);
  expect(readFileSync(join(dataDir, 'usage.imported', old, '0.txt'), 'utf8')).toContain(first);
  await own.gateway.gateway.drain();
  await limited({ DATA_DIR: dataDir });
  expect((await usage.read(first, [day]))[0]?.calls).toBe(5);
});

describe('metrics', () => {
  it('have labels with key ids only if METRICS_PER_KEY is on', async () => {
    const [without, withKeys] = [await limited(), await limited({ METRICS_PER_KEY: 'on' })];
    for (const each of [without, withKeys]) for (let time = 0; time < 3; time += 1) await each.send(estimate);
    const read = () => readMetrics(withKeys.gateway.address);
    await eventually(async () => (await read()).value('gatehouse_key_calls_total', { key: withKeys.id }) === 3);
    const page = await read();
    expect(page.value('gatehouse_key_request_units_total', { key: withKeys.id })).toBe(6);
    expect(page.value('gatehouse_key_errors_total', { key: withKeys.id })).toBe(0);
    expect(page.value('gatehouse_key_response_bytes_total', { key: withKeys.id })).toBeGreaterThan(100);
    expect(page.text).not.toContain(withKeys.gateway.key);
    expect((await readMetrics(without.gateway.address)).text).not.toContain('gatehouse_key_calls');
  });
});
