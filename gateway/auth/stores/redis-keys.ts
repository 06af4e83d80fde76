import { redisErrorCode } from '../../redis/link.ts';
import { keyIdOf } from '../formats/key.ts';
import { keyFromFields, keyRecord, type KeyRecord } from './key-store.ts';
import { StoreError } from '../../store/store-error.ts';

/**
 * A hash per key, `gatehouse:key:<sha256>`: name, createdAt; optionally revokedAt, development and permissions. Only keys
 * may have this prefix: each write to it is a change.
 */
export const KEY_PREFIX = 'gatehouse:key:';

/** Atomic: an existing key must not get permissions of another record. */
export const addScript = `
  if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], unpack(ARGV))
    return 1
  end
  for i = 1, #ARGV, 2 do
    if ARGV[i] == 'revokedAt' then redis.call('HSETNX', KEYS[1], 'revokedAt', ARGV[i + 1]) end
  end
  return 0`;

/** Does not recreate a key that was deleted meanwhile. */
export const updateScript = `
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  for i = 1, #ARGV, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
    else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
  end
  return 1`;

/** Digests of keys by their ids. */
export class DigestsById {
  readonly #byId = new Map<string, string[]>();

  constructor(digests: readonly string[]) {
    for (const digest of digests) {
      const own = this.#byId.get(keyIdOf(digest));
      if (own === undefined) this.#byId.set(keyIdOf(digest), [digest]);
      else own.push(digest);
    }
  }

  /** @returns undefined for an unknown id @throws StoreError if several keys have it */
  get(id: string): string | undefined {
    const [digest, ...others] = this.#byId.get(id) ?? [];
    if (others.length > 0) throw new StoreError(`${others.length + 1} keys have the id ${id}: use redis-cli`);
    return digest;
  }
}

/** @returns undefined: the value is not a hash */
export function undefinedIfNoHash(error: unknown): undefined {
  if (redisErrorCode(error) !== 'WRONGTYPE') throw error;
}

/** A hash with any field is a key: an operator may have written it by hand. */
export function toRecord(digest: string, hash: Record<string, string>): KeyRecord | undefined {
  return Object.keys(hash).length === 0 ? undefined : keyRecord(digest, keyFromFields(hash));
}
