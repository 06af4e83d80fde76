import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis } from '../../support/redis.ts';

const token = 'correct-horse-battery';

let gateway: TestGateway;
let ops: string;

async function send(verb: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${ops}${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

const create = async (name: string, permissions: object): Promise<{ id: string; key: string }> =>
  (await send('POST', '/admin/keys', { name, permissions })) as { id: string; key: string };

const call = (key: string) =>
  fetch(`${gateway.address}/main/v3/${key}`, {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}',
  });

describe.each(['memory', 'Redis'])('with limits in %s', (kind) => {
  beforeEach(async () => {
    const redis = kind === 'Redis' ? await startRedis() : undefined;
    const node = await startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x1' } });
    gateway = await startGateway(
      { main: network(5, [node.url]) },
      {
        ...{ OPS_PORT: '0', ADMIN_TOKEN: token, METRICS_PER_KEY: 'on' },
        ...(redis !== undefined && { REDIS_URL: redis.url }),
      },
    );
    ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
    onTestFinished(async () => {
      await gateway.stop();
      await node.close();
      await redis?.stop();
    });
  });

  it('the admin API and the metrics have the used share of each quota', async () => {
    const { id, key } = await create('dapp', { daily: 10, monthly: 100 });
    const day = { period: 'day', size: 10, endsInS: expect.any(Number) as number };
    const month = { period: 'month', size: 100, endsInS: expect.any(Number) as number };
    expect((await send('GET', `/admin/keys/${id}`))['quotas']).toEqual([
      { ...day, used: 0 },
      { ...month, used: 0 },
    ]);
    for (let count = 0; count < 8; count++) expect((await call(key)).status).toBe(200);
    await eventually(async () => {
      const { quotas } = (await send('GET', `/admin/keys/${id}`)) as { quotas: { used: number }[] };
      return quotas[0]?.used === 8 && quotas[1]?.used === 8;
    });
    const metrics = await readMetrics(ops);
    expect(metrics.value('gatehouse_key_quota_used_ratio', { key: id, period: 'day' })).toBeCloseTo(0.8);
    expect(metrics.value('gatehouse_key_quota_used_ratio', { key: id, period: 'month' })).toBeCloseTo(0.08);
    const { id: plain } = await create('plain', {});
    expect(await send('GET', `/admin/keys/${plain}`)).not.toHaveProperty('quotas');
  });

  it('keys are renamed, chosen by team, and sorted by use', async () => {
    const one = await create('one', { team: 'acme', origins: 'a.example' });
    const two = await create('two', { team: 'acme' });
    await create('other', { team: 'beta', origins: 'a.example,b.example' });
    expect(await send('PATCH', `/admin/keys/${one.id}`, { name: ' first ' })).toEqual({ id: one.id });
    expect((await send('GET', `/admin/keys/${one.id}`))['name']).toBe('first');
    expect(await send('PATCH', `/admin/keys/${one.id}`, { name: '' })).toMatchObject({ error: { field: 'name' } });
    await call(two.key);
    const byUse = async (): Promise<unknown[]> => {
      const { keys } = await send('GET', '/admin/keys?team=acme&sort=-use&days=2&limit=10');
      return (keys as { name: string; usage: object }[]).map(({ name, usage }) => [name, usage]);
    };
    const today = new Date().toISOString().slice(0, 10);
    await eventually(async () => JSON.stringify(await byUse()).includes('"calls":1'));
    expect(await byUse()).toMatchObject([
      ['two', { calls: 1, lastDay: today }],
      ['first', { calls: 0 }],
    ]);
    expect(await send('GET', '/admin/keys?sort=use')).toMatchObject({ error: { field: 'sort' } });
    expect(await send('GET', '/admin/choices')).toMatchObject({
      ...{ origins: ['a.example', 'b.example'], teams: ['acme', 'beta'] },
      methods: expect.arrayContaining(['eth', 'eth_call']) as unknown,
    });
  });

  it('the usage of a rotated key has that of the keys before it, if it is asked for', async () => {
    const { id, key } = await create('dapp', {});
    await call(key);
    const { id: next } = (await send('POST', `/admin/keys/${id}/rotate`, {})) as { id: string };
    const usage = async (more: string) => {
      const { keys, usage: rows } = await send('GET', `/admin/keys/${next}/usage?days=2${more}`);
      return [(keys as string[]).sort(), (rows as { calls: number }[]).map(({ calls }) => calls)];
    };
    await eventually(async () => JSON.stringify(await usage('&rotated=true')).endsWith('[1]]'));
    expect(await usage('&rotated=true')).toEqual([[id, next].sort(), [1]]);
    expect(await usage('')).toEqual([[next], []]);
    expect(await send('GET', `/admin/keys/${next}/usage?rotated=yes`)).toMatchObject({ error: { field: 'rotated' } });
  });
});
