import { clock, type Timer } from '../clock/clock.ts';
import { primariesOf } from '../redis/client.ts';
import type { RedisLink } from '../redis/link.ts';
import type { DurableCacheMetric } from '../metrics/metrics.ts';
import { compress, decompress, isContentError } from './compress-entry.ts';
import { chainKeyOf, DurableCache } from './durable-cache.ts';

/** Longest wait of a call for Redis before it goes to an upstream. A near Redis takes under 1 ms, a far one 50 ms. */
const MAX_WAIT_MS = 20;

/** Time after a timeout in which no call waits for Redis. */
const BACKOFF_MS = 1_000;

/** Few calls for old blocks repeat after a day. */
const EXPIRY_S = 86_400;

/**
 * Shares permanently valid results between gateways through Redis. Gateways work without it: a Redis that hangs delays one
 * group of calls by 20 ms each second, and a full or unreachable Redis delays none.
 */
export class RedisCache extends DurableCache {
  readonly kind = 'redis';
  readonly #link: RedisLink;
  readonly #maxWaitMs: number;
  #pausedUntil = -Infinity;

  /** @param link `close` closes it */
  constructor(link: RedisLink, count: DurableCacheMetric, maxWaitMs = MAX_WAIT_MS) {
    super(count);
    this.#link = link;
    this.#maxWaitMs = maxWaitMs;
  }

  async get(key: string): Promise<string | Buffer | undefined> {
    if (!this.isUsable) {
      this.count('not-requested');
      return undefined;
    }
    let timer: Timer | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = clock.setTimeout(resolve, this.#maxWaitMs, 'late');
    });
    const outcome = await Promise.race([this.read(key), late]);
    clock.clearTimeout(timer);
    if (outcome === 'late') this.#pausedUntil = clock.now() + BACKOFF_MS;
    const isFound = typeof outcome === 'object';
    this.count(isFound ? 'found' : outcome);
    return isFound ? outcome.json : undefined;
  }

  async read(key: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    if (!this.#link.isUp) return 'failed';
    try {
      const bytes = await this.#link.redis.getBuffer(key);
      if (bytes === null) return 'miss';
      const json = await decompress(bytes);
      // gzip has a checksum.
      if (typeof json === 'string') JSON.parse(json);
      return { json };
    } catch (error) {
      if (isContentError(error)) return 'miss';
      this.#link.reportFailure(error);
      return 'failed';
    }
  }

  async write(key: string, json: string | Buffer): Promise<boolean> {
    if (!this.#link.isUp) return false;
    try {
      await this.#link.redis.set(key, await compress(json), 'EX', EXPIRY_S);
      return true;
    } catch (error) {
      this.#link.reportFailure(error);
      return false;
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  protected get isUsable(): boolean {
    return this.#link.isUp && clock.now() >= this.#pausedUntil;
  }
}

/**
 * Removes the records of networks. Their results, which no gateway finds then, expire.
 * @param slug of the network; undefined: all
 * @returns the number of networks
 */
export async function clearRedisCache({ redis }: RedisLink, slug = '*'): Promise<number> {
  let networks = 0;
  for (const primary of primariesOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await primary.scan(cursor, 'MATCH', chainKeyOf(`${slug}:*`), 'COUNT', 1_000);
      for (const key of keys) networks += await redis.unlink(key);
      cursor = next;
    } while (cursor !== '0');
  }
  return networks;
}
