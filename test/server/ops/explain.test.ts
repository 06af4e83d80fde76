import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../auth/eventually.ts';
import { status } from '../../support/behaviours.ts';
import { storageParams, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

const call = (id: number, method = 'eth_getStorageAt', params: readonly unknown[] = storageParams) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const routedCall = { 'x-gatehouse-explain': '1' };

let all: WithNodes;
beforeEach(async () => {
  all = await withNodes(2);
});

async function allow(): Promise<void> {
  const { keys } = all.gateway.gateway;
  const [key] = await keys.list();
  await keys.update(key?.id ?? '', { permissions: 'explain' });
  await eventually(async () => (await explained(call(1))).header !== null, 5_000);
  for (const node of all.nodes) node.calls.length = 0;
}

async function explained(body: unknown, headers: Record<string, string> = routedCall, query = '') {
  const url = `${all.gateway.url('test')}${query}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  const header = response.headers.get('x-gatehouse-explain');
  return { response, header, rpcResponse: await response.json(), says: JSON.parse(header ?? 'null') as unknown };
}

describe('a key that may explain', () => {
  it('is told by which upstream a call was answered, and the answer stays as it is', async () => {
    await allow();
    const { says, rpcResponse, response } = await explained(call(1));
    expect(rpcResponse).toEqual({ jsonrpc: '2.0', id: 1, result: word(1) });
    expect(says).toEqual({
      network: 'test',
      upstreams: ['node-0', 'node-1'],
      calls: [
        {
          method: 'eth_getStorageAt',
          outcome: 'result',
          cache: 'off',
          attempts: [{ upstream: 'node-0', ms: expect.any(Number) as number, outcome: 'response' }],
        },
      ],
    });
    expect(response.headers.get('access-control-expose-headers')).toContain('X-Gatehouse-Explain');
    expect(all.requestCounts()).toEqual([1, 0]);
  });

  it('is told of failed attempts, and of upstreams that were passed over and why', async () => {
    await allow();
    all.nodes[0]?.next(status(503));
    const failed = await explained(call(1));
    expect(failed.says).toMatchObject({
      calls: [
        {
          attempts: [
            { upstream: 'node-0', outcome: 'transport' },
            { upstream: 'node-1', outcome: 'response' },
          ],
        },
      ],
    });
    const after = await explained(call(2), {}, '?explain');
    expect(after.says).toMatchObject({
      calls: [{ skipped: { 'node-0': 'circuit-open' }, attempts: [{ upstream: 'node-1' }] }],
    });
    expect(all.requestCounts()).toEqual([1, 2]);
  });

  it('is told of an error, too, and nothing that would give an upstream away', async () => {
    await allow();
    for (const node of all.nodes) node.always(status(503));
    const { says, response, header } = await explained(call(1));
    expect(response.status).toBe(503);
    expect(says).toMatchObject({ calls: [{ outcome: 'no-upstream', attempts: [{}, {}] }] });
    expect(header).not.toMatch(/127\.0\.0\.1|http|503/);
  });

  it('is told of each call of a batch, as far as there is room in a header', async () => {
    await allow();
    const few = await explained([call(1), call(2, 'eth_chainId', []), call(3, 'no_such', [])]);
    expect(few.says).toMatchObject({
      calls: [
        { method: 'eth_getStorageAt' },
        { method: 'eth_chainId', outcome: 'result', attempts: [] },
        { method: 'other', outcome: 'method-not-found', attempts: [] },
      ],
    });
    const many = await explained(Array.from({ length: 200 }, (_, id) => call(id)));
    expect(many.header?.length).toBeLessThanOrEqual(3_000);
    const { calls, more } = many.says as { calls: unknown[]; more: number };
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.length + more).toBe(200);
  });

  it('is told nothing unless it asks', async () => {
    await allow();
    for (const query of ['', '?unexplained', '?x=explain']) {
      expect((await explained(call(1), {}, query)).header).toBeNull();
    }
  });
});

it('a key that may not is told nothing, and answered all the same', async () => {
  const { header, rpcResponse: response } = await explained(call(1), routedCall, '?explain=1');
  expect([header, response]).toEqual([null, { jsonrpc: '2.0', id: 1, result: word(1) }]);
});
