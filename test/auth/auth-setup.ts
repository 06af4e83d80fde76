import { pino } from 'pino';
import { expect } from 'vitest';
import { RpcError, type Reason } from '../../gateway/jsonrpc/errors.ts';
import { Authenticator, type AuthenticatorOptions } from '../../gateway/auth/authenticate.ts';
import { processBounds } from '../../gateway/config/process-bounds.ts';
import { readAuth } from '../../gateway/auth/tokens/read-auth.ts';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { cleanups } from '../support/cleanups.ts';
import { openKeys, type OpenKeys } from '../support/open-keys.ts';
import { deleteKeyByHand, putKeyByHand } from '../support/redis-keys.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { eventually, SOON_MS } from '../support/eventually.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

export const silent = pino({ level: 'silent' });
export const createdAt = '2026-01-02T03:04:05.678Z';
export const address = '203.0.113.7';

/** The tested part of a gateway: a key store and its authenticator. */
export interface AuthSetup {
  readonly store: OpenKeys;
  readonly authenticator: Authenticator;
  /** Authenticates a key, and returns 'valid' or the reason of the rejection. */
  readonly try: (key: string, fromAddress?: string) => Promise<'valid' | Reason>;
}

export function makeAuth(store: OpenKeys, options: Partial<AuthenticatorOptions> = {}): AuthSetup {
  cleanups.push(() => store.close());
  const auth = readAuth({ files: [] });
  const bounds = { ...processBounds, unknownKeysMax: 20 };
  const defaults = { keyStaleMaxS: 3600, bounds, auth, isFirstWorker: () => true, log: silent };
  const authenticator = new Authenticator(store, { ...defaults, ...options });
  const attempt = async (key: string, fromAddress = address): Promise<'valid' | Reason> => {
    try {
      await authenticator.authenticate(key, fromAddress);
      return 'valid';
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

/** Opens a setup that is connected and gets reports of changes. */
export async function openAuth(url: string, options: Partial<AuthenticatorOptions> = {}): Promise<AuthSetup> {
  const auth = makeAuth(openKeys({ REDIS_URL: url }), options);
  await eventually(() => auth.store.isAvailable && auth.store.freshForMs > 1_000, SOON_MS);
  return auth;
}

/** Whether a call waits for a timer or a socket: else it ends before the event loop's next turn. */
export async function waits(call: () => Promise<unknown>): Promise<boolean> {
  let hasWaited = false;
  const turn = setImmediate(() => (hasWaited = true));
  await call();
  clearImmediate(turn);
  return hasWaited;
}

/** Lets the lookups of a store wait after their responses, without a timeout, until they are released. */
export function holdLookups({ store }: AuthSetup): { readonly started: () => number; readonly release: () => void } {
  const find = store.find.bind(store);
  let started = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  store.find = async (digest) => {
    started += 1;
    const record = await find(digest);
    await released;
    return record;
  };
  return { started: () => started, release };
}

/** Adds a key by redis-cli, as an operator can. */
export async function addKey(redis: RedisServer, key = makeKey()): Promise<string> {
  await putKeyByHand(redis, key, { name: 'alice', createdAt });
  return key;
}

/** Authenticates the keys until they stay cached: the report that they were written may arrive after the first lookup. */
export async function fillCache(auth: AuthSetup, ...keys: string[]): Promise<void> {
  await eventually(async () => {
    for (const key of keys) expect(await auth.try(key)).toBe('valid');
    await scenarioPause(20);
    const { hit } = auth.authenticator.counts;
    for (const key of keys) await auth.try(key);
    return auth.authenticator.counts.hit === hit + keys.length;
  }, SOON_MS);
}

export function deleteKey(redis: RedisServer, key: string): Promise<string> {
  return deleteKeyByHand(redis, key);
}

export function revokeKey(redis: RedisServer, key: string): Promise<void> {
  return putKeyByHand(redis, key, { name: 'alice', createdAt, revokedAt: createdAt });
}

export async function countLookups(redis: RedisServer): Promise<number> {
  return Number(/cmdstat_hget:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1] ?? 0);
}

/** Opens a setup whose connections to Redis pass a proxy, with the ports of its two connections as Redis sees them. */
export async function openAuthThroughProxy(
  redis: RedisServer,
): Promise<{ auth: AuthSetup; proxy: TcpProxy; commandsPort: number; changesPort: number }> {
  const proxy = await startTcpProxy(redis.port);
  cleanups.push(() => proxy.close());
  const others = await portsAt(redis, 'normal');
  const auth = await openAuth(`redis://127.0.0.1:${proxy.port}`);
  const [commandsPort, ...more] = (await portsAt(redis, 'normal')).filter((port) => !others.includes(port));
  const changesPort = (await portsAt(redis, 'pubsub')).at(-1);
  if (commandsPort === undefined || changesPort === undefined || more.length > 0)
    throw new Error('the two connections cannot be distinguished');
  return { auth, proxy, commandsPort, changesPort };
}

/** Remote ports of Redis' connections of a type, oldest first, without the connection of this command. */
async function portsAt(redis: RedisServer, type: 'normal' | 'pubsub'): Promise<number[]> {
  const lines = (await redis.cli('CLIENT', 'LIST', 'TYPE', type)).split('\n');
  const ports = lines
    .filter((line) => !line.includes('cmd=client|list'))
    .map((line) => / addr=\S+:(\d+) /.exec(line)?.[1]);
  return ports.filter((port) => port !== undefined).map(Number);
}
