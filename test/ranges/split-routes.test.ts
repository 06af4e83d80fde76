import { expect, it } from 'vitest';
import { slow } from '../support/behaviours.ts';
import { network } from '../support/gateway.ts';
import { rpcError } from '../support/fake-node.ts';
import { CHAIN_ID, hex, LogChain } from './log-chain.ts';
import { errorIn, responseWith, send, withLogNodes, type WithLogNodes } from './with-log-nodes.ts';

const route = { eth_getLogs: ['node-0'] };

function widest(ranges: readonly (readonly number[])[] = []): number {
  return Math.max(...ranges.map(([from = 0, to = 0]) => to - from + 1));
}

const traces = ({ gateway }: WithLogNodes, to: number): ReturnType<typeof send> =>
  send(gateway, 'trace_filter', [{ fromBlock: '0x0', toBlock: hex(to) }]);

it('parts of a routed eth_getLogs never reach another upstream', async () => {
  const chain = new LogChain(10_000, () => 1, 0);
  const limits = [{ maxBlocks: 500 }, {}, { maxBlocks: 2_000 }];
  const { getLogs, nodes, ranges } = await withLogNodes(chain, limits, { route });
  expect((await getLogs(0, 9_999)).text).toBe(responseWith(chain.logs(0, 9_999)));
  nodes[0]?.calls.splice(0);
  let [inProgress, most] = [0, 0];
  nodes[0]?.always(async (exchange) => {
    most = Math.max(most, ++inProgress);
    await slow(50)(exchange);
    inProgress--;
  }, 'eth_getLogs');
  expect((await getLogs(0, 9_999)).text).toBe(responseWith(chain.logs(0, 9_999)));
  expect([widest(ranges()[0]), most], 'the width and the number of parts for one upstream').toEqual([500, 4]);
  nodes[0]?.response('eth_getLogs', rpcError(4444, 'pruned history unavailable'));
  expect(errorIn(await getLogs(0, 9_999))?.code).toBe(-32603);
  await nodes[0]?.refuse();
  expect((await getLogs(0, 9_999)).status).toBe(503);
  expect(ranges().slice(1)).toEqual([[], []]);
});

it('limits are continued after a reload, and those of excluded upstreams have no effect', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { gateway, getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 2_000 }, { maxBlocks: 500 }]);
  expect((await getLogs(0, 9_999)).text).toBe(responseWith(chain.logs(0, 9_999)));
  const urls = nodes.map(({ url }) => url);
  gateway.save({ test: network(CHAIN_ID, urls, { failsafe: { hedgeAfterMs: 'off' }, route }) });
  await gateway.gateway.reload();
  for (const node of nodes) node.calls.length = 0;
  expect((await getLogs(0, 9_999, { topics: [] })).text).toBe(responseWith(chain.logs(0, 9_999)));
  expect(widest(ranges()[0])).toBe(2_000);
  await nodes[0]?.refuse();
  const narrow = await getLogs(0, 499, { topics: [] });
  expect(narrow.status).toBe(503);
  expect(await getLogs(0, 999, { topics: [] }), 'too wide for the excluded one').toEqual(narrow);
  expect(ranges()[1]).toEqual([]);
});

it.each([['named'], ['opened by a wildcard']])(
  'trace_filter, %s: a range that is too large is sent again',
  async (how) => {
    const chain = new LogChain(5_000, () => 1);
    const methods = ['eth', how === 'named' ? 'trace_filter' : 'trace_*'];
    const nodes = await withLogNodes(chain, [{ maxBlocks: 100 }, { maxBlocks: 2_000 }], { methods });
    expect((await traces(nodes, 999)).text).toBe(responseWith(chain.logs(0, 999)));
    expect(nodes.ranges('trace_filter')).toEqual([[[0, 999]], [[0, 999]]]);
    expect((await traces(nodes, 4_999)).text).toBe(responseWith(chain.logs(0, 4_999)));
  },
);

it.each([[[5]], [['0x00', null]], [[{}]]])('trace_filter with %j as address is -32602', async (address) => {
  const { gateway } = await withLogNodes(new LogChain(5_000, () => 1), [{}]);
  const response = await send(gateway, 'trace_filter', [{ fromBlock: '0x0', toBlock: '0x1', address }]);
  expect([response.status, errorIn(response)]).toEqual([
    200,
    { code: -32602, message: 'invalid params: address: expected 20-byte address' },
  ]);
});

it('trace_filter is not sent again after another error', async () => {
  const chain = new LogChain(5_000, () => 1);
  const nodes = await withLogNodes(chain, [{}, {}]);
  nodes.nodes[0]?.response('trace_filter', rpcError(-32042, 'disk failure'));
  expect(errorIn(await traces(nodes, 999))?.message).toBe('disk failure');
  expect(nodes.ranges('trace_filter')).toEqual([[[0, 999]], []]);
});

it('maxBlockRange bounds trace_filter that a wildcard opens', async () => {
  const chain = new LogChain(5_000, () => 1);
  const nodes = await withLogNodes(chain, [{}], { methods: ['eth', 'trace_*'], bounds: { maxBlockRange: 1_000 } });
  expect(errorIn(await traces(nodes, 1_000))?.message).toContain('maxBlockRange is 1000');
  expect((await traces(nodes, 999)).text).toBe(responseWith(chain.logs(0, 999)));
});
