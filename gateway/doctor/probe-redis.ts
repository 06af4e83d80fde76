import { clock } from '../clock/clock.ts';
import { openLog } from '../config/log.ts';
import { SettingsError } from '../config/settings.ts';
import { primariesOf } from '../redis/client.ts';
import { findRedisProblems, type RedisSettings } from '../redis/check-redis.ts';
import { isRedisError, redisErrorCode, RedisLink } from '../redis/link.ts';
import { memoryIn } from '../redis/memory.ts';
import { parseRedisUrl } from '../redis/url.ts';

/** Findings about Redis; in a cluster about the first primary. With CACHE_REDIS_URL only, its notes. */
export interface RedisFindings {
  version?: string;
  latencyMs?: number;
  persistence?: 'append-only file' | 'snapshots' | 'none';
  readonly problems: string[];
  readonly notes: string[];
}

/**
 * Tests the Redis of a gateway as its start does. Outages are findings, not errors.
 * @returns undefined without REDIS_URL and CACHE_REDIS_URL @throws SettingsError for a malformed URL
 */
export async function probeRedis(settings: RedisSettings, timeoutMs: number): Promise<RedisFindings | undefined> {
  const { REDIS_URL: url, CACHE_REDIS_URL: cacheUrl } = settings;
  if (url === undefined && cacheUrl === undefined) return undefined;
  if (url === undefined) return { problems: [], notes: [...(await findRedisProblems(settings, timeoutMs)).warnings] };
  const found: RedisFindings = { problems: [], notes: [] };
  const address = parseRedisUrl(url);
  const link = new RedisLink({
    purpose: 'store',
    address,
    log: openLog('silent'),
    acceptsReplica: true,
    commandTimeoutMs: timeoutMs / 2,
  });
  try {
    const [isUp, { problem, warnings }] = await Promise.all([
      link.waitUntilUp(timeoutMs),
      findRedisProblems(settings, timeoutMs),
    ]);
    found.notes.push(...warnings);
    if (problem !== undefined) {
      found.problems.push(problem);
      return found;
    }
    if (!isUp) {
      const code = redisErrorCode(link.lastError);
      found.problems.push(
        isRedisError(link.lastError) ? `it rejects the connection (${code})` : `it is unreachable (${code})`,
      );
      return found;
    }
    const [primary] = primariesOf(link.redis);
    if (primary === undefined) return found;
    const start = clock.now();
    await primary.ping();
    found.latencyMs = clock.now() - start;
    addFacts(found, await primary.info(), await hasSnapshots(() => primary.config('GET', 'save')));
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    // An ACL may forbid INFO, which the gateway does not need.
    found.notes.push(`its version and persistence cannot be read (${redisErrorCode(error)})`);
  } finally {
    await link.close();
  }
  return found;
}

function addFacts(found: RedisFindings, info: string, saves: boolean | undefined): void {
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
