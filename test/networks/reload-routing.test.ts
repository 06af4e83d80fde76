import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { asUsual, status, type Exchange } from '../support/behaviours.ts';
import { network } from '../support/gateway.ts';
import { CHAIN_ID, hedged, shiftClock, storageParams, withNodes, word, type WithNodes } from '../routing/with-nodes.ts';

/** Replaces the network file: these upstream names with these nodes, in this order. */
async function reload({ gateway, nodes }: WithNodes, named: Record<string, number>, more: object = {}): Promise<void> {
  const upstreams = Object.entries(named).map(([name, index]) => ({ name, url: nodes[index]?.url, batch: false }));
  gateway.save({ test: network(CHAIN_ID, [], { upstreams, ...more }) });
  await gateway.gateway.reload();
}

it('late calls at a replaced upstream do not change the circuit state of the new one with the same name', async () => {
  const all = await withNodes(2);
  await reload(all, { own: 0 });
  expect(await all.request()).toMatchObject({ result: word(1) });
  const held: Exchange[] = [];
  all.nodes[0]?.always((exchange) => void held.push(exchange));
  const late = [all.request(), all.request()];
  await eventually(() => held.length === 2);
  await reload(all, { own: 1 });
  const states = async (): Promise<unknown> => {
    const { value } = await readMetrics(all.gateway.address);
    const own = { network: 'test', upstream: 'own' };
    return [value('gatehouse_upstream_up', own), value('gatehouse_upstream_circuit_state', own)];
  };
  expect(await states()).toEqual([1, 0]);
  const [first, second] = held as [Exchange, Exchange];
  void status(503)(first);
  expect(await late[0]).toMatchObject({ error: { message: 'no upstream could answer' } });
  expect(await states()).toEqual([1, 0]);
  // The reverse: a late success does not close the circuit of the new upstream.
  all.nodes[1]?.always(status(503));
  for (let times = 0; times < 3; times++) expect((await all.request()).error).toBeDefined();
  expect(await states()).toEqual([0, 2]);
  asUsual(second);
  expect(await late[1]).toMatchObject({ result: word(1) });
  expect(await states()).toEqual([0, 2]);
  expect(all.requestCounts()).toEqual([3, 3]);
});

it('latency history survives a reload, so that a slow call is hedged early', async () => {
  // Without history the hedge delay is one second: then there is no hedge before this timeout.
  const all = await withNodes(2, { UPSTREAM_TIMEOUT_MS: '1000' }, hedged);
  for (let times = 0; times < 5; times++)
    await Promise.all([all.request(), all.request(), all.request(), all.request()]);
  await reload(all, { 'node-0': 0, 'node-1': 1 }, { name: 'Another name' });
  const held: Exchange[] = [];
  all.nodes[0]?.next((exchange) => void held.push(exchange));
  expect(await all.request()).toMatchObject({ result: word(2) });
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_hedges_total', { network: 'test', event: 'won' })).toBe(1);
  expect(all.requestCounts()).toEqual([21, 1]);
});

it('a reload does not refill the retry budget', async () => {
  const all = await withNodes(2, {}, { failsafe: { hedgeAfterMs: 'off' } });
  // After its cooldown of a second, an upstream gets a trial call, which needs no budget.
  shiftClock();
  await all.request();
  const held: Exchange[] = [];
  all.nodes[0]?.always((exchange) => void held.push(exchange));
  const calls = Array.from({ length: 50 }, all.request);
  await eventually(() => held.length === 50);
  for (const exchange of held) void status(503)(exchange);
  for (const call of calls) expect(await call).toMatchObject({ result: word(2) });
  await reload(all, { 'node-0': 0, 'node-1': 1 }, { failsafe: { hedgeAfterMs: 'off' }, verify: { nulls: 'never' } });
  for (const node of all.nodes) {
    node.always(status(503));
    node.calls.length = 0;
  }
  // Not at `latest`: for that, an upstream that failed is skipped as stale.
  expect((await all.send('eth_getStorageAt', [storageParams[0], '0x77', '0x1'])).response.error).toBeDefined();
  // The upstream with a closed circuit gets the call. There is no budget for the one with an open circuit.
  expect(all.requestCounts()).toEqual([0, 1]);
  const rejections = async (): Promise<number | undefined> =>
    (await readMetrics(all.gateway.address)).value('gatehouse_retry_budget_exhausted_total', { what: 'retry' });
  await eventually(async () => (await rejections()) === 1);
});
