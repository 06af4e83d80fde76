import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { clearDiskCache } from '../cache/disk-cache.ts';
import { cachePathIn } from '../cache/open-durable-cache.ts';
import { clearRedisCache } from '../cache/redis-cache.ts';
import { openLog } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { RedisLink } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { StoreUnreachable, storeUnreachable } from '../store/store-error.ts';
import { examples, OPEN_TIMEOUT_MS, type CommandContext } from './command-context.ts';

type CacheSettings = Pick<Settings, 'CACHE_REDIS_URL' | 'DATA_DIR'>;

/** Makes the command `gatehouse cache clear`. */
export function cacheCommand({ settings, out }: CommandContext): Command {
  const cache = new Command('cache').description('The cached responses about final blocks');
  cache
    .command('clear')
    .description('Forget the cached responses of a network, or of all: no gateway returns one of them after 30 s')
    .argument('[network]', 'slug of the network')
    .option('--json', 'print {"networks":…} on one line')
    .addHelpText('after', examples('cache clear', 'cache clear base'))
    .action(async (network: string | undefined, { json }: { json?: true }) => {
      const networks = await clear(settings(), network);
      out(json ? `${JSON.stringify({ networks })}\n` : `The cached responses of ${networks} networks are forgotten\n`);
    });
  return cache;
}

async function clear({ CACHE_REDIS_URL: url, DATA_DIR }: CacheSettings, network: string | undefined): Promise<number> {
  if (url === undefined) {
    const path = cachePathIn(DATA_DIR);
    return existsSync(path) ? await clearDiskCache(path, network) : 0;
  }
  const link = new RedisLink({
    purpose: 'cache',
    address: parseRedisUrl(url, 'CACHE_REDIS_URL'),
    log: openLog('silent'),
  });
  try {
    if (!(await link.waitUntilUp(OPEN_TIMEOUT_MS))) throw storeUnreachable(link.lastError);
    return await clearRedisCache(link, network);
  } catch (error) {
    throw error instanceof StoreUnreachable ? error : storeUnreachable(error);
  } finally {
    await link.close();
  }
}
