import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { clock, type Timer } from '../clock/clock.ts';
import { version } from '../config/package.ts';
import type { RedisLink } from '../redis/link.ts';
import type { RedisCacheMetric } from '../metrics/cache-metrics.ts';

/** Longest wait of a call for Redis before it goes to an upstream. A near Redis takes under 1 ms, a far one 50 ms. */
const MAX_WAIT_MS = 20;

/** After a timeout, no call waits for Redis for this long. */
const BACKOFF_MS = 1_000;

/** Few calls for old blocks repeat after a day. */
const EXPIRY_S = 86_400;

/** Limits for one entry, and for all entries that are being written. */
const MAX_ENTRY_BYTES = 4_000_000;
const MAX_PENDING_BYTES = 16_000_000;

/**
 * Shares permanently valid results between gateways through Redis. Gateways work without it: a Redis that hangs delays one
 * group of calls by 20 ms each second, and a full or unreachable Redis delays none.
 */
export class RedisCache {
  readonly #link: RedisLink;
  readonly #count: RedisCacheMetric;
  readonly #maxWaitMs: number;
  #pausedUntil = -Infinity;
  #pendingBytes = 0;

  /** @param link `close` closes it */
  constructor(link: RedisLink, count: RedisCacheMetric, maxWaitMs = MAX_WAIT_MS) {
    this.#link = link;
    this.#count = count;
    this.#maxWaitMs = maxWaitMs;
  }

  /** @returns JSON; undefined on a miss, a failure or a timeout. Never rejects. */
  async get(key: string): Promise<string | Buffer | undefined> {
    if (!this.#isUsable) {
      this.#count('not-requested');
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
    this.#count(isFound ? 'found' : outcome);
    return isFound ? outcome.json : undefined;
  }

  /** Starts a write, or skips it if Redis is not usable. @param json a permanently valid result */
  set(key: string, json: string | Buffer): void {
    const { length } = json;
    const isTooLarge = length > MAX_ENTRY_BYTES || this.#pendingBytes + length > MAX_PENDING_BYTES;
    if (isTooLarge || !this.#isUsable) {
      this.#count('not-written');
      return;
    }
    this.#pendingBytes += length;
    void this.write(key, json).then((isWritten) => {
      this.#pendingBytes -= length;
      this.#count(isWritten ? 'written' : 'not-written');
    });
  }

  /** Reads without a limit of the waiting time. Never rejects. */
  async read(key: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    if (!this.#link.isUp) return 'failed';
    try {
      const bytes = await this.#link.redis.getBuffer(key);
      return bytes === null ? 'miss' : { json: await decompress(bytes) };
    } catch (error) {
      this.#handleFailure(error);
      return 'failed';
    }
  }

  /** Writes and waits for Redis. @returns whether it is written. Never rejects. */
  async write(key: string, json: string | Buffer): Promise<boolean> {
    if (!this.#link.isUp) return false;
    try {
      await this.#link.redis.set(key, await compress(json), 'EX', EXPIRY_S);
      return true;
    } catch (error) {
      this.#handleFailure(error);
      return false;
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  get #isUsable(): boolean {
    return this.#link.isUp && clock.now() >= this.#pausedUntil;
  }

  /** An entry that cannot be decompressed is not a failure of Redis. */
  #handleFailure(error: unknown): void {
    if (!isContentError(error)) this.#link.reportFailure(error);
  }
}

function isContentError(error: unknown): boolean {
  const { code = '' } = error as { code?: unknown };
  return error instanceof SyntaxError || error instanceof RangeError || String(code).startsWith('Z_');
}

/** Contains the version: another version may normalise differently. @param network its slug and chain id */
export function redisPrefixOf(network: string): string {
  return `gatehouse:answer:${version}:${network}:`;
}

/** Compressing smaller entries costs more than it saves. */
const COMPRESS_OVER_BYTES = 1_000;

/** Protects the memory from entries that another program wrote. */
const MAX_DECOMPRESSED_BYTES = 16_000_000;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const options = { level: constants.Z_BEST_SPEED };

/** The first byte of gzip data. JSON never starts with it. */
const GZIP_FIRST_BYTE = 0x1f;

/** Compresses large entries with gzip: `redis-cli get … | gunzip` shows them. */
function compress(json: string | Buffer): Promise<Buffer> | string | Buffer {
  return json.length > COMPRESS_OVER_BYTES ? gzipAsync(json, options) : json;
}

/** @returns a string for small entries @throws Error for bytes that `compress` cannot have returned */
async function decompress(bytes: Buffer): Promise<string | Buffer> {
  if (bytes[0] === GZIP_FIRST_BYTE) return gunzipAsync(bytes, { maxOutputLength: MAX_DECOMPRESSED_BYTES });
  if (bytes.length > COMPRESS_OVER_BYTES) throw new RangeError('the entry is too long to be uncompressed');
  const text = bytes.toString();
  JSON.parse(text);
  return text;
}
