import { openLog } from '../config/log.ts';
import { primariesOf } from '../redis/client.ts';
import { isRedisError, redisErrorCode, RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';

/** What was found out about Redis; of a cluster, about the first node that leads. */
export interface RedisFindings {
  version?: string;
  latencyMs?: number;
  persistence?: 'append-only file' | 'snapshots' | 'none';
  readonly problems: string[];
  readonly notes: string[];
}

/** Below it there is no client tracking, and reads are trusted for 0.9 s. */
const TRACKING_VERSION = 6;

/** Never rejects. @throws SettingsError for a URL that cannot be read */
export async function probeRedis(url: string, timeoutMs: number): Promise<RedisFindings> {
  const found: RedisFindings = { problems: [], notes: [] };
  const address = parseRedisUrl(url);
  const link = new RedisLink({ purpose: 'commands', address, log: openLog('silent'), commandTimeoutMs: timeoutMs / 2 });
  try {
    if (!(await link.waitUntilUp(timeoutMs))) {
      const code = redisErrorCode(link.lastError);
      found.problems.push(isRedisError(link.lastError) ? `it refuses (${code})` : `it cannot be reached (${code})`);
      return found;
    }
    const [leader] = primariesOf(link.redis);
    if (leader === undefined) return found;
    const start = performance.now();
    await leader.ping();
    found.latencyMs = performance.now() - start;
    describe(found, await leader.info(), await savesOf(() => leader.config('GET', 'save')));
  } catch (error) {
    // An ACL may well refuse INFO: the gateway does not need it.
    found.notes.push(`no more is to be learned of it (${redisErrorCode(error)})`);
  } finally {
    await link.close();
  }
  return found;
}

function describe(found: RedisFindings, info: string, saves: boolean | undefined): void {
  const fact = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  found.version = fact('redis_version');
  if (parseInt(found.version, 10) < TRACKING_VERSION)
    found.notes.push('it is older than 6: changes of keys take up to 0.9 s');
  if (fact('aof_enabled') === '1') found.persistence = 'append-only file';
  else if (saves !== undefined) found.persistence = saves ? 'snapshots' : 'none';
  if (found.persistence === 'none') found.notes.push('it keeps nothing on disk: keys are gone when it restarts');
  const policy = fact('maxmemory_policy');
  if (policy.startsWith('allkeys-'))
    found.notes.push(`keys are dropped when its memory is full (maxmemory-policy ${policy})`);
}

/** Undefined where a managed Redis forbids CONFIG. */
async function savesOf(ask: () => Promise<unknown>): Promise<boolean | undefined> {
  try {
    const probed = (await ask()) as readonly string[];
    return probed[1] !== undefined && probed[1] !== '';
  } catch {
    return undefined;
  }
}
