import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { Limiter } from './limiter.ts';
import { MachineSums } from './machine-sums.ts';
import { openRedisSums } from './redis-sums.ts';
import type { SharedSums } from './shared-sums.ts';

/**
 * Opens the limiter. Its sums are at the primary of the workers, which has them in Redis if REDIS_URL is set; or in Redis; or in
 * its own memory.
 * @param worker undefined: this process is the whole gateway
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openLimiter(
  {
    REDIS_URL: url,
    QUOTAS_WITHOUT_REDIS: quotas,
    LIMITS_TIMEOUT_MS: timeoutMs,
  }: Pick<Settings, 'REDIS_URL' | 'QUOTAS_WITHOUT_REDIS' | 'LIMITS_TIMEOUT_MS'>,
  log: Log,
  worker?: WorkerLink,
): Limiter {
  const restore = (): Promise<void> => limiter.restore();
  let sums: SharedSums | undefined;
  if (worker !== undefined) sums = new MachineSums(worker, { kind: url === undefined ? 'primary' : 'redis', restore });
  else if (url !== undefined) sums = openRedisSums(url, timeoutMs, log, { prepare: restore });
  const limiter: Limiter = new Limiter({ sums, worker, shouldServeWithoutRedis: quotas === 'open' });
  return limiter;
}
