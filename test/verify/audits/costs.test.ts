import { describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { hang, status } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { balanceCall, blocksTo, observing, withAudits } from './with-audits.ts';

const blocks = blocksTo();
const limit = { timeout: 90_000 };

describe('no audit is sent to an upstream', limit, () => {
  it.each([
    ['with `audit: off`', { audit: 'off' }],
    ['with `probe: off`', { probe: 'off' }],
    ['whose `methods` exclude the method', { methods: ['-eth_getBalance'] }],
  ])('%s', async (_, keys) => {
    const { nodes, untilAudited } = await withAudits([blocks, blocks, blocks], {}, [{}, keys]);
    // Otherwise the other upstreams would get them in turn.
    await untilAudited(balanceCall, 'node-2', 'agrees', 6);
    expect(nodes[1]?.callsOf('eth_getBalance')).toEqual([]);
  });

  it('without `verify: observe` in the network file', async () => {
    const { gateway, nodes, send } = await withAudits([blocks, blocks], observing());
    for (let calls = 0; calls < 20; calls++) await send(balanceCall);
    expect(nodes[1]?.callsOf('eth_getBalance')).toEqual([]);
    expect((await readMetrics(gateway.address)).text).not.toContain('gatehouse_audits_total{');
  });
});

describe('the requests of audits', limit, () => {
  it('count towards the limits of the upstream, and are not sent beyond them', async () => {
    // Enough for its chain id, the first polls of its head and a few audits; no more for hours.
    const limits = { perSecond: 0.001, burst: 6 };
    const { nodes, send, count, untilAudited } = await withAudits([blocks, blocks, blocks], {}, [{}, { limits }]);
    await untilAudited(balanceCall, 'node-2', 'agrees', 10);
    for (let calls = 0; calls < 10; calls++) await send(balanceCall);
    await count('node-1', 'agrees');
    expect(nodes[1]?.callsOf('eth_getBalance').length).toBeLessThan(6);
  });

  it('that fail are no failures of the upstream', async () => {
    const { gateway, nodes, untilAudited } = await withAudits([blocks, blocks]);
    nodes[1]?.always(status(503), 'eth_getBalance');
    await untilAudited(balanceCall, 'node-1', 'cannot-tell', 12);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-1' })).toBe(1);
    expect(await attemptsAt(gateway.address, 'node-1')).toEqual([]);
    expect(await statusOf(gateway.address, 'node-1')).toMatchObject({ state: 'up', marks: [] });
  });

  it('that time out are no failures either, and leave its head certain: it gets calls', async () => {
    const { gateway, nodes, send, untilAudited } = await withAudits([blocks, blocks], {}, [
      {},
      { failsafe: { timeoutMs: 3_000 } },
    ]);
    nodes[1]?.always(hang, 'eth_getBalance');
    await untilAudited(balanceCall, 'node-1', 'cannot-tell', 1);
    expect(await attemptsAt(gateway.address, 'node-1')).toEqual([]);
    nodes[1]?.always(undefined, 'eth_getBalance');
    await nodes[0]?.refuse();
    await eventually(async () => (await send(balanceCall)).result === blocks.at(-1)?.number);
  });
});

describe('a reload', limit, () => {
  it('turns audits on and off, for the network and for an upstream', async () => {
    const { gateway, nodes, send, file, untilAudited } = await withAudits([blocks, blocks], observing());
    await send(balanceCall);
    const save = async (more: object, keys: readonly object[] = []): Promise<void> => {
      gateway.save(file(more, keys));
      await gateway.gateway.reload();
    };
    await save(observing(1));
    await untilAudited(balanceCall, 'node-1', 'agrees', 1);
    await save(observing(1), [{}, { audit: 'off' }]);
    const audited = nodes[1]?.callsOf('eth_getBalance').length;
    for (let calls = 0; calls < 5; calls++) await send(balanceCall);
    await save(observing());
    for (let calls = 0; calls < 5; calls++) await send(balanceCall);
    expect(nodes[1]?.callsOf('eth_getBalance').length).toBe(audited);
    await save(observing(0.5));
    const { value } = await readMetrics(gateway.address);
    const before = value('gatehouse_audits_total', { upstream: 'node-1', outcome: 'agrees' }) ?? 0;
    await untilAudited(balanceCall, 'node-1', 'agrees', before + 2);
  });
});

it('the counts of a removed upstream begin anew when it is added again', limit, async () => {
  const { gateway, send, nodes, file, untilAudited } = await withAudits([blocks, blocks, blocks]);
  await untilAudited(balanceCall, 'node-1', 'agrees', 5);
  const all = file();
  const { upstreams } = all['test'] as { readonly upstreams: readonly object[] };
  gateway.save({ test: { ...all['test'], upstreams: upstreams.filter((_, index) => index !== 1) } });
  await gateway.gateway.reload();
  await eventually(async () => !(await readMetrics(gateway.address)).text.includes('upstream="node-1"'));
  gateway.save(all);
  await gateway.gateway.reload();
  await nodes[1]?.refuse();
  await send(balanceCall);
  const { audits } = (await statusOf(gateway.address, 'node-1')) as { audits?: { agrees: number } };
  expect(audits?.agrees ?? 0).toBeLessThan(5);
});

/** The requests for calls that an upstream got. */
async function attemptsAt(address: string, upstream: string): Promise<unknown[]> {
  const { samplesOf } = await readMetrics(address);
  return samplesOf('gatehouse_upstream_attempts_total').filter(({ labels }) => labels['upstream'] === upstream);
}

/** An upstream in the status of the network. */
async function statusOf(address: string, name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const response = await fetch(`${address}/test`, { headers: { accept: 'application/json' } });
  const { networks } = (await response.json()) as { networks: readonly [{ upstreams: readonly { name: string }[] }] };
  return networks[0].upstreams.find((upstream) => upstream.name === name);
}
