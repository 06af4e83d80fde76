import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { FileKeyStore } from '../../gateway/auth/stores/file-key-store.ts';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { RedisServer } from '../support/redis.ts';
import { eventually } from './eventually.ts';
import {
  address,
  addByHand,
  cleanups,
  createdAt,
  lookUpsAt,
  makeGate,
  openGate,
  openGateThroughProxy,
  remember,
  removeByHand,
  revokeByHand,
  silent,
  startOwnRedis,
  type Gate,
} from './gate.ts';

describe('while Redis is there', () => {
  let redis: RedisServer;
  let gate: Gate;
  let key: string;

  beforeEach(async () => {
    redis = await startOwnRedis();
    key = await addByHand(redis);
    gate = await openGate(redis.url);
  });

  it('a key is looked up once and from then on known without a promise', async () => {
    const access = await gate.authenticator.authenticate(key, address);
    expect(access).toEqual({ record: { id: keyIdOf(digestOf(key)), name: 'alice', createdAt }, canExplain: false });
    for (let n = 0; n < 100; n += 1) expect(gate.authenticator.authenticate(key, address)).toBe(access);
    expect(await lookUpsAt(redis)).toBe(1);
    expect(gate.authenticator.counts).toEqual({ hit: 100, stale: 0, found: 1, unknown: 0, unreachable: 0 });
  });

  it('calls that come at once with one new key share one look-up', async () => {
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => gate.try(key)));
    expect(new Set(outcomes)).toEqual(new Set(['in']));
    expect(await lookUpsAt(redis)).toBe(1);
  });

  it('a missing, malformed or overlong key is refused without a look-up', async () => {
    expect(await gate.try('')).toBe('key-missing');
    for (const text of [
      'alice',
      `${key}x`,
      key.slice(0, -1),
      'a'.repeat(100_000),
      '__proto__',
      `${key.slice(0, -1)}é`,
    ]) {
      expect(await gate.try(text)).toBe('key-invalid');
    }
    expect(await lookUpsAt(redis)).toBe(0);
  });

  it('an unknown key is refused, and looked up once for many calls', async () => {
    const unknown = makeKey();
    for (let n = 0; n < 50; n += 1) expect(await gate.try(unknown)).toBe('key-invalid');
    expect(await lookUpsAt(redis)).toBe(1);
  });

  it('a key that was refused works as soon as it is made', async () => {
    const young = makeKey();
    expect(await gate.try(young)).toBe('key-invalid');
    await addByHand(redis, young);
    expect(await eventually(async () => (await gate.try(young)) === 'in', 1_000)).toBeLessThan(500);
  });

  it('a key that is revoked by the command line ends within a second', async () => {
    expect(await gate.try(key)).toBe('in');
    const commandLine = await openGate(redis.url);
    await commandLine.store.revoke(keyIdOf(digestOf(key)));
    expect(await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000)).toBeLessThan(500);
  });

  it.each([
    ['DEL', (): Promise<string> => removeByHand(redis, key)],
    ['HSET revokedAt', (): Promise<string> => revokeByHand(redis, key)],
    ['EXPIRE', (): Promise<string> => redis.cli('PEXPIRE', `gatehouse:key:${digestOf(key)}`, '1')],
    ['FLUSHALL', (): Promise<string> => redis.cli('FLUSHALL')],
    [
      'a DEL of several keys',
      (): Promise<string> => redis.cli('DEL', 'gatehouse:key:a', `gatehouse:key:${digestOf(key)}`),
    ],
  ])('%s by hand ends a key within a second', async (_, act) => {
    await redis.cli('SET', 'gatehouse:key:a', 'not a key');
    expect(await gate.try(key)).toBe('in');
    await act();
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000);
  });

  it('a change that is told while a look-up is under way keeps its answer out of memory', async () => {
    const { gate: slow, proxy, commandsPort } = await openGateThroughProxy(redis);
    proxy.holdReplies(commandsPort);
    const early = slow.try(key);
    await eventually(async () => (await lookUpsAt(redis)) === 1, 400);
    await removeByHand(redis, key);
    await sleep(50);
    proxy.release();
    expect(await early).toBe('in');
    expect(await slow.try(key)).toBe('key-invalid');
  });

  it('a development key is let in only where that is allowed', async () => {
    const own = await openGate(redis.url, { allowDevelopmentKeys: true });
    await redis.cli('HSET', `gatehouse:key:${digestOf(key)}`, 'development', 'true');
    expect(await gate.try(key)).toBe('key-invalid');
    expect(await own.try(key)).toBe('in');
    const other = await addByHand(redis);
    await redis.cli('HSET', `gatehouse:key:${digestOf(other)}`, 'development', '1');
    expect([await gate.try(other), await own.try(other)]).toEqual(['key-invalid', 'in']);
  });

  it('what is no hash is no key', async () => {
    await remember(gate, key);
    await redis.cli('SET', `gatehouse:key:${digestOf(key)}`, 'x');
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000);
    expect(await gate.store.list()).not.toContainEqual(expect.objectContaining({ id: keyIdOf(digestOf(key)) }));
  });

  it('an address that tries many unknown keys at once is refused all the same; good ones are not held against it', async () => {
    const good = await Promise.all(Array.from({ length: 30 }, () => addByHand(redis)));
    for (const one of good) expect(await gate.try(one, '198.51.100.2')).toBe('in');
    const before = await lookUpsAt(redis);
    const guesses = await Promise.all(Array.from({ length: 100 }, () => gate.try(makeKey(), '198.51.100.2')));
    expect(guesses.filter((reason) => reason === 'unknown-key-limit')).toHaveLength(80);
    expect(await lookUpsAt(redis)).toBe(before + 20);
  });

  it('an address that tries many unknown keys is refused for a while, others and known keys are not', async () => {
    await remember(gate, key);
    for (let n = 0; n < 20; n += 1) expect(await gate.try(makeKey())).toBe('key-invalid');
    const before = await lookUpsAt(redis);
    for (let n = 0; n < 20; n += 1) expect(await gate.try(makeKey())).toBe('unknown-key-limit');
    expect(await gate.try(makeKey(), `::ffff:${address}`)).toBe('unknown-key-limit');
    expect(await lookUpsAt(redis)).toBe(before);

    expect(await gate.try(key)).toBe('in');
    expect(await gate.try(makeKey(), '198.51.100.1')).toBe('key-invalid');
    // Also when it is to be confirmed anew, after a loss of connection.
    const requested = await lookUpsAt(redis);
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => {
      expect(await gate.try(key)).toBe('in');
      return (await lookUpsAt(redis)) > requested;
    }, 2_000);
    await expect(Promise.resolve(gate.authenticator.authenticate(makeKey(), address))).rejects.toSatisfy(
      ({ retryAfterS }: RpcError) => retryAfterS !== undefined && retryAfterS >= 1 && retryAfterS <= 10,
    );
  });

  it('a known key that is tried often does not count as guessing when it was revoked', async () => {
    const keys = await Promise.all(Array.from({ length: 30 }, () => addByHand(redis)));
    for (const one of keys) await revokeByHand(redis, one);
    for (const one of keys) expect(await gate.try(one)).toBe('key-invalid');
  });
});

it('random keys from ever new addresses do not grow memory beyond a bound', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  cleanups.push(() => rm(dataDir, { recursive: true }));
  const gate = makeGate(new FileKeyStore(dataDir, silent));
  const random = (bytes: number): string => randomBytes(bytes).toString('hex');
  const guess = async (count: number): Promise<number> => {
    for (let done = 0; done < count; done++) await gate.try(random(16), `2001:db8:${random(2)}:${random(2)}::1`);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // By now whatever is bounded is full.
  const full = await guess(80_000);
  expect((await guess(80_000)) - full).toBeLessThan(4_000_000);
}, 30_000);

/** As `node --expose-gc` would have it. */
const collectGarbage = ((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

describe('with a key file', () => {
  it('keys work as soon as they are made and end within a second of their revocation by another process', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
    cleanups.push(() => rm(dataDir, { recursive: true }));
    const gate = makeGate(new FileKeyStore(dataDir, silent));
    const commandLine = makeGate(new FileKeyStore(dataDir, silent));
    const key = makeKey();
    expect(await gate.try(key)).toBe('key-invalid');
    await commandLine.store.add(digestOf(key), { name: 'alice', createdAt });
    await eventually(async () => (await gate.try(key)) === 'in', 1_000);
    await commandLine.store.revoke(keyIdOf(digestOf(key)));
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000);
  });
});
