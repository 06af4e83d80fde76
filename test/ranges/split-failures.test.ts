import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, hang } from '../support/behaviours.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { rpcError } from '../support/fake-node.ts';
import { hex, listOf, LogChain, type LogFilter } from './log-chain.ts';
import { errorIn, responseWith, untilFinal, withLogNodes } from './with-log-nodes.ts';

/** Runs before the node returns the logs that it is requested for the n-th time from now on. */
function beforeLogs(
  node: FakeNode | undefined,
  chain: LogChain,
  maxBlocks: number,
  n: number,
  run: () => unknown,
): void {
  let requests = 0;
  node?.response('eth_getLogs', ([filter]: [LogFilter]) => {
    if (++requests === n) run();
    return listOf(chain, { maxBlocks }, filter);
  });
}

it('an upstream that stops responding during the request is replaced', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 500 }, { maxBlocks: 500 }]);
  beforeLogs(nodes[0], chain, 500, 12, () => void nodes[0]?.refuse());
  expect((await getLogs(0, 19_999)).text).toBe(responseWith(chain.logs(0, 19_999)));
  expect(ranges()[0]?.length).toBeGreaterThan(10);
  expect(ranges()[1]?.length).toBeGreaterThan(20);
});

it('blocks that no upstream has fail the whole request, which names them', async () => {
  const chain = new LogChain(10_000, () => 1);
  const pruned = { maxBlocks: 500, prunedBelow: 3_000 };
  const { getLogs } = await withLogNodes(chain, [pruned, pruned]);
  expect(errorIn(await getLogs(1_000, 9_999))).toEqual({
    code: -32603,
    message: expect.stringMatching(
      /^no upstream could answer: pruned history unavailable \(fromBlock 0x3e8, toBlock 0x[0-9a-f]+\)$/,
    ) as string,
  });
});

it('an error of all upstreams for a part is the response, with its range', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { getLogs, nodes } = await withLogNodes(chain, [{}]);
  nodes[0]?.response('eth_getLogs', ([filter]: [LogFilter]) =>
    Number(filter.toBlock) >= 5_000 ? rpcError(-32042, 'disk failure') : listOf(chain, { maxBlocks: 1_000 }, filter),
  );
  expect((await getLogs(0, 999)).status).toBe(200);
  beforeLogs(nodes[0], chain, 1_000, 3, () => {
    nodes[0]?.response('eth_getLogs', () => rpcError(-32042, 'disk failure'));
  });
  expect(errorIn(await getLogs(0, 9_999))).toEqual({
    code: -32042,
    message: expect.stringMatching(/^disk failure \(fromBlock 0x[0-9a-f]+, toBlock 0x[0-9a-f]+\)$/) as string,
  });
});

it('the first failure cancels the parts in progress', async () => {
  const chain = new LogChain(10_000, () => 1);
  const env = { UPSTREAM_TIMEOUT_MS: '40000', CALL_TIMEOUT_MS: '50000' };
  const { getLogs, nodes } = await withLogNodes(chain, [{ maxBlocks: 500 }], {}, env);
  await getLogs(0, 999);
  nodes[0]?.response('eth_getLogs', ([{ fromBlock }]: [LogFilter]) =>
    Number(fromBlock) === 1_000 ? rpcError(-32042, 'disk failure') : [],
  );
  nodes[0]?.always((exchange) => {
    if (exchange.upstreamResponse.error !== undefined) asUsual(exchange);
  }, 'eth_getLogs');
  // No time passes in which the held parts, or their call, could end.
  const response = await withoutTime(() => getLogs(0, 9_999));
  expect(errorIn(response)?.message).toContain('disk failure');
  expect(nodes[0]?.callsOf('eth_getLogs').length).toBeGreaterThan(4);
});

it('a caller who disconnects ends all parts, and releases the memory', async () => {
  const chain = new LogChain(20_000, () => 1);
  const { gateway, nodes, getLogs } = await withLogNodes(chain, [{ maxBlocks: 500 }, { maxBlocks: 500 }]);
  await getLogs(0, 999);
  for (const node of nodes) {
    beforeLogs(node, chain, 500, 3, () => {
      node.always(hang, 'eth_getLogs');
    });
  }
  const calls = (): number => nodes.flatMap((node) => node.callsOf('eth_getLogs')).length;
  const before = calls();
  const caller = new AbortController();
  const params = [{ fromBlock: '0x0', toBlock: hex(19_999), topics: [] }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params });
  const response = fetch(gateway.url('test'), { method: 'POST', body, signal: caller.signal }).catch(() => 'aborted');
  await eventually(() => calls() >= before + 8);
  caller.abort();
  expect(await response).toBe('aborted');
  await eventually(async () => {
    const { value } = await readMetrics(gateway.address);
    const outcome = { method: 'eth_getLogs', outcome: 'caller-left' };
    return value('gatehouse_calls_total', outcome) === 1 && (value('gatehouse_buffered_bytes') ?? 0) < 100_000;
  });
  const after = calls();
  await staysTrueFor(300, () => calls() === after);
});

it('after a reorg during the request, the parts that are not final are requested again', async () => {
  // Empty lists are not cached.
  const chain = new LogChain(20_000, (block) => (block < 2_000 || block >= 8_000 ? 1 : 0), 9_999);
  const nodes = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  await untilFinal(nodes);
  beforeLogs(nodes.nodes[0], chain, 1_000, 14, () => {
    chain.reorg(15_500);
  });
  nodes.nodes[0]?.calls.splice(0);
  const { text } = await nodes.getLogs(5_000, 19_999);
  expect(text === responseWith(chain.logs(5_000, 19_999))).toBe(true);
  const requests = new Map<number, number>();
  for (const [from = 0] of nodes.ranges()[0] ?? []) requests.set(from, (requests.get(from) ?? 0) + 1);
  const once = [5_000, 6_000, 7_000, 8_000, 9_000].map((from) => [from, 1]);
  const twice = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map((thousand) => [1_000 * thousand, 2]);
  expect([...requests].toSorted(([one], [other]) => one - other)).toEqual([...once, ...twice]);
});

it('after a second reorg the request fails', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { getLogs, nodes } = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  await getLogs(0, 1_999);
  nodes[0]?.response('eth_getLogs', ([filter]: [LogFilter]) => {
    chain.reorg(9_500);
    return listOf(chain, { maxBlocks: 1_000 }, filter);
  });
  const sent = await getLogs(5_000, 9_999);
  expect(sent.status).toBe(503);
  expect(errorIn(sent)).toEqual({ code: -32603, message: 'the chain changed during the request: block 0x270f' });
});

it('an error that no smaller range can avoid is the response at once', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{}]);
  const message = 'Please specify an address in your request';
  nodes[0]?.response('eth_getLogs', rpcError(-32701, message));
  expect(errorIn(await getLogs(0, 9_999))).toEqual({ code: -32005, message });
  expect(ranges()[0]).toHaveLength(1);
});

it('one block of one address that is too large keeps the error of the upstream, with its range', async () => {
  const chain = new LogChain(1_000, (block) => (block === 7 ? 50 : 1));
  const { getLogs } = await withLogNodes(chain, [{ maxResults: 20 }]);
  expect(errorIn(await getLogs(0, 99))).toEqual({
    code: -32005,
    message: 'query returned more than 20 results (fromBlock 0x7, toBlock 0x7)',
  });
});

it('a result above the bound of a response is requested in parts, and opens no circuit', async () => {
  const chain = new LogChain(10_000, () => 1);
  const { getLogs, gateway } = await withLogNodes(chain, [{}], {}, { upstreamResponseMaxBytes: '500000' });
  expect((await getLogs(0, 9_999)).text).toBe(responseWith(chain.logs(0, 9_999)));
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_upstream_circuit_state', { upstream: 'node-0' })).toBe(0);
});
