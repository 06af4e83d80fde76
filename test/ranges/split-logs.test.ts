import { expect, it, vi } from 'vitest';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { hang, slow } from '../support/behaviours.ts';
import { rpcError } from '../support/fake-node.ts';
import { inLongRun } from '../support/long-run.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { contracts, LogChain } from './log-chain.ts';
import { responseWith, send, untilFinal, withLogNodes } from './with-log-nodes.ts';

/** The highest number of bytes that the memory budget had taken. */
function peakOfMemory(): () => number {
  let peak = 0;
  const take = Object.getOwnPropertyDescriptor(MemoryBudget.prototype, 'take')?.value as MemoryBudget['take'];
  vi.spyOn(MemoryBudget.prototype, 'take').mockImplementation(function (this: MemoryBudget, account, bytes) {
    take.call(this, account, bytes);
    peak = Math.max(peak, this.bytes);
  });
  return () => peak;
}

it('two logs of each block, through a node with 2,000 blocks, one with 10,000 results and one with 5 MB, pruned', async () => {
  const peak = peakOfMemory();
  const blocks = inLongRun(100_000, 40_000);
  const chain = new LogChain(blocks, () => 2);
  const limits = [{ maxBlocks: 2_000 }, { maxResults: 10_000 }, { maxBytes: 5_000_000, prunedBelow: blocks / 2 }];
  // All keys together may have half of it: 680 bytes for each block, whose logs have 660.
  const maxBytes = 1_360 * blocks;
  const env = { BODIES_MAX_BYTES: String(maxBytes), CALL_TIMEOUT_MS: '150000' };
  const { getLogs, gateway, ranges } = await withLogNodes(
    chain,
    limits,
    { bounds: { maxResponseBytes: 100_000_000 } },
    env,
  );
  const { status, text } = await getLogs(0, 'latest');
  expect(status).toBe(200);
  const expected = responseWith(chain.logs(0, blocks - 1));
  // `toBe` would print both texts.
  expect([text.length, text === expected]).toEqual([expected.length, true]);
  expect(peak(), 'the parts are accounted').toBeGreaterThan(0.9 * text.length);
  expect(peak(), 'the response has the bytes of the parts').toBeLessThan(maxBytes / 2);
  const served = ranges().map((ofNode) => ofNode.length);
  expect(Math.min(...served), 'each node has parts').toBeGreaterThan(5);
  expect(Math.max(...served), 'limits are learned').toBeLessThan(80);
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_buffered_bytes')).toBeLessThan(1_000_000);
});

it('parts become wider again where logs are rare', async () => {
  const chain = new LogChain(40_000, (block) => (block < 4_000 ? 10 : block % 100 === 0 ? 1 : 0));
  const { getLogs, ranges } = await withLogNodes(chain, [{ maxResults: 2_000 }]);
  expect((await getLogs(0, 39_999)).text).toBe(responseWith(chain.logs(0, 39_999)));
  const widths = ranges()
    .flat()
    .map(([from = 0, to = 0]) => to - from + 1);
  expect(Math.min(...widths)).toBeLessThanOrEqual(200);
  expect(widths.length, 'of 200 blocks each, there would be 200').toBeLessThan(60);
});

it('limits are learned: the next request has no part that is refused', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 1_000 }, { maxBlocks: 3_000 }]);
  await getLogs(0, 9_999);
  for (const node of nodes) node.calls.length = 0;
  expect((await getLogs(5_000, 14_999, { address: contracts[0] })).text).toBe(
    responseWith(chain.logs(5_000, 14_999, [contracts[0] ?? ''])),
  );
  expect(widest(ranges()[0])).toBe(1_000);
  expect(widest(ranges()[1])).toBe(2_000);
  for (const node of nodes) node.calls.length = 0;
  expect((await getLogs(5_000, 6_999)).text).toBe(responseWith(chain.logs(5_000, 6_999)));
  expect(ranges(), 'a range that one upstream allows').toEqual([[], [[5_000, 6_999]]]);
});

it('a part that fails is not sent to an upstream that refused its width', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 500 }, { maxBlocks: 2_000 }]);
  await getLogs(0, 9_999);
  nodes[0]?.calls.splice(0);
  nodes[1]?.response('eth_getLogs', rpcError(4444, 'pruned history unavailable'));
  const few = { address: contracts[1] };
  expect((await getLogs(0, 9_999, few)).text).toBe(responseWith(chain.logs(0, 9_999, [few.address ?? ''])));
  expect(widest(ranges()[0])).toBe(500);
});

it('a request that is too large for the first upstream only is sent to the next one as it is', async () => {
  const chain = new LogChain(5_000, () => 1);
  const { getLogs, ranges } = await withLogNodes(chain, [{ maxBlocks: 100 }, {}]);
  expect((await getLogs(0, 4_999)).text).toBe(responseWith(chain.logs(0, 4_999)));
  expect(ranges()).toEqual([[[0, 4_999]], [[0, 4_999]]]);
});

it('an upstream of a later priority is used for blocks that the others do not have, and not beside them', async () => {
  const chain = new LogChain(10_000, () => 1);
  const limits = [{ maxBlocks: 500, prunedBelow: 8_000 }, { maxBlocks: 500 }];
  const { getLogs, ranges } = await withLogNodes(chain, limits, (urls) => ({
    upstreams: urls.map((url, index) => ({ name: `node-${index}`, url, priority: index })),
  }));
  expect((await getLogs(7_000, 9_999)).text).toBe(responseWith(chain.logs(7_000, 9_999)));
  const parts = (ranges()[1] ?? []).filter(([from = 0, to = 0]) => to - from < 500);
  expect(parts.every(([from = 0]) => from < 8_000)).toBe(true);
});

it('a large result of one block, and lists of addresses, are divided by addresses', async () => {
  const chain = new LogChain(1_000, () => 40);
  const { getLogs } = await withLogNodes(chain, [{ maxResults: 25 }, { maxAddresses: 2 }]);
  expect((await getLogs(500, 500, { address: contracts })).text).toBe(responseWith(chain.logs(500, 500)));
  const second = await withLogNodes(chain, [{ maxAddresses: 1, maxBlocks: 300 }]);
  expect((await second.getLogs(0, 999, { address: contracts.slice(0, 3) })).text).toBe(
    responseWith(chain.logs(0, 999, contracts.slice(0, 3))),
  );
});

it('the response of a filter, and of traces, has all parts', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { gateway, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 1_000 }, { maxResults: 2_000 }]);
  const filter = { fromBlock: '0x1', toBlock: 'latest' };
  const { result: id } = await gateway.call('test', 'eth_newFilter', [filter]);
  expect((await send(gateway, 'eth_getFilterLogs', [id])).text).toBe(responseWith(chain.logs(1, 9_999)));
  const traces = await send(gateway, 'trace_filter', [filter]);
  expect(traces.text).toBe(responseWith(chain.logs(1, 9_999)));
  expect(Math.max(...ranges('trace_filter').map(({ length }) => length))).toBeGreaterThan(2);
  for (const node of nodes) node.calls.length = 0;
  await gateway.call('test', 'trace_filter', [{ ...filter, after: 0 }]);
  expect(ranges('trace_filter').flat(), 'not in parts').toEqual([[1, NaN]]);
});

it('final parts are cached: a later request that contains them does not request them again', async () => {
  const chain = new LogChain(20_000, () => 1, 15_999);
  const node = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  const starts = (): (number | undefined)[] => (node.ranges()[0] ?? []).map(([from]) => from).toSorted(ascending);
  await untilFinal(node);
  await node.getLogs(2_000, 9_999);
  node.nodes[0]?.calls.splice(0);
  expect((await node.getLogs(0, 17_999)).text).toBe(responseWith(chain.logs(0, 17_999)));
  expect(starts()).toEqual([10_000, 11_000, 12_000, 13_000, 14_000, 15_000, 16_000, 17_000]);
  node.nodes[0]?.calls.splice(0);
  await node.getLogs(0, 17_999);
  expect(starts(), 'only parts that are not final').toEqual([16_000, 17_000]);
});

it('upstreams at their limits get further parts later', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { getLogs, nodes } = await withLogNodes(chain, [{ maxBlocks: 1_000 }, { maxBlocks: 1_000 }], (urls) => ({
    upstreams: urls.map((url, index) => ({
      ...{ name: `node-${index}`, url },
      limits: index === 0 ? { concurrency: 2 } : { perSecond: 20, burst: 5 },
    })),
  }));
  let [inProgress, most] = [0, 0];
  nodes[0]?.always(async (exchange) => {
    most = Math.max(most, ++inProgress);
    await slow(100)(exchange);
    inProgress--;
  }, 'eth_getLogs');
  expect((await getLogs(0, 19_999)).text).toBe(responseWith(chain.logs(0, 19_999)));
  expect(most).toBe(2);
});

it('refused ranges open no circuit and use no retry budget', async () => {
  const chain = new LogChain(1_000, () => 1);
  const { getLogs, gateway, nodes } = await withLogNodes(chain, [{ maxResults: 1 }, {}], {
    failsafe: { hedgeMinMs: 100 },
  });
  // The refusals of one filter say nothing about others.
  for (let round = 0; round < 60; round++)
    await getLogs(0, 9, { address: [...contracts, `0x${String(round).padStart(40, '0')}`] });
  expect(nodes[0]?.callsOf('eth_getLogs')).toHaveLength(60);
  const hedgesWon = async (): Promise<number> =>
    (await readMetrics(gateway.address)).value('gatehouse_hedges_total', { event: 'won' }) ?? 0;
  const before = await hedgesWon();
  nodes[0]?.always(hang, 'eth_getBalance');
  nodes[1]?.response('eth_getBalance', '0x7');
  expect(await gateway.call('test', 'eth_getBalance', [contracts[0], 'latest'])).toMatchObject({ result: '0x7' });
  const { value } = await readMetrics(gateway.address);
  expect(await hedgesWon()).toBe(before + 1);
  expect(value('gatehouse_upstream_circuit_state', { upstream: 'node-0' })).toBe(0);
});

const ascending = (one = 0, other = 0): number => one - other;

function widest(ranges: readonly (readonly number[])[] = []): number {
  return Math.max(...ranges.map(([from = 0, to = 0]) => to - from + 1));
}
