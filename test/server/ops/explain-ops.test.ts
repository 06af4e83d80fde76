import { describe, expect, it } from 'vitest';
import { ScriptedChain } from '../../chain/scripted-chain.ts';
import { eventually } from '../../support/eventually.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { storageParams, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

const token = 'correct-horse-battery';
const ops = { OPS_PORT: '0', ADMIN_TOKEN: token };

const call = (id: number, method = 'eth_getStorageAt', params: readonly unknown[] = storageParams) => ({
  ...{ jsonrpc: '2.0', id },
  ...{ method, params },
});

/** Sends calls to the explain operation of a network. */
async function explain({ gateway }: WithNodes, call: unknown, slug = 'test', given = token) {
  const url = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/explain/${slug}`;
  const headers = { authorization: `Bearer ${given}` };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as { answer: unknown; explanation: unknown } };
}

const number = expect.any(Number) as number;

describe('a call at the ops port', () => {
  it('gets a response without a key, with an explanation of the upstreams used', async () => {
    const all = await withNodes(2, ops);
    await all.nodes[0]?.refuse();
    const first = await explain(all, call(7));
    await all.nodes[0]?.listen();
    expect(first).toMatchObject({ status: 200, body: { answer: { jsonrpc: '2.0', id: 7, result: word(2) } } });
    expect(first.body.explanation).toEqual({
      network: 'test',
      upstreams: ['node-0', 'node-1'],
      calls: [
        {
          method: 'eth_getStorageAt',
          outcome: 'result',
          requestUnits: 1,
          cache: 'off',
          attempts: [
            { upstream: 'node-0', atMs: number, ms: number, outcome: 'transport' },
            { upstream: 'node-1', atMs: number, ms: number, outcome: 'response' },
          ],
        },
      ],
    });
    const { body, text } = await explain(all, call(8));
    expect(body.explanation).toMatchObject({ calls: [{ skipped: { 'node-0': 'circuit-open' } }] });
    expect(text).not.toMatch(/127\.0\.0\.1|http/);
    expect(all.requestCounts()).toEqual([0, 2]);
  });

  it('may be a batch of any size; errors are in its response', async () => {
    const all = await withNodes(1, ops);
    const batch = Array.from({ length: 60 }, (_, id) =>
      call(id, 'eth_getStorageAt', [storageParams[0], word(id), 'latest']),
    );
    const { body } = await explain(all, [...batch, call(60, 'no_such', []), 5]);
    expect(body.answer).toHaveLength(62);
    expect((body.answer as unknown[])[0]).toMatchObject({ id: 0, result: word(1) });
    expect((body.answer as unknown[]).slice(-2)).toMatchObject([
      { id: 60, error: { code: -32601 } },
      { id: null, error: { code: -32600 } },
    ]);
    expect((body.explanation as { calls: unknown[] }).calls).toHaveLength(61);
    expect(all.requestCounts()).toEqual([60]);
    expect((await explain(all, [])).body.answer).toMatchObject({ id: null, error: { code: -32600 } });
    const notification = { ...call(1), id: undefined };
    expect((await explain(all, notification)).body.answer).toBeNull();
    expect(all.requestCounts()).toEqual([60]);
  });

  it('needs the token, and an existing network', async () => {
    const all = await withNodes(1, ops);
    expect((await explain(all, call(1), 'test', 'another')).status).toBe(401);
    expect(await explain(all, call(1), 'none')).toMatchObject({
      status: 404,
      body: { error: { message: 'there is no network of this name' } },
    });
    const { address } = all.gateway;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${address}/admin/explain/test`, { method: 'POST', headers, body: '{}' })).status).toBe(404);
    expect(all.requestCounts()).toEqual([0]);
  });

  it('shows whether the response was cached or is cacheable', async () => {
    const all = await withNodes(1, { ...ops, CACHE_MAX_BYTES: '1000000' });
    const chain = new ScriptedChain();
    const [node] = all.nodes;
    node?.response('eth_getBlockByNumber', () => chain.head);
    node?.response('eth_getBlockByHash', ([which]: [string]) => chain.byHash(which));
    node?.response('eth_gasPrice', '0x1');
    await explain(all, call(1, 'eth_gasPrice', []));
    await eventually(() => node?.callsOf('eth_getBlockByNumber').length !== 0);
    const head = async (): Promise<number | undefined> =>
      (await readMetrics(`http://127.0.0.1:${all.gateway.gateway.opsPort ?? 0}`)).value('gatehouse_network_head_block');
    await eventually(async () => (await head()) === 100);
    const verdicts: unknown[] = [];
    const explainCall = async (method: string, params: readonly unknown[]): Promise<void> => {
      const { body } = await explain(all, call(1, method, params));
      verdicts.push((body.explanation as { calls: { cache?: string }[] }).calls[0]?.cache);
    };
    const block = [chain.head.hash, false];
    for (let times = 0; times < 2; times++) await explainCall('eth_getBlockByHash', block);
    await explainCall('eth_getStorageAt', [storageParams[0], '0x0', 'pending']);
    await explainCall('eth_sendRawTransaction', ['0x02c0']);
    await explainCall('eth_chainId', []);
    expect(verdicts).toEqual(['miss', 'hit', 'not-cacheable', 'not-cacheable', undefined]);
    expect(node?.callsOf('eth_getBlockByHash')).toHaveLength(1);
  });
});
