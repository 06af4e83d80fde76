import { clock, type Timer } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import { primariesOf, type RedisClient } from './client.ts';

const READ_INTERVAL_MS = 60_000;
const WARN_INTERVAL_MS = 86_400_000;

/** How full a Redis is; of a cluster, its fullest primary. */
export interface RedisMemory {
  /** Part of `maxmemory` that is used; 0: it has no limit. */
  readonly usedPart: number;
  /** Description of what Redis loses when it is full; undefined: nothing. */
  readonly eviction: string | undefined;
}

/** @throws the error of Redis: an ACL may forbid INFO (rejects with it) */
export async function readRedisMemory(redis: RedisClient): Promise<RedisMemory> {
  const all = await Promise.all(primariesOf(redis).map(async (primary) => memoryIn(await primary.info('memory'))));
  return {
    usedPart: Math.max(0, ...all.map(({ usedPart }) => usedPart)),
    eviction: all.map(({ eviction }) => eviction).find((eviction) => eviction !== undefined),
  };
}

/** @param info the response of INFO */
export function memoryIn(info: string): RedisMemory {
  const fact = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  const [used, max] = [Number(fact('used_memory')), Number(fact('maxmemory'))];
  const policy = fact('maxmemory_policy');
  let eviction: string | undefined;
  if (policy.startsWith('allkeys-')) eviction = `API keys when its memory is full (maxmemory-policy ${policy})`;
  if (policy.startsWith('volatile-'))
    eviction = `limits and usage when its memory is full (maxmemory-policy ${policy})`;
  return { usedPart: max > 0 ? used / max : 0, eviction };
}

/** Reads once a minute how full the Redis of the keys is, and warns once a day of a policy with which it loses them. */
export class RedisMemoryWatch {
  /** Used part of the memory; undefined: not known. */
  usedPart: number | undefined;
  readonly #read: () => Promise<RedisMemory>;
  readonly #log: Log;
  readonly #mayWarn: () => boolean;
  readonly #timer: Timer;
  #warnedAt = -Infinity;

  /** @param mayWarn whether no other process of this gateway warns */
  constructor(read: () => Promise<RedisMemory>, log: Log, mayWarn: () => boolean) {
    this.#read = read;
    this.#log = log;
    this.#mayWarn = mayWarn;
    this.#timer = clock.setInterval(() => void this.#follow(), READ_INTERVAL_MS).unref();
    void this.#follow();
  }

  close(): void {
    clock.clearInterval(this.#timer);
  }

  async #follow(): Promise<void> {
    const memory = await this.#read().catch(() => undefined);
    this.usedPart = memory?.usedPart;
    if (memory?.eviction === undefined || !this.#mayWarn()) return;
    if (clock.now() - this.#warnedAt < WARN_INTERVAL_MS) return;
    this.#warnedAt = clock.now();
    this.#log.warn(`REDIS_URL: Redis evicts ${memory.eviction}: set maxmemory-policy noeviction`);
  }
}
