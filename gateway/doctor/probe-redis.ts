import { clock } from '../clock/clock.ts';
import { openLog } from '../config/log.ts';
import { SettingsError } from '../config/settings.ts';
import { primariesOf, type RedisClient } from '../redis/client.ts';
import { findRedisProblems, type RedisSettings } from '../redis/check-redis.ts';
import { isRedisError, redisErrorCode, RedisLink } from '../redis/link.ts';
import { memoryIn } from '../redis/memory.ts';
import { parseRedisUrl } from '../redis/url.ts';

/** Findings about Redis; in a cluster about the first primary. With CACHE_REDIS_URL only, its notes. Empty without either. */
export interface RedisFindings {
  version?: string;
  latencyMs?: number;
  persistence?: 'append-only file' | 'snapshots' | 'none';
  readonly problems: string[];
  readonly notes: string[];
}

/**
 * Tests the Redis of a gateway as its start does. Outages are findings, not errors.
 * @throws SettingsError for a malformed URL
 */
export async function probeRedis(settings: RedisSettings, timeoutMs: number): Promise<RedisFindings> {
  const found: RedisFindings = { problems: [], notes: [] };
  const link =
    settings.REDIS_URL === undefined
      ? undefined
      : new RedisLink({
          purpose: 'store',
          address: parseRedisUrl(settings.REDIS_URL),
          log: openLog('silent'),
          acceptsReplica: true,
          commandTimeoutMs: timeoutMs / 2,
        });
  try {
    const [{ problem, warnings }] = await Promise.all([
      findRedisProblems(settings, timeoutMs),
      link?.waitUntilUp(timeoutMs),
    ]);
    found.notes.push(...warnings);
    if (problem !== undefined) found.problems.push(problem);
    else if (link?.isUp === true) await addFacts(found, link.redis);
    else if (link !== undefined) {
      const what = isRedisError(link.lastError) ? 'it rejects the connection' : 'it is unreachable';
      found.problems.push(`${what} (${redisErrorCode(link.lastError)})`);
    }
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    // An ACL may forbid INFO, which the gateway does not need.
    found.notes.push(`its version and persistence cannot be read (${redisErrorCode(error)})`);
  } finally {
    await link?.close();
  }
  return found;
}

async function addFacts(found: RedisFindings, redis: RedisClient): Promise<void> {
  const [primary] = primariesOf(redis);
  if (primary === undefined) return;
  const start = clock.now();
  await primary.ping();
  found.latencyMs = clock.now() - start;
  const info = await primary.info();
  const saves = await hasSnapshots(() => primary.config('GET', 'save'));
  const fact = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  found.version = fact('redis_version');
  if (fact('aof_enabled') === '1') found.persistence = 'append-only file';
  else if (saves !== undefined) found.persistence = saves ? 'snapshots' : 'none';
  if (found.persistence === 'none') found.notes.push('it has no persistence: keys are lost at a restart');
  const { eviction } = memoryIn(info);
  if (eviction !== undefined) found.notes.push(`it evicts ${eviction}`);
}

/** Whether Redis writes snapshots; undefined if a managed Redis forbids CONFIG. */
async function hasSnapshots(readSetting: () => Promise<unknown>): Promise<boolean | undefined> {
  try {
    const setting = (await readSetting()) as readonly string[];
    return setting[1] !== undefined && setting[1] !== '';
  } catch {
    return undefined;
  }
}
