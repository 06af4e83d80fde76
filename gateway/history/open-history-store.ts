import type { Log } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import type { LongHistory } from '../metrics/long-history.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { FileHistoryStore } from './file-history-store.ts';
import type { HistoryStore } from './history-store.ts';
import { RedisHistoryStore } from './redis-history-store.ts';

/**
 * Opens the history: in Redis if REDIS_URL is set, else in files.
 * @param isWriter whether this process writes: one of several workers does
 * @throws SettingsError for a malformed REDIS_URL
 */
export function openHistoryStore(
  { REDIS_URL: url, DATA_DIR }: Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>,
  history: LongHistory,
  log: Log,
  isWriter: () => boolean,
): HistoryStore {
  if (url === undefined) return new FileHistoryStore(DATA_DIR, history, log, isWriter);
  const link = new RedisLink({ purpose: 'history', address: parseRedisUrl(url), log, autoPipelining: true });
  return new RedisHistoryStore(link, history, log, isWriter);
}
