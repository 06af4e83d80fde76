import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findRedisProblem } from '../../gateway/redis/check-redis.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import { Workplace } from '../e2e/gateway-process.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';

// Redis with TLS at one port and without at another; a cluster of one node; and a Sentinel of the first. One certificate.
let folder: string;
let node: FakeNode;
let place: Workplace;
let redis: RedisServer;
let tlsPort: number;
const servers: RedisServer[] = [];
const file = (name: string): string => join(folder, name);
const plainUrl = (): string => redis.url.replace('//', '//:word@');
const trusted = (): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: file('cert.pem') });

async function startWithTls(more: readonly string[], options: Parameters<typeof startRedis>[0] = {}): Promise<number> {
  const port = await freePort();
  const files = [
    '--tls-cert-file',
    file('cert.pem'),
    '--tls-key-file',
    file('key.pem'),
    '--tls-ca-cert-file',
    file('cert.pem'),
  ];
  const server = await startRedis({ ...options, args: ['--tls-port', String(port), ...files, ...more] });
  servers.push(server);
  return port;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const keyOf = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file('key.pem')];
  execFileSync('openssl', ['req', '-x509', ...keyOf, '-out', file('cert.pem'), '-days', '5', ...subject], {
    stdio: 'ignore',
  });
  node = await startFakeNode({ chainId: 10, responses: { eth_getStorageAt: `0x${'07'.padStart(64, '0')}` } });
  place = new Workplace().withNetworks({ fake: network(10, [node.url]) });
  tlsPort = await startWithTls(['--tls-auth-clients', 'no', '--requirepass', 'word']);
  redis = servers[0] as RedisServer;
});
afterAll(async () => {
  await place.close();
  await Promise.all(servers.map((server) => server.stop()));
  await node.close();
  rmSync(folder, { recursive: true });
});

/** Serves a call of a key: commands, changes, limits and usage use the URL. @param plainUrl of the same Redis without TLS */
async function serves(url: string, plainUrl: string): Promise<void> {
  const key = await place.addKey({ permissions: { rate: '100', burst: '100' }, redisUrl: plainUrl });
  const gateway = await place.start({ ...trusted(), REDIS_URL: url });
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_getStorageAt',
    params: [`0x${'ab'.repeat(20)}`, '0x0', 'latest'],
  });
  await eventually(
    async () => (await fetch(`${gateway.address}/fake/v3/${key}`, { method: 'POST', body })).status === 200,
  );
  expect((await gateway.stop()).code).toBe(0);
}

describe('Redis with TLS', () => {
  it('serves a gateway', () => serves(`rediss://:word@localhost:${tlsPort}`, plainUrl()));

  it('as a cluster serves a gateway', async () => {
    const bus = [
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      file('nodes.conf'),
      '--cluster-port',
      String(await freePort()),
    ];
    const port = await startWithTls([
      '--tls-auth-clients',
      'no',
      '--tls-cluster',
      'yes',
      '--cluster-announce-ip',
      '127.0.0.1',
      ...bus,
    ]);
    const cluster = servers.at(-1) as RedisServer;
    await cluster.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => (await cluster.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    await serves(`rediss+cluster://127.0.0.1:${port}`, cluster.url);
  });

  it('behind a Sentinel with TLS and a password of its own serves a gateway', async () => {
    const config = file('sentinel.conf');
    writeFileSync(
      config,
      [`sentinel monitor main 127.0.0.1 ${tlsPort} 1`, 'sentinel auth-pass main word', ''].join('\n'),
    );
    const more = ['--tls-auth-clients', 'no', '--tls-replication', 'yes', '--requirepass', 'other', '--sentinel'];
    const port = await startWithTls(more, { config, ready: '+monitor' });
    await serves(`rediss+sentinel://:word@127.0.0.1:${port}/main?sentinelPassword=other`, plainUrl());
  });
});

describe('the check of a start with the wrong kind of TLS', () => {
  const problemOf = (url: string, timeoutMs = 10_000): Promise<string | undefined> =>
    findRedisProblem(parseRedisUrl(url), ['serve'], timeoutMs);

  it('has the words of TLS for a certificate that is not trusted', async () => {
    expect(await problemOf(`rediss://:word@localhost:${tlsPort}`)).toMatch(/^TLS: self-signed certificate/);
  });

  it('does not stop a start that waits for a Redis without TLS', async () => {
    expect(await problemOf(`redis://:word@localhost:${tlsPort}`, 1_000)).toBeUndefined();
  }, 30_000);

  it('says that client certificates are not supported', async () => {
    const port = await startWithTls(['--tls-auth-clients', 'yes']);
    const env = { ...trusted(), REDIS_URL: `rediss://localhost:${port}` };
    const { code, stdout } = await place.spawn(['doctor', '--limit', '10'], env).ended;
    expect(code).toBe(1);
    expect(stdout).toContain('Redis: TLS: tlsv13 alert certificate required');
  }, 30_000);
});
