import type { RedisLink } from '../redis/link.ts';
import type { RedisCacheMetric } from '../metrics/cache-metrics.ts';
import { compress, decompress } from './compressed-entry.ts';

/** A call waits no longer for Redis, which takes less than 1 ms: its upstream is asked then. A far one takes 50 ms. */
const MAX_WAIT_MS = 20;

/** When Redis was late, nobody else waits for it so long. */
const BACKOFF_MS = 1_000;

/** Of a chain's history little is asked for again later. */
const EXPIRY_S = 86_400;

/** Of one answer, and of all that are on their way to Redis. */
const MAX_ENTRY_BYTES = 4_000_000;
const MAX_PENDING_BYTES = 16_000_000;

/**
 * Answers that are true for good, in a Redis: what one gateway was told, the others need not ask. Nothing of it is ever
 * needed: a Redis that hangs costs calls 20 ms once a second, and one that is full or away nothing.
 */
export class RedisCache {
  readonly #link: RedisLink;
  readonly #count: RedisCacheMetric;
  readonly #maxWaitMs: number;
  #pausedUntil = -Infinity;
  #pendingBytes = 0;

  /** @param link closed by `close` */
  constructor(link: RedisLink, count: RedisCacheMetric, maxWaitMs = MAX_WAIT_MS) {
    this.#link = link;
    this.#count = count;
    this.#maxWaitMs = maxWaitMs;
  }

  /** @returns JSON; undefined where Redis has nothing, or does not say so in time. Never rejects. */
  async get(name: string): Promise<string | Buffer | undefined> {
    if (!this.#isUsable) {
      this.#count('not-requested');
      return undefined;
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.#maxWaitMs, 'late');
    });
    const outcome = await Promise.race([this.#read(name), late]);
    clearTimeout(timer);
    if (outcome === 'late') this.#pausedUntil = performance.now() + BACKOFF_MS;
    const isFound = typeof outcome === 'object';
    this.#count(isFound ? 'found' : outcome);
    return isFound ? outcome.json : undefined;
  }

  /** Writes it some time soon, if it can. @param json what is true for good */
  set(name: string, json: string | Buffer): void {
    const { length } = json;
    const isTooLarge = length > MAX_ENTRY_BYTES || this.#pendingBytes + length > MAX_PENDING_BYTES;
    if (isTooLarge || !this.#isUsable) {
      this.#count('not-written');
      return;
    }
    this.#pendingBytes += length;
    void this.#write(name, json).finally(() => {
      this.#pendingBytes -= length;
    });
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  get #isUsable(): boolean {
    return this.#link.up && performance.now() >= this.#pausedUntil;
  }

  async #read(name: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    try {
      const bytes = await this.#link.redis.getBuffer(name);
      return bytes === null ? 'miss' : { json: await decompress(bytes) };
    } catch (error) {
      this.#handleFailure(error);
      return 'failed';
    }
  }

  async #write(name: string, json: string | Buffer): Promise<void> {
    try {
      await this.#link.redis.set(name, await compress(json), 'EX', EXPIRY_S);
      this.#count('written');
    } catch (error) {
      this.#handleFailure(error);
      this.#count('not-written');
    }
  }

  /** What cannot be unpacked says nothing of Redis. */
  #handleFailure(error: unknown): void {
    if (!isContentError(error)) this.#link.failed(error);
  }
}

function isContentError(error: unknown): boolean {
  const { code = '' } = error as { code?: unknown };
  return error instanceof SyntaxError || error instanceof RangeError || String(code).startsWith('Z_');
}
