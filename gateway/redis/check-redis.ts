import { clock } from '../clock/clock.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { openLog, type Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { RedisClient } from './client.ts';
import { isRedisError, RedisLink } from './link.ts';
import { parseRedisUrl, type RedisAddress } from './url.ts';

/** Use of Redis by a program: serve calls with keys and limits, list or manage keys, or share cached responses. */
export type RedisUse = 'serve' | 'list' | 'manage' | 'cache';

/** Commands that are tried for a use. They change nothing, but Redis checks the user's rights, and a replica rejects a write. */
const trials: Readonly<Record<RedisUse, (redis: RedisClient, name: string) => Promise<unknown>>> = {
  serve: async (redis, name) => {
    await redis.hget('gatehouse:key', name);
    await redis.pexpire(`gatehouse:limit:${name}`, 1);
    await redis.eval('return 1', 1, `gatehouse:limit:${name}`);
    await redis.hget(`gatehouse:usage:${name}`, '-');
  },
  list: (redis) => redis.hscan('gatehouse:key', 0, 'COUNT', 1),
  manage: async (redis, name) => {
    await redis.hscan('gatehouse:key', 0, 'COUNT', 1);
    await redis.hdel('gatehouse:key', name);
  },
  // Not every Redis for a cache has scripts.
  cache: async (redis, name) => {
    await redis.get(`gatehouse:answer:${name}`);
    await redis.set(`gatehouse:answer:${name}`, '', 'XX');
  },
};
/** Names in so many slots that one node of a cluster, which redirects some of them, is not taken for a whole Redis. */
const names = Array.from({ length: 8 }, (_, index) => `-${index}`);

/** Interval at which an unsuccessful connection is examined. */
const STEP_MS = 25;

/** Redis responds, but cannot serve a gateway. The message is for the operator, and has no URL. */
export class UnsuitableRedis extends Error {
  override readonly name = 'UnsuitableRedis';
}

export type RedisSettings = Pick<Settings, 'REDIS_URL' | 'CACHE_REDIS_URL' | 'ADMIN_TOKEN' | 'ADMIN_TOKENS'>;

/** Problems that a check of both Redis of a gateway has found. */
export interface RedisProblems {
  /** Problem of REDIS_URL, with which callers cannot be served. Without the name of the setting. */
  readonly problem: string | undefined;
  /** Problems with which only the admin API or the shared cache fails. Each begins with the name of its setting. */
  readonly warnings: readonly string[];
}

/** Checks both Redis of a gateway for its start and for `gatehouse doctor`. @throws SettingsError for a malformed URL */
export async function findRedisProblems(settings: RedisSettings, timeoutMs: number): Promise<RedisProblems> {
  const find = async (setting: 'REDIS_URL' | 'CACHE_REDIS_URL', uses: readonly RedisUse[]) => {
    const url = settings[setting];
    if (url === undefined || uses.length === 0) return undefined;
    return findRedisProblem(parseRedisUrl(url, setting), uses, timeoutMs);
  };
  // A token of the role `read` changes nothing.
  const adminUses = adminTokensOf(settings).map(({ role }): RedisUse => (role === 'read' ? 'list' : 'manage'));
  const [problem, forAdmin, forCache] = await Promise.all([
    find('REDIS_URL', ['serve']),
    find('REDIS_URL', [...new Set(adminUses)]),
    find('CACHE_REDIS_URL', ['cache']),
  ]);
  const warnings: string[] = [];
  if (problem === undefined && forAdmin !== undefined)
    warnings.push(`REDIS_URL: ${forAdmin}; calls are served, but the admin API fails`);
  if (forCache !== undefined)
    warnings.push(`CACHE_REDIS_URL: ${forCache}; calls are served, but responses are not shared`);
  return { problem, warnings };
}

/**
 * Checks both Redis of a gateway at its start, and logs problems with which callers can be served.
 * @throws UnsuitableRedis for one with which they cannot
 */
export async function checkRedisOf(settings: RedisSettings, timeoutMs: number, log: Log): Promise<void> {
  const { problem, warnings } = await findRedisProblems(settings, timeoutMs);
  if (problem !== undefined) throw new UnsuitableRedis(`REDIS_URL: ${problem}`);
  for (const warning of warnings) log.warn(warning);
}

/**
 * The problem of a Redis that responds, but cannot be used, in its own words. A Redis that is unreachable, loads its data
 * or hangs is not a problem: it may be available later.
 * @param timeoutMs limit for connecting; each command has the same limit
 */
export async function findRedisProblem(
  address: RedisAddress,
  uses: readonly RedisUse[],
  timeoutMs: number,
): Promise<string | undefined> {
  const log = openLog('silent');
  // A replica is a problem that the trials find.
  const link = new RedisLink({ purpose: 'store', address, log, acceptsReplica: true, commandTimeoutMs: timeoutMs });
  const errors: unknown[] = [];
  link.redis.on('sentinelError', (error: unknown) => errors.push(error));
  try {
    const deadline = clock.now() + timeoutMs;
    while (!link.isUp && link.lastError === undefined && clock.now() < deadline) await link.waitUntilUp(STEP_MS);
    if (!link.isUp) errors.push(link.lastError);
    else for (const use of uses) await Promise.all(names.map((name) => trials[use](link.redis, name)));
  } catch (error) {
    errors.push(error);
  } finally {
    await link.close();
  }
  return errors.map((error) => lastingProblem(error, address)).find((problem) => problem !== undefined);
}

/** Responses that end by themselves: Redis starts, fails over or moves slots. */
const passing = /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY) /;
/** Codes of the TLS errors of Node: the kind of connection or the certificate is wrong. */
const tlsCodes = /^(ERR_(TLS|SSL)_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** A server that speaks another protocol, in the words of ioredis. */
const foreign = /^Unknown RESP type/;
/** A response of a Sentinel, within the words of ioredis. */
const ofSentinel = / because ([A-Z]{2,} .*)/;

/** The words of an error that waiting does not remove; undefined for others. They have no credentials. */
function lastingProblem(error: unknown, { sentinels }: RedisAddress): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message, code = '', reason } = error as Error & { code?: string; reason?: string };
  if (tlsCodes.test(code)) return `TLS: ${reason ?? message}`;
  if (foreign.test(message)) return `the server is not Redis: ${message}`;
  const response = isRedisError(error) ? message : ofSentinel.exec(message)?.[1];
  if (response === undefined || passing.test(response)) return undefined;
  // After a failover, Sentinels name the former primary for a while.
  if (sentinels !== undefined && response.startsWith('READONLY')) return undefined;
  return `Redis rejects a command: ${response}`;
}
