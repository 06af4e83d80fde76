import type { RedisUse } from '../gateway/redis/check-redis.ts';

/** Commands that a use needs on the Redis keys with a prefix, or on channels. */
export interface RightRow {
  readonly use: RedisUse;
  readonly commands: readonly string[];
  /** Redis keys, as the pattern of an ACL: `gatehouse:usage:*`. Empty: the commands have no key. */
  readonly keys?: string;
  readonly access?: 'read' | 'write';
  readonly channels?: readonly string[];
  readonly purpose: string;
  /** What happens without the right. Undefined: the program of this user fails. */
  readonly otherwise?: string;
}

/** Every command that Gatehouse sends to Redis, inside scripts too, for docs/scaling.md. */
export const rightRows: readonly RightRow[] = [
  { use: 'serve', commands: ['ping', 'eval', 'evalsha', 'time'], purpose: 'connection, scripts' },
  { use: 'serve', commands: ['hget'], keys: 'gatehouse:key', access: 'read', purpose: 'looking up keys' },
  {
    use: 'serve',
    commands: ['hget', 'hgetall', 'hset', 'pttl', 'pexpire'],
    keys: 'gatehouse:limit:*',
    access: 'write',
    purpose: 'rates, quotas and concurrency',
  },
  {
    use: 'serve',
    commands: ['hget', 'hset', 'hincrby', 'pexpire', 'hgetall'],
    keys: 'gatehouse:usage:*',
    access: 'write',
    purpose: 'usage',
  },
  {
    use: 'serve',
    commands: ['subscribe'],
    channels: ['gatehouse:key'],
    purpose: 'reports of changed keys',
    otherwise: 'each used key is looked up every 0.9 s',
  },
  {
    use: 'serve',
    commands: ['info'],
    purpose: 'how full Redis is',
    otherwise: 'no alert comes before it is full',
  },
  {
    use: 'serve',
    commands: ['hscan'],
    keys: 'gatehouse:drains',
    access: 'read',
    purpose: 'drained upstreams',
    otherwise: 'all upstreams are used, and the log has a warning',
  },
  {
    use: 'serve',
    commands: ['hget', 'hset', 'hscan', 'pexpire'],
    keys: 'gatehouse:steps:*',
    access: 'write',
    purpose: 'history of the status page',
    otherwise: 'a page shows the history of one gateway',
  },
  {
    use: 'manage',
    commands: ['hget', 'hset', 'hdel'],
    keys: 'gatehouse:key',
    access: 'write',
    purpose: 'creating and changing keys',
  },
  { use: 'list', commands: ['hscan'], keys: 'gatehouse:key', access: 'read', purpose: 'listing keys' },
  { use: 'list', commands: ['scan'], purpose: 'usage for a backup' },
  {
    use: 'manage',
    commands: ['hgetall', 'del'],
    keys: 'gatehouse:key:*',
    access: 'write',
    purpose: 'keys of a former version, once',
    otherwise: 'they are unknown, the log has a warning, commands about keys fail',
  },
  { use: 'manage', commands: ['xadd', 'xtrim'], keys: 'gatehouse:audit', access: 'write', purpose: 'the audit log' },
  {
    use: 'manage',
    commands: ['publish'],
    channels: ['gatehouse:key', 'gatehouse:drains'],
    purpose: 'reporting changes',
    otherwise: 'gateways see a changed key after up to 30 s',
  },
  {
    use: 'manage',
    commands: ['hset', 'hdel'],
    keys: 'gatehouse:drains',
    access: 'write',
    purpose: 'draining upstreams',
    otherwise: 'no upstream can be drained',
  },
  { use: 'cache', commands: ['ping'], purpose: 'connection' },
  { use: 'cache', commands: ['get', 'set'], keys: 'gatehouse:answer:*', access: 'write', purpose: 'cached responses' },
  { use: 'cache', commands: ['get', 'set'], keys: 'gatehouse:chain:*', access: 'write', purpose: 'their chain' },
  {
    use: 'cache',
    commands: ['scan', 'unlink'],
    keys: 'gatehouse:chain:*',
    access: 'write',
    purpose: '`gatehouse cache clear`',
    otherwise: 'the command fails',
  },
];

/** The patterns of keys and channels of a row, in the syntax of `ACL SETUSER`. */
export function patternsOf({ keys, access, channels = [] }: RightRow): string[] {
  const ofKeys = keys === undefined ? [] : [access === 'read' ? `%R~${keys}` : `~${keys}`];
  return [...ofKeys, ...channels.map((channel) => `&${channel}`)];
}
