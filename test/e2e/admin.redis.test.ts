import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { CommandFolder } from '../support/command-folder.ts';

const token = 'T0ken-0f-an-operator';
const wrongToken = 'T0ken-0f-a-stranger';

describe.each(['file', 'redis'])('a gateway that is managed over HTTP, with a key store in %s', (kind) => {
  it('shows no token, key or secret in logs at any level, metrics, files or Redis', async () => {
    const redis: RedisServer | undefined = kind === 'redis' ? await startRedis() : undefined;
    const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
    const place = new CommandFolder().withNetworks({ test: network(7, [node.url]) });
    onTestFinished(async () => {
      await place.close();
      await node.close();
      await redis?.stop();
    });
    const opsPort = await freePort();
    const gateway = await place.serve({
      ...{ LOG_LEVEL: 'trace', ACCESS_LOG: 'on', OPS_PORT: String(opsPort), ADMIN_TOKEN: token, METRICS_PER_KEY: 'on' },
      ...(redis !== undefined && { REDIS_URL: redis.url }),
    });
    const seen: string[] = [];
    const sendRequest = async (verb: string, path: string, body?: object, given = token): Promise<Response> =>
      fetch(`http://127.0.0.1:${opsPort}${path}`, {
        method: verb,
        headers: { authorization: `Bearer ${given}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const logEntry = async (response: Response): Promise<void> => void seen.push(await response.text());

    type Once = { id: string; key: string; secret: string };
    const made = (await (await sendRequest('POST', '/admin/keys', { name: 'a', secret: true })).json()) as Once;
    const rotated = (await (await sendRequest('POST', `/admin/keys/${made.id}/rotate`)).json()) as Once;
    const renewed = (await (
      await sendRequest('POST', `/admin/keys/${made.id}/rotate`, { secret: true })
    ).json()) as Once;
    const hidden = [token, wrongToken, made.key, made.secret, rotated.key, renewed.secret, digestOf(renewed.secret)];

    const authorization = `Basic ${Buffer.from(`:${made.secret}`).toString('base64')}`;
    const params = [`0x${'ab'.repeat(20)}`, '0x0', 'latest'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
    const call = (): Promise<Response> =>
      fetch(`${gateway.address}/test/v3/${rotated.key}`, { method: 'POST', headers: { authorization }, body });
    await eventually(async () => (await call()).status === 200);
    await logEntry(await call());

    await logEntry(await sendRequest('GET', '/admin/keys', undefined, wrongToken));
    await logEntry(await sendRequest('PATCH', `/admin/keys/${made.id}`, { permissions: { rate: made.key } }));
    await logEntry(
      await sendRequest('PATCH', `/admin/keys/${made.id}`, { permissions: { [made.key.slice(0, 2)]: 1 } }),
    );
    await logEntry(await sendRequest('POST', '/admin/keys', { name: made.secret, key: made.key }));
    await logEntry(await sendRequest('POST', '/admin/keys', { name: 'b', permissions: { ips: [made.secret] } }));
    await logEntry(await sendRequest('GET', '/admin/keys'));
    await logEntry(await sendRequest('GET', `/admin/keys/${made.id}`));
    await logEntry(await sendRequest('POST', `/admin/keys/${made.id}/revoke`));
    await eventually(async () =>
      (await (await sendRequest('GET', '/metrics')).text()).includes(`{key="${rotated.id}"}`),
    );
    await logEntry(await sendRequest('GET', '/metrics'));
    await logEntry(await sendRequest('GET', `/admin/keys/${rotated.id}/usage`));

    await gateway.stop();
    seen.push(gateway.log());
    expect(gateway.log()).toContain('missing or wrong token');
    for (const text of seen) for (const one of hidden) expect(text).not.toContain(one);

    // The store has digests of secrets only.
    const stored = redis === undefined ? filesIn(join(place.folder, '.gatehouse')) : await dump(redis);
    expect(stored).toContain(digestOf(made.key));
    expect(stored).toContain('admin API, admin, 127.0.0.1');
    for (const one of hidden.slice(0, -1)) expect(stored).not.toContain(one);
  });
});

function filesIn(folder: string): string {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return names.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('\n');
}

/** The command that reads a value of Redis, and its range, by type. */
const readBy: Record<string, readonly string[]> = {
  hash: ['HGETALL'],
  set: ['SMEMBERS'],
  stream: ['XRANGE', '-', '+'],
  zset: ['ZRANGE', '0', '-1'],
};

async function dump(redis: RedisServer): Promise<string> {
  const keys = (await redis.cli('KEYS', '*')).split('\n');
  const read = async (key: string): Promise<string> => {
    const [command, ...range] = readBy[await redis.cli('TYPE', key)] ?? [];
    return redis.cli(command ?? 'GET', key, ...range);
  };
  return [...keys, ...(await Promise.all(keys.map(read)))].join('\n');
}
