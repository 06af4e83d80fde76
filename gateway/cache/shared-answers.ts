import type { RedisLink } from '../keys/redis-link.ts';
import type { SharedAnswersMeter } from '../metrics/cache-metrics.ts';
import { pack, unpack } from './packed.ts';

/** A call waits no longer for Redis, which takes less than 1 ms: its upstream is asked then. A far one takes 50 ms. */
const WAIT_MAX_MS = 20;

/** When Redis was late, nobody else waits for it so long. */
const REST_MS = 1_000;

/** Of a chain's history little is asked for again later. */
const KEPT_S = 86_400;

/** Of one answer, and of all that are on their way to Redis. */
const LARGEST_BYTES = 4_000_000;
const UNDER_WAY_MAX_BYTES = 16_000_000;

/**
 * Answers that are true for good, in a Redis: what one gateway was told, the others need not ask. Nothing of it is ever
 * needed: a Redis that hangs costs calls 20 ms once a second, and one that is full or away nothing.
 */
export class SharedAnswers {
  readonly #link: RedisLink;
  readonly #count: SharedAnswersMeter;
  readonly #waitMaxMs: number;
  #restsUntil = -Infinity;
  #underWayBytes = 0;

  /** @param link closed by `close` */
  constructor(link: RedisLink, count: SharedAnswersMeter, waitMaxMs = WAIT_MAX_MS) {
    this.#link = link;
    this.#count = count;
    this.#waitMaxMs = waitMaxMs;
  }

  /** @returns JSON; undefined where Redis has nothing, or does not say so in time. Never rejects. */
  async find(name: string): Promise<string | Buffer | undefined> {
    if (!this.#isAsked) {
      this.#count('not-asked');
      return undefined;
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.#waitMaxMs, 'late');
    });
    const said = await Promise.race([this.#read(name), late]);
    clearTimeout(timer);
    if (said === 'late') this.#restsUntil = performance.now() + REST_MS;
    const isFound = typeof said === 'object';
    this.#count(isFound ? 'found' : said);
    return isFound ? said.json : undefined;
  }

  /** Writes it some time soon, if it can. @param json what is true for good */
  put(name: string, json: string | Buffer): void {
    const { length } = json;
    const isTooMuch = length > LARGEST_BYTES || this.#underWayBytes + length > UNDER_WAY_MAX_BYTES;
    if (isTooMuch || !this.#isAsked) {
      this.#count('not-written');
      return;
    }
    this.#underWayBytes += length;
    void this.#write(name, json).finally(() => {
      this.#underWayBytes -= length;
    });
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  get #isAsked(): boolean {
    return this.#link.up && performance.now() >= this.#restsUntil;
  }

  async #read(name: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    try {
      const bytes = await this.#link.redis.getBuffer(name);
      return bytes === null ? 'miss' : { json: await unpack(bytes) };
    } catch (error) {
      this.#failed(error);
      return 'failed';
    }
  }

  async #write(name: string, json: string | Buffer): Promise<void> {
    try {
      await this.#link.redis.set(name, await pack(json), 'EX', KEPT_S);
      this.#count('written');
    } catch (error) {
      this.#failed(error);
      this.#count('not-written');
    }
  }

  /** What cannot be unpacked says nothing of Redis. */
  #failed(error: unknown): void {
    if (!isOfContent(error)) this.#link.failed(error);
  }
}

function isOfContent(error: unknown): boolean {
  const { code = '' } = error as { code?: unknown };
  return error instanceof SyntaxError || error instanceof RangeError || String(code).startsWith('Z_');
}
