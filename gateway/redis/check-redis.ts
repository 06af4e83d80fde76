import { clock } from '../clock/clock.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { openLog, type Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { RedisClient } from './client.ts';
import { connectionProblem } from './connection-problem.ts';
import { RedisLink } from './link.ts';
import { missingRights, requiredRights, type RedisUse } from './rights.ts';
import { tlsProblem } from './tls-problem.ts';
import { parseRedisUrl, type RedisAddress } from './url.ts';

/** Interval at which an unsuccessful connection is examined. */
const STEP_MS = 25;
/** Slots of a cluster that are tried to find out whether the server has all. */
const TRIED_SLOTS = 16;

/** Redis responds, but cannot serve a gateway. The message is for the operator, and has no URL. */
export class UnsuitableRedis extends Error {
  override readonly name = 'UnsuitableRedis';
}

export type RedisSettings = Pick<Settings, 'REDIS_URL' | 'CACHE_REDIS_URL' | 'ADMIN_TOKEN' | 'ADMIN_TOKENS'>;

/** What a check of both Redis of a gateway has found. */
export interface RedisProblems {
  /** Of REDIS_URL, with which callers cannot be served. Without the name of the setting. */
  readonly problem: string | undefined;
  /** With which only the admin API or the shared cache fails. Each begins with the name of its setting. */
  readonly warnings: readonly string[];
}

/** Checks both Redis of a gateway for its start and for `gatehouse doctor`. @throws SettingsError for a malformed URL */
export async function findRedisProblems(settings: RedisSettings, timeoutMs: number): Promise<RedisProblems> {
  const { REDIS_URL: url, CACHE_REDIS_URL: cacheUrl } = settings;
  const find = async (given: string | undefined, setting: string, uses: readonly RedisUse[]) => {
    if (given === undefined || uses.length === 0) return undefined;
    return findRedisProblem(parseRedisUrl(given, setting), uses, timeoutMs);
  };
  const [problem, forAdmin, forCache] = await Promise.all([
    find(url, 'REDIS_URL', ['serve']),
    find(url, 'REDIS_URL', adminUses(settings)),
    find(cacheUrl, 'CACHE_REDIS_URL', ['cache']),
  ]);
  const warnings: string[] = [];
  if (problem === undefined && forAdmin !== undefined) {
    warnings.push(`REDIS_URL: ${forAdmin}; calls are served, but the admin API fails`);
  }
  if (forCache !== undefined) {
    warnings.push(`CACHE_REDIS_URL: ${forCache}; calls are served, but responses are not shared`);
  }
  return { problem, warnings };
}

/** What the admin API does with Redis: a token of the role `read` changes nothing. */
function adminUses(settings: RedisSettings): RedisUse[] {
  const tokens = adminTokensOf(settings);
  if (tokens.length === 0) return [];
  return tokens.every(({ role }) => role === 'read') ? ['list'] : ['list', 'manage'];
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
 * Checks that Redis is one that Gatehouse supports and that its user has the rights for these uses. A Redis that is
 * unreachable, loads its data or hangs is not a problem: it may be available later.
 * @param setting name of the setting with the URL
 * @param timeoutMs limit for connecting; each command has the same limit
 * @throws UnsuitableRedis with the cause and what to change; SettingsError for a malformed URL
 */
export async function checkRedis(
  url: string,
  setting: string,
  uses: readonly RedisUse[],
  timeoutMs: number,
): Promise<void> {
  const address = parseRedisUrl(url, setting);
  const problem = await findRedisProblem(address, uses, timeoutMs);
  if (problem !== undefined) throw new UnsuitableRedis(`${setting}: ${problem}`);
}

/** @returns what `checkRedis` throws, without the name of the setting */
export async function findRedisProblem(
  address: RedisAddress,
  uses: readonly RedisUse[],
  timeoutMs: number,
): Promise<string | undefined> {
  // A replica is a problem that is found below.
  const link = new RedisLink({
    purpose: 'commands',
    address,
    log: openLog('silent'),
    acceptsReplica: true,
    commandTimeoutMs: timeoutMs,
  });
  const messages: string[] = [];
  link.redis.on('error', (error: Error) => messages.push(error.message));
  link.redis.on('sentinelError', (error: Error) => messages.push(error.message));
  try {
    const deadline = clock.now() + timeoutMs;
    while (!link.isUp && link.lastError === undefined && clock.now() < deadline) await link.waitUntilUp(STEP_MS);
    if (link.isUp) return await problemOfServer(link.redis, address, uses);
    if (link.lastError !== undefined) messages.push(textOf(link.lastError));
    const known = messages.map(connectionProblem).find((problem) => problem !== undefined);
    if (messages.some((text) => text.startsWith('NOPERM'))) return lacksSomeOf(uses, address);
    return known ?? (await tlsProblem(address, timeoutMs));
  } finally {
    await link.close();
  }
}

async function problemOfServer(
  redis: RedisClient,
  address: RedisAddress,
  uses: readonly RedisUse[],
): Promise<string | undefined> {
  const isCache = uses.every((use) => use === 'cache');
  try {
    if (isCache) {
      // Not every Redis for a cache has scripts: the commands themselves are tried, with an entry of one second.
      await redis.get('gatehouse:answer:-');
      await redis.set('gatehouse:answer:-', '', 'EX', 1);
      return undefined;
    }
    const missing = await missingRights(redis, uses);
    if (missing.length > 0) return lacksRights(missing.join(' '));
    // PEXPIRE of a name that is no account writes nothing, but a replica rejects it.
    await redis.eval(`return redis.call('PEXPIRE', KEYS[1], 1)`, 1, 'gatehouse:limit:-');
    if (address.cluster === undefined) await tryCluster(redis);
    return undefined;
  } catch (error) {
    // After a failover, Sentinels name the former primary for a while.
    const text = textOf(error);
    if (text.startsWith('NOPERM')) return lacksSomeOf(uses, address);
    if (address.sentinels !== undefined && text.startsWith('READONLY')) return undefined;
    return (await isSentinel(redis, text)) ? IS_SENTINEL_TEXT : connectionProblem(text);
  }
}

function lacksRights(rights: string): string {
  return `the Redis user lacks rights: ${rights} (docs/operations.md, section Redis)`;
}

/** Redis rejected a command before single rights could be checked. */
function lacksSomeOf(uses: readonly RedisUse[], { cluster }: RedisAddress): string {
  const forCluster = cluster === undefined ? '' : ' +cluster|slots';
  return `the Redis user lacks one of these rights: ${requiredRights(uses)}${forCluster} (docs/operations.md, section Redis)`;
}

/** Reads some absent keys, of which a node of a cluster rejects those in slots of other nodes with MOVED. */
async function tryCluster(redis: RedisClient): Promise<void> {
  const names = Array.from({ length: TRIED_SLOTS }, (_, index) => `gatehouse:key:-${index}`);
  await Promise.all(names.map((name) => redis.hgetall(name)));
}

const IS_SENTINEL_TEXT = 'the server is a Sentinel: write redis+sentinel://host:26379/name';

/** A Sentinel responds to PING and INFO, but has no scripts. */
async function isSentinel(redis: RedisClient, errorText: string): Promise<boolean> {
  if (!/unknown command/.test(errorText)) return false;
  const info = await redis.info('server').catch(() => '');
  return info.includes('redis_mode:sentinel');
}

/** Code and message: TLS errors have the cause in either. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${error.message} (${code})` : error.message;
}
