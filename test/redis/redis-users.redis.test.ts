import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeyManager } from '../../gateway/auth/manage/manage-keys.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { findRedisProblems } from '../../gateway/redis/check-redis.ts';
import { lastDays } from '../../gateway/usage/usage-store.ts';
import { patternsOf, rightRows } from '../../schemas/redis-rights.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { openKeys, type OpenKeys } from '../support/open-keys.ts';
import { eventually } from '../support/eventually.ts';
import { openUsage } from '../usage/open-usage.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { sendCommand, startRedis, type RedisServer } from '../support/redis.ts';
import { noPlans } from '../support/no-plans.ts';

/** The commands of docs/scaling.md that create the users, by name. */
const page = readFileSync(join(packageRoot, 'docs/scaling.md'), 'utf8');
const users = new Map(
  [...page.matchAll(/^ACL SETUSER (\w+) .*$/gm)].map(([line, name = '']) => [name, line.split(' ')]),
);
const passwords: Readonly<Record<string, string>> = { gateway: 'password1', operator: 'password2', cache: 'password3' };

let redis: RedisServer;
let node: FakeNode;
let operator: OpenKeys;
let manager: KeyManager;
let gateway: TestGateway;
const urlOf = (user: string): string => redis.url.replace('//', `//${user}:${passwords[user] ?? ''}@`);

beforeAll(async () => {
  redis = await startRedis();
  for (const line of users.values()) expect(await redis.cli(...line)).toBe('OK');
  // Nothing works by the default user.
  await redis.cli('ACL', 'SETUSER', 'default', 'resetpass', '>other');
  node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  operator = openKeys({ REDIS_URL: urlOf('operator') });
  manager = new KeyManager(operator, noPlans);
  await operator.store.waitUntilReady(10_000);
  gateway = await startGateway(
    { test: network(7, [node.url]) },
    { REDIS_URL: urlOf('gateway'), CACHE_REDIS_URL: urlOf('cache') },
  );
});
afterAll(async () => {
  await gateway.stop();
  await operator.close();
  await node.close();
  await redis.stop();
});

const params = [`0x${'ab'.repeat(20)}`, '0x0', 'latest'];
async function statusOf(key = ''): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
  const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', body });
  await response.arrayBuffer();
  return response.status;
}

describe('the Redis users of the documentation', () => {
  it('have the rights of the table, and no others', () => {
    const words = (name: string): string[] =>
      (users.get(name) ?? []).slice(5).filter((word) => !/^resetchannels$/.test(word));
    const rights = (uses: readonly ('serve' | 'list' | 'manage' | 'cache')[]): string[] => {
      const rows = rightRows.filter(({ use }) => uses.includes(use));
      return ['-@all', ...rows.flatMap((row) => [...row.commands.map((command) => `+${command}`), ...patternsOf(row)])];
    };
    const set = (list: readonly string[]): string[] => [...new Set(list)].sort();
    expect(set(words('gateway'))).toEqual(set(rights(['serve'])));
    expect(set(words('operator'))).toEqual(
      set(rights(['serve', 'list', 'manage']).filter((word) => !word.startsWith('%R'))),
    );
    expect(set(words('cache'))).toEqual(set(rights(['cache'])));
  });

  it('operator: creates, limits, lists and revokes keys; gateway: serves, charges, counts and follows changes', async () => {
    const { id, key } = await manager.create('alice', { daily: '2' });
    expect([await statusOf(key), await statusOf(key)]).toEqual([200, 200]);
    expect(await statusOf(key)).toBe(429);
    const usage = await openUsage({ REDIS_URL: urlOf('operator'), DATA_DIR: '' });
    await eventually(async () => (await usage.read(id, lastDays(1)))[0]?.calls === 2);
    await manager.update(id, { daily: '1000' });
    await eventually(async () => (await statusOf(key)) === 200);
    expect((await manager.list()).map((record) => record.id)).toContain(id);
    expect(gateway.gateway.keys.freshForMs).toBe(30_000);
    await manager.revoke(id);
    await eventually(async () => (await statusOf(key)) === 401);
    const audit = await sendCommand(redis.url.replace('//', '//default:other@'), 'XLEN', 'gatehouse:audit');
    expect(Number(audit)).toBeGreaterThanOrEqual(3);
  });

  it('gateway: cannot create keys; an admin API that changes keys needs the rights of operator, or warns', async () => {
    await expect(new KeyManager(gateway.gateway.keys, noPlans).create('mallory', {})).rejects.toThrow(
      'Redis rejects a command (NOPERM): its user lacks a right',
    );
    const warningsOf = async (user: string, more: Record<string, string> = {}): Promise<readonly string[]> => {
      const settings = readSettings({ OPS_PORT: '1', REDIS_URL: urlOf(user), ...more });
      const { problem, warnings } = await findRedisProblems(settings, 10_000);
      expect(problem).toBeUndefined();
      return warnings;
    };
    const writes = { ADMIN_TOKENS: 'viewer:read:0123456789abcdef,clerk:keys:fedcba9876543210' };
    const reads = { ADMIN_TOKENS: 'viewer:read:0123456789abcdef' };
    expect(await warningsOf('gateway')).toEqual([]);
    expect(await warningsOf('gateway', writes)).toEqual([
      expect.stringMatching(/^REDIS_URL: Redis rejects a command: NOPERM .*'hdel'.*admin API fails$/),
    ]);
    expect(await warningsOf('gateway', reads)).toEqual([]);
    expect(await warningsOf('operator', writes)).toEqual([]);
    expect(await warningsOf('operator', { CACHE_REDIS_URL: urlOf('cache') })).toEqual([]);
    expect(await warningsOf('operator', { CACHE_REDIS_URL: urlOf('gateway') })).toEqual([
      expect.stringMatching(/^CACHE_REDIS_URL: Redis rejects a command: NOPERM .*'get'.*responses are not shared$/),
    ]);
  });

  it('gateway: a gateway with an admin API starts, and doctor has the same warning', async () => {
    const env = { REDIS_URL: urlOf('gateway'), OPS_PORT: '0', ADMIN_TOKEN: 'a-token-of-an-operator' };
    const place = new CommandFolder().withNetworks({ fake: network(7, [node.url]) });
    try {
      expect((await place.serve(env)).gateway.keys.location).toBe('in Redis (REDIS_URL)');
      const { stdout } = await place.run(['doctor', '--limit', '5', '--json'], env);
      const { redis: found } = JSON.parse(stdout) as { redis: { problems: string[]; notes: string[] } };
      expect(found.problems).toEqual([]);
      expect(found.notes).toContainEqual(expect.stringMatching(/NOPERM .*'hdel'.*; calls are served/));
    } finally {
      await place.close();
    }
  });
});
