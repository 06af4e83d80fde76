import { beforeEach, describe, expect, it } from 'vitest';
import { listKeys } from '../../../gateway/auth/stores/key-store.ts';
import { eventually } from '../../support/eventually.ts';
import { status } from '../../support/behaviours.ts';
import { blockAt, storageParams, untilHeadsPolled, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

const call = (id: number, method = 'eth_getStorageAt', params: readonly unknown[] = storageParams) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const explainHeaders = { 'x-gatehouse-explain': '1' };

let all: WithNodes;
beforeEach(async () => {
  all = await withNodes(2);
});

async function allow(): Promise<void> {
  const { keys } = all.gateway.gateway;
  const [key] = await listKeys(keys);
  await keys.update(key?.id ?? '', { permissions: 'explain' });
  await eventually(async () => (await explained(call(1))).header !== null);
  for (const node of all.nodes) node.calls.length = 0;
}

async function explained(body: unknown, headers: Record<string, string> = explainHeaders, query = '') {
  const url = `${all.gateway.url('test')}${query}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  const header = response.headers.get('x-gatehouse-explain');
  return { response, header, rpcResponse: await response.json(), explanation: JSON.parse(header ?? 'null') as unknown };
}

describe('a key with the capability explain', () => {
  it('gets the upstream of a call, and the same response body', async () => {
    await allow();
    const { explanation, rpcResponse, response } = await explained(call(1));
    expect(rpcResponse).toEqual({ jsonrpc: '2.0', id: 1, result: word(1) });
    expect(explanation).toEqual({
      network: 'test',
      upstreams: ['node-0', 'node-1'],
      calls: [
        {
          method: 'eth_getStorageAt',
          outcome: 'result',
          requestUnits: 1,
          cache: 'off',
          attempts: [
            {
              upstream: 'node-0',
              atMs: expect.any(Number) as number,
              ms: expect.any(Number) as number,
              outcome: 'response',
            },
          ],
        },
      ],
    });
    expect(response.headers.get('access-control-expose-headers')).toContain('X-Gatehouse-Explain');
    expect(all.requestCounts()).toEqual([1, 0]);
  });

  it('gets an open circuit as the skip reason, and not that the head is unknown because of the same failures', async () => {
    await allow();
    const latest = call(1, 'eth_getBlockByNumber', ['latest', false]);
    for (const node of all.nodes) node.response('eth_getBlockByNumber', blockAt('0x10'));
    await explained(latest);
    await untilHeadsPolled(all);
    all.nodes[0]?.always(status(503));
    for (const number of [1, 2, 3]) await explained(call(1, 'eth_getTransactionReceipt', [word(number)]));
    const { explanation } = await explained(call(1));
    expect(explanation).toMatchObject({
      calls: [{ skipped: { 'node-0': 'circuit-open' }, attempts: [{ upstream: 'node-1' }] }],
    });
  });

  it('gets failed attempts, and skipped upstreams with their skip reasons', async () => {
    await allow();
    await all.nodes[0]?.refuse();
    const failed = await explained(call(1));
    await all.nodes[0]?.listen();
    expect(failed.explanation).toMatchObject({
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
    expect(after.explanation).toMatchObject({
      calls: [{ skipped: { 'node-0': 'circuit-open' }, attempts: [{ upstream: 'node-1' }] }],
    });
    expect(all.requestCounts()).toEqual([0, 2]);
  });

  it('gets an explanation of errors too, without URLs of upstreams', async () => {
    await allow();
    for (const node of all.nodes) node.always(status(503));
    const { explanation, response, header } = await explained(call(1));
    expect(response.status).toBe(503);
    expect(explanation).toMatchObject({ calls: [{ outcome: 'no-upstream', attempts: [{}, {}] }] });
    expect(header).not.toMatch(/127\.0\.0\.1|http|503/);
  });

  it('gets an explanation of each call of a batch, up to the size of a header', async () => {
    await allow();
    const few = await explained([call(1), call(2, 'eth_chainId', []), call(3, 'no_such', [])]);
    expect(few.explanation).toMatchObject({
      calls: [
        { method: 'eth_getStorageAt' },
        { method: 'eth_chainId', outcome: 'result', attempts: [] },
        { method: 'other', outcome: 'method-not-found', attempts: [] },
      ],
    });
    const many = await explained(Array.from({ length: 200 }, (_, id) => call(id)));
    expect(many.header?.length).toBeLessThanOrEqual(3_000);
    const { calls, more } = many.explanation as { calls: unknown[]; more: number };
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.length + more).toBe(200);
  });

  it('gets no explanation without a request for it', async () => {
    await allow();
    for (const query of ['', '?unexplained', '?x=explain']) {
      expect((await explained(call(1), {}, query)).header).toBeNull();
    }
  });
});

it('a key without the capability gets its response without an explanation', async () => {
  const { header, rpcResponse: response } = await explained(call(1), explainHeaders, '?explain=1');
  expect([header, response]).toEqual([null, { jsonrpc: '2.0', id: 1, result: word(1) }]);
});
