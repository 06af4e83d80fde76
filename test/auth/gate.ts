import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, expect } from 'vitest';
import { RpcError, type Reason } from '../../gateway/jsonrpc/errors.ts';
import { Authenticator, type AuthenticatorOptions } from '../../gateway/auth/authenticate.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { KeyStore } from '../../gateway/auth/stores/key-store.ts';
import { RedisKeyStore } from '../../gateway/auth/stores/redis-key-store.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { eventually } from './eventually.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export const silent = pino({ level: 'silent' });
export const createdAt = '2026-01-02T03:04:05.678Z';
export const address = '203.0.113.7';

/** Undone after all tests, not after each: those that mostly wait run side by side. */
export const cleanups: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(cleanups.map((cleanup) => cleanup())));

/** A gateway's part that is tested here: a store and the authenticator on it. */
export interface Gate {
  readonly store: KeyStore;
  readonly authenticator: Authenticator;
  /** What a call with this key comes to. */
  readonly try: (key: string, from?: string) => Promise<'in' | Reason>;
}

export function makeGate(store: KeyStore, options: Partial<AuthenticatorOptions> = {}): Gate {
  cleanups.push(() => store.close());
  const authenticator = new Authenticator(store, { keyStaleMaxS: 3600, unknownKeysMax: 20, log: silent, ...options });
  const attempt = async (key: string, from = address): Promise<'in' | Reason> => {
    try {
      await authenticator.authenticate(key, from);
      return 'in';
    } catch (error) {
      if (error instanceof RpcError) return error.reason;
      throw error;
    }
  };
  return { store, authenticator, try: attempt };
}

export async function startOwnRedis(port?: number): Promise<RedisServer> {
  const redis = await startRedis(port === undefined ? {} : { port });
  cleanups.push(redis.stop);
  return redis;
}

/** A gate that is connected and hears of changes. */
export async function openGate(url: string, options: Partial<AuthenticatorOptions> = {}): Promise<Gate> {
  const gate = makeGate(new RedisKeyStore(url, silent), options);
  await eventually(() => gate.store.isAvailable && gate.store.freshForMs > 1_000, 2_000);
  return gate;
}

/** What an operator would type: the key exists from now on. */
export async function addByHand(redis: RedisServer, key = makeKey()): Promise<string> {
  await redis.cli('HSET', `gatehouse:key:${digestOf(key)}`, 'name', 'alice', 'createdAt', createdAt);
  return key;
}

/** Lets the keys in until they are known by heart: that they were just written may be told after the first look-up. */
export async function remember(gate: Gate, ...keys: string[]): Promise<void> {
  await eventually(async () => {
    for (const key of keys) expect(await gate.try(key)).toBe('in');
    await sleep(20);
    const { hit } = gate.authenticator.counts;
    for (const key of keys) await gate.try(key);
    return gate.authenticator.counts.hit === hit + keys.length;
  }, 1_000);
}

export function removeByHand(redis: RedisServer, key: string): Promise<string> {
  return redis.cli('DEL', `gatehouse:key:${digestOf(key)}`);
}

export function revokeByHand(redis: RedisServer, key: string): Promise<string> {
  return redis.cli('HSET', `gatehouse:key:${digestOf(key)}`, 'revokedAt', createdAt);
}

export async function lookUpsAt(redis: RedisServer): Promise<number> {
  return Number(/cmdstat_hgetall:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1] ?? 0);
}

/** A gate whose wire to Redis the test holds, with the ports by which Redis knows its two connections. */
export async function openGateThroughProxy(
  redis: RedisServer,
): Promise<{ gate: Gate; proxy: TcpProxy; commandsPort: number; changesPort: number }> {
  const proxy = await startTcpProxy(redis.port);
  cleanups.push(() => proxy.close());
  const others = await portsAt(redis, 'normal');
  const gate = await openGate(`redis://127.0.0.1:${proxy.port}`);
  const [commandsPort, ...more] = (await portsAt(redis, 'normal')).filter((port) => !others.includes(port));
  const changesPort = (await portsAt(redis, 'pubsub')).at(-1);
  if (commandsPort === undefined || changesPort === undefined || more.length > 0) throw new Error('which is which?');
  return { gate, proxy, commandsPort, changesPort };
}

/** Remote ports of Redis' connections of a type, oldest first, without the one that asks. */
async function portsAt(redis: RedisServer, type: 'normal' | 'pubsub'): Promise<number[]> {
  const lines = (await redis.cli('CLIENT', 'LIST', 'TYPE', type)).split('\n');
  const ports = lines
    .filter((line) => !line.includes('cmd=client|list'))
    .map((line) => / addr=\S+:(\d+) /.exec(line)?.[1]);
  return ports.filter((port) => port !== undefined).map(Number);
}
