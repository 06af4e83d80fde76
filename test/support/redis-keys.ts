import { digestOf, isDigest } from '../../gateway/auth/formats/key.ts';
import { KEY_FOLDER } from '../../gateway/auth/stores/key-store.ts';
import type { RedisServer } from './redis.ts';

/** Puts the record of a key by redis-cli and reports it, as an operator can. @param key or its digest @param fields of the whole record; a text of another form */
export async function putKeyByHand(redis: RedisServer, key: string, fields: object | string): Promise<void> {
  const text = typeof fields === 'string' ? fields : JSON.stringify(fields);
  const digest = isDigest(key) ? key : digestOf(key);
  await redis.cli('HSET', KEY_FOLDER, digest, text);
  await redis.cli('PUBLISH', KEY_FOLDER, digest);
}

/** Deletes the record of a key by redis-cli and reports it. @returns `1` if there was one */
export async function deleteKeyByHand(redis: RedisServer, key: string): Promise<string> {
  const deleted = await redis.cli('HDEL', KEY_FOLDER, digestOf(key));
  await redis.cli('PUBLISH', KEY_FOLDER, digestOf(key));
  return deleted;
}
