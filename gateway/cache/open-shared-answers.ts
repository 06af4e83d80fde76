import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../keys/redis-link.ts';
import { parseRedisUrl } from '../keys/redis-url.ts';
import type { SharedAnswersMeter } from '../metrics/cache-metrics.ts';
import { SharedAnswers } from './shared-answers.ts';

/** @returns undefined where no Redis is named @throws SettingsError for a malformed CACHE_REDIS_URL */
export function openSharedAnswers(
  { CACHE_REDIS_URL: url }: Pick<Settings, 'CACHE_REDIS_URL'>,
  count: SharedAnswersMeter,
  log: Log,
): SharedAnswers | undefined {
  if (url === undefined) return undefined;
  return new SharedAnswers(
    new RedisLink({ purpose: 'answers', address: parseRedisUrl(url, 'CACHE_REDIS_URL'), log }),
    count,
  );
}
