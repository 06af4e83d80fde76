import { describe, expect, it } from 'vitest';
import { shiftClock } from '../../routing/with-nodes.ts';
import { balanceCall, blocksTo, observing, withAudits, type WithAudits } from './with-audits.ts';

const blocks = blocksTo();
const limit = { timeout: 90_000 };
const token = 'correct-horse-battery';
const ops = { OPS_PORT: '0', ADMIN_TOKEN: token };

/** The explanation of a call at the ops port. */
async function explain({ gateway }: WithAudits, [method, params]: readonly [string, unknown]): Promise<unknown> {
  const url = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/explain/test`;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });
  const { explanation } = (await response.json()) as { explanation: { calls: readonly [{ audit?: unknown }] } };
  return explanation.calls[0].audit;
}

const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;

describe('the explanation of a call at the ops port', limit, () => {
  it('has its audit: the outcome and the hash of the result of each upstream', async () => {
    // No other call is audited.
    const all = await withAudits([blocks, blocks, blocks], observing(1e-9), [], ops);
    const byHash = ['eth_getBalance', [balanceCall[1][0], { blockHash: blocks[5]?.hash }]] as const;
    const agreed = (await explain(all, byHash)) as { answers: readonly { sha256: string }[] };
    expect(agreed).toMatchObject({ outcome: 'agrees', reason: 'the upstreams returned the same' });
    expect(agreed.answers).toEqual([
      { upstream: 'node-0', outcome: 'agrees', sha256 },
      {
        upstream: expect.stringMatching(/^node-[12]$/) as string,
        outcome: 'agrees',
        sha256: agreed.answers[0]?.sha256,
      },
    ]);
    all.nodes[0]?.response('eth_getBalance', '0xffff');
    const differs = (await explain(all, byHash)) as { answers: readonly { upstream: string; sha256: string }[] };
    expect(differs).toMatchObject({ outcome: 'differs', reason: 'an upstream differs from two others' });
    expect(differs.answers).toHaveLength(3);
    const of = new Map(differs.answers.map((answer) => [answer.upstream, answer.sha256]));
    expect(of.get('node-1')).toBe(of.get('node-2'));
    expect(of.get('node-0')).not.toBe(of.get('node-1'));
  });

  it('has none if the network has no audits, or if the method cannot be audited', async () => {
    expect(await explain(await withAudits([blocks, blocks], observing(), [], ops), balanceCall)).toBeUndefined();
    expect(await explain(await withAudits([blocks, blocks], {}, [], ops), ['eth_blockNumber', []])).toBeUndefined();
  });
});

describe('the status of a network', limit, () => {
  it('has the audits of each upstream', async () => {
    const { gateway, nodes, count, untilAudited } = await withAudits([blocks, blocks, blocks]);
    nodes[0]?.response('eth_getBalance', '0xffff');
    await untilAudited(balanceCall, 'node-0', 'differs');
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as {
      networks: readonly [{ upstreams: readonly { audits?: object }[] }];
    };
    const differs = await count('node-0', 'differs');
    expect(networks[0].upstreams[0]?.audits).toMatchObject({ agrees: 0, differs });
    expect(networks[0].upstreams[1]?.audits).toMatchObject({ differs: 0 });
  });

  it('shows an upstream whose audits found a difference in the last hour, and then only its counts', async () => {
    const { gateway, nodes, untilAudited } = await withAudits([blocks, blocks, blocks]);
    nodes[0]?.response('eth_getBalance', '0xffff');
    await untilAudited(balanceCall, 'node-0', 'differs');
    const shown = async (): Promise<unknown> => {
      const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
      const [one] = ((await response.json()) as { networks: { upstreams: Record<string, unknown>[] }[] }).networks;
      return one?.upstreams.slice(0, 2);
    };
    const reason = 'audits found other results, last now';
    // States are made once a second.
    await expect.poll(shown).toMatchObject([{ state: 'differs', reason }, { state: 'up' }]);
    const ready = async (): Promise<unknown> => (await fetch(`${gateway.address}/readyz`)).json();
    expect(await ready()).toMatchObject({ networks: { test: { up: 3, degraded: { 'node-0': reason } } } });
    shiftClock({ isRunning: true }).forward(3_601_000);
    expect(await shown()).toMatchObject([{ state: 'up', audits: { differs: expect.any(Number) as number } }, {}]);
    expect(await ready()).toMatchObject({ networks: { test: { up: 3, failing: {} } } });
  });
});
