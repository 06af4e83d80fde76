import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { Limiter } from './limiter.ts';
import { MachineSums } from './machine-sums.ts';
import { RedisSums } from './redis-sums.ts';

/**
 * Opens the limiter: with its own Redis connection if REDIS_URL is set, so that its timeout does not apply to key lookups.
 * @param worker undefined: this process is the whole gateway
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openLimiter(
  {
    REDIS_URL: url,
    QUOTAS_WITHOUT_REDIS: quotas,
    LIMITS_TIMEOUT_MS: commandTimeoutMs,
  }: Pick<Settings, 'REDIS_URL' | 'QUOTAS_WITHOUT_REDIS' | 'LIMITS_TIMEOUT_MS'>,
  log: Log,
  worker?: WorkerLink,
): Limiter {
  const shouldServeWithoutRedis = quotas === 'open';
  if (url === undefined) {
    const sums = worker && new MachineSums(worker);
    return new Limiter({ sums, worker, shouldServeWithoutRedis, log });
  }
  const prepare = (): Promise<void> => limiter.restore();
  const link = new RedisLink({ purpose: 'limits', address: parseRedisUrl(url), log, commandTimeoutMs, prepare });
  const limiter: Limiter = new Limiter({ sums: new RedisSums(link), worker, shouldServeWithoutRedis, log });
  return limiter;
}
