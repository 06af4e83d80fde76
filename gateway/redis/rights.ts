import type { RedisClient } from './client.ts';
import { primariesOf } from './client.ts';

/** What a program does with Redis: serve calls with keys and limits, list or manage keys, or share cached responses. */
export type RedisUse = 'serve' | 'list' | 'manage' | 'cache';

/** Commands that a use needs on the Redis keys with a prefix, or on channels. */
interface RightRow {
  readonly use: RedisUse;
  readonly commands: readonly string[];
  /** Redis keys, as the pattern of an ACL: `gatehouse:key:*`. Empty: the commands have no key. */
  readonly keys?: string;
  readonly access?: 'read' | 'write';
  readonly channels?: readonly string[];
  readonly purpose: string;
  /** What happens without the right. Undefined: Gatehouse cannot be used in this way. */
  readonly otherwise?: string;
}

/** Every command that Gatehouse sends to Redis, inside scripts too. docs/operations.md and the check at start use it. */
export const rightRows: readonly RightRow[] = [
  { use: 'serve', commands: ['ping', 'eval', 'evalsha', 'time'], purpose: 'connection, scripts' },
  { use: 'serve', commands: ['hgetall'], keys: 'gatehouse:key:*', access: 'read', purpose: 'looking up keys' },
  {
    use: 'serve',
    commands: ['hgetall', 'hset', 'pttl', 'pexpire'],
    keys: 'gatehouse:limit:*',
    access: 'write',
    purpose: 'rates and quotas',
  },
  {
    use: 'serve',
    commands: ['hget', 'hset', 'hincrby', 'expire', 'hgetall'],
    keys: 'gatehouse:usage:*',
    access: 'write',
    purpose: 'usage',
  },
  {
    use: 'serve',
    commands: ['client|id', 'client|tracking', 'subscribe'],
    channels: ['gatehouse:keys', '__redis__:invalidate'],
    purpose: 'reports of changed keys',
    otherwise: 'each used key is looked up every 0.9 s',
  },
  {
    use: 'serve',
    commands: ['info'],
    purpose: 'detecting a restart of Redis, and how full it is',
    otherwise: 'an older copy may lack some usage of a quota, and no alert comes before it is full',
  },
  {
    use: 'serve',
    commands: ['hgetall'],
    keys: 'gatehouse:drains',
    access: 'read',
    purpose: 'drained upstreams',
    otherwise: 'all upstreams are used, and the log has a warning',
  },
  {
    use: 'serve',
    commands: ['zadd', 'zremrangebyscore', 'zrangebyscore', 'expire'],
    keys: 'gatehouse:history:*',
    access: 'write',
    purpose: 'history of the status page',
    otherwise: 'a page shows the history of one gateway',
  },
  {
    use: 'manage',
    commands: ['hgetall', 'exists', 'hset', 'hsetnx', 'hdel'],
    keys: 'gatehouse:key:*',
    access: 'write',
    purpose: 'creating and changing keys',
  },
  { use: 'list', commands: ['scan'], purpose: 'listing keys and usage' },
  { use: 'manage', commands: ['xadd'], keys: 'gatehouse:audit', access: 'write', purpose: 'the audit log' },
  {
    use: 'manage',
    commands: ['publish'],
    channels: ['gatehouse:keys'],
    purpose: 'reporting changed keys',
    otherwise: 'only client tracking and lookups report changes',
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
];

/** Further arguments with which Redis accepts a command, so that its ACL is checked for it. */
const exampleArguments: Readonly<Record<string, readonly string[]>> = {
  eval: ['return 1', '0'],
  evalsha: ['0'.repeat(40), '0'],
  hget: ['f'],
  hset: ['f', 'v'],
  hsetnx: ['f', 'v'],
  hdel: ['f'],
  hincrby: ['f', '1'],
  expire: ['1'],
  pexpire: ['1'],
  scan: ['0'],
  xadd: ['*', 'f', 'v'],
  publish: ['m'],
  set: ['v'],
  'client|tracking': ['on'],
};

/** Redis 7 and Valkey check an ACL without running the command. Older versions have no such function: nothing is missing. */
const aclScript = `
if not redis.acl_check_cmd then return {} end
local missing = {}
for i = 1, #ARGV do
  local words = cjson.decode(ARGV[i])
  local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
  if not (known and allowed) then missing[#missing + 1] = i end
end
return missing`;

/**
 * Asks each primary which rights of these uses its user lacks.
 * @returns as in `ACL SETUSER`: `+hset ~gatehouse:limit:*`, each once
 * @throws the error of Redis, for instance if it has no scripts
 */
export async function missingRights(redis: RedisClient, uses: readonly RedisUse[]): Promise<string[]> {
  const checked = rightRows
    .filter(({ use, otherwise }) => uses.includes(use) && otherwise === undefined)
    .flatMap((row) => row.commands.map((command) => ({ row, command })));
  const texts = checked.map(({ row, command }) => JSON.stringify(wordsOf(row, command)));
  const missing = new Set<string>();
  for (const primary of primariesOf(redis)) {
    const numbers = (await primary.eval(aclScript, 0, ...texts)) as number[];
    for (const number of numbers) {
      const { row, command } = checked[number - 1] as (typeof checked)[number];
      missing.add(['+' + command, ...patternsOf(row)].join(' '));
    }
  }
  return [...missing];
}

/** All rights that these uses require, in the syntax of `ACL SETUSER`: commands first. */
export function requiredRights(uses: readonly RedisUse[]): string {
  const rows = rightRows.filter(({ use, otherwise }) => uses.includes(use) && otherwise === undefined);
  const commands = rows.flatMap((row) => row.commands.map((command) => `+${command}`));
  return [...new Set([...commands, ...rows.flatMap(patternsOf)])].join(' ');
}

/** The patterns of keys and channels of a row, in the syntax of `ACL SETUSER`. */
export function patternsOf({ keys, access, channels = [] }: RightRow): string[] {
  const ofKeys = keys === undefined ? [] : [access === 'read' ? `%R~${keys}` : `~${keys}`];
  return [...ofKeys, ...channels.map((channel) => `&${channel}`)];
}

function wordsOf({ keys, channels }: RightRow, command: string): string[] {
  const key = keys === undefined ? [] : [keys.replace('*', '-')];
  const channel = channels?.slice(0, 1) ?? [];
  return [...command.split('|'), ...key, ...channel, ...(exampleArguments[command] ?? [])];
}
