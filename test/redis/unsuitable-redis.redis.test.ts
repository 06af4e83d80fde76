import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findRedisProblem, type RedisUse } from '../../gateway/redis/check-redis.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { eventually } from '../support/eventually.ts';
import { network } from '../support/gateway.ts';
import { freePort, startRedis, type RedisServer, type RedisStart } from '../support/redis.ts';

/** Long: a machine under load must not make a reachable Redis count as unreachable. */
const timeoutMs = 10_000;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function start(options: RedisStart = {}): Promise<RedisServer> {
  const server = await startRedis(options);
  onTestFinished(server.stop);
  return server;
}

/** The problem because of which a gateway would not start; undefined if it would. */
function problemOf(
  url: string,
  uses: readonly RedisUse[] = ['serve'],
  limitMs = timeoutMs,
): Promise<string | undefined> {
  return findRedisProblem(parseRedisUrl(url), uses, limitMs);
}

describe('a server that a gateway cannot use stops its start', () => {
  it('not Redis, but HTTP', async () => {
    const server = createHttpServer((_, response) => response.end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await problemOf(`redis://127.0.0.1:${port}`)).toMatch(/^the server is not Redis: Unknown RESP type/);
  });

  it('a read-only replica', async () => {
    const replica = await start({ args: ['--replicaof', `127.0.0.1 ${redis.port}`] });
    expect(await problemOf(replica.url)).toMatch(/^Redis rejects a command: READONLY .*replica/);
    expect(await redis.cli('DBSIZE')).toBe('0');
  });

  it('a Redis without scripts', async () => {
    const server = await start({ args: ['--rename-command', 'EVAL', ''] });
    expect(await problemOf(server.url)).toMatch(/^Redis rejects a command: ERR unknown command 'eval'/);
  });

  it('a wrong password, or none', async () => {
    const server = await start({ args: ['--requirepass', 'right'] });
    const withUser = (user: string): string => server.url.replace('//', `//${user}@`);
    expect(await problemOf(withUser(':wrong'))).toMatch(/^Redis rejects a command: WRONGPASS /);
    expect(await problemOf(server.url)).toBe('Redis rejects a command: NOAUTH Authentication required.');
    expect(await problemOf(withUser(':right'))).toBeUndefined();
  });

  it('a cluster that is none; a node with all slots is served without its cluster', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-node-'));
    const config = ['--cluster-enabled', 'yes', '--cluster-config-file', join(folder, 'nodes.conf')];
    const node = await start({ args: [...config, '--cluster-port', String(await freePort())] });
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    await node.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    expect(await problemOf(node.url)).toBeUndefined();
    expect(await problemOf(redis.url.replace('redis:', 'redis+cluster:'))).toMatch(/cluster support disabled/);
  });

  it('a Sentinel by a plain URL, a group that it does not have, and a Sentinel that is none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sentinel-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    const config = join(folder, 'sentinel.conf');
    writeFileSync(config, `sentinel monitor main 127.0.0.1 ${redis.port} 1`);
    const sentinel = await start({ config, args: ['--sentinel'], ready: '+monitor' });
    expect(await problemOf(`redis://127.0.0.1:${sentinel.port}`)).toMatch(
      /^Redis rejects a command: ERR unknown command/,
    );
    const group = (name: string, port = sentinel.port): string => `redis+sentinel://127.0.0.1:${port}/${name}`;
    expect(await problemOf(group('main', redis.port))).toMatch(/unknown command 'sentinel'/);
    expect(await problemOf(group('other'))).toMatch(/^Redis rejects a command: ERR No such master/);
    expect(await problemOf(group('main'))).toBeUndefined();
  });
});

describe('the rights of a Redis user', () => {
  it.each(['hget', 'eval', 'pexpire'])('%s is named if a gateway lacks it', async (name) => {
    await redis.cli('ACL', 'SETUSER', 'some', 'on', '>pass', '~*', '&*', '+@all', `-${name}`);
    const problem = await problemOf(redis.url.replace('//', '//some:pass@'));
    expect(problem).toMatch(/^Redis rejects a command: (NOPERM|ERR) /);
    expect(problem).toContain(name);
    expect(problem).not.toContain('pass');
  });

  it('on Redis keys are named if they lack: writing is not reading', async () => {
    await redis.cli('ACL', 'SETUSER', 'reader', 'on', '>pass', '%R~*', '&*', '+@all');
    const url = redis.url.replace('//', '//reader:pass@');
    expect(await problemOf(url, ['list'])).toBeUndefined();
    for (const use of ['serve', 'manage', 'cache'] as const) {
      expect(await problemOf(url, [use])).toMatch(/^Redis rejects a command: .*(NOPERM|access)/);
    }
  });
});

it('the command ends with code 1 and one line; a Redis that is unreachable does not end it', async () => {
  const place = new CommandFolder().withNetworks({ fake: network(10, ['http://127.0.0.1:1']) });
  try {
    const server = await start({ args: ['--requirepass', 'right'] });
    const ended = await place.run(['start'], { PORT: '0', REDIS_URL: server.url.replace('//', '//:hush@') });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toBe(
      'REDIS_URL: Redis rejects a command: WRONGPASS invalid username-password pair or user is disabled.\n',
    );
    const { code, stdout } = await place.run(['doctor', '--limit', '5'], { REDIS_URL: server.url });
    expect(code).toBe(1);
    expect(stdout).toContain('\n✗ Redis\n  Redis: Redis rejects a command: NOAUTH');
    const { gateway } = await place.serve({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(gateway.keys.location).toBe('in Redis (REDIS_URL)');
  } finally {
    await place.close();
  }
});

it('a server that accepts connections and does not respond is no problem that stops a start', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await problemOf(`redis://127.0.0.1:${port}`, ['serve'], 300)).toBeUndefined();
});
