import { expect, it, onTestFinished, vi } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { shiftClock, withNodes, word } from './with-nodes.ts';

const CLIENTS = 60;
/** More than the gateway and the clients take on a loaded machine, so that all calls are at the node. */
const WORKING_MS = 500;

it('an upstream that refuses calls gets fewer at once, which the metric and the status show', async () => {
  const { gateway, nodes, request } = await withNodes(1);
  const [node] = nodes as [FakeNode];
  let inProgress = 0;
  node.always(async (exchange: Exchange) => {
    if (inProgress >= 10) {
      exchange.response.writeHead(429).end();
      return;
    }
    inProgress++;
    await scenarioPause(WORKING_MS);
    inProgress--;
    asUsual(exchange);
  }, 'eth_getStorageAt');
  const limit = async (): Promise<number | undefined> =>
    (await readMetrics(gateway.address)).value('gatehouse_upstream_concurrency_limit', { upstream: 'node-0' });
  expect(await limit()).toBe(256);
  let isStopped = false;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isStopped) await request();
  });
  await eventually(async () => ((await limit()) ?? Infinity) < 200, 50_000);
  isStopped = true;
  await Promise.all(clients);
  const found = await limit();
  const shown = async (): Promise<number | undefined> => {
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { concurrencyLimit?: number }[] }[] };
    return networks[0]?.upstreams[0]?.concurrencyLimit;
  };
  // The status of the network, which is a second old at most: the overview has no limits.
  await eventually(async () => (await shown()) === found);
});

it('the time that Gatehouse takes for a large result is not the upstream’s', async () => {
  const { gateway, nodes, request, send } = await withNodes(1);
  const clock = shiftClock();
  await request();
  clock.forward(1);
  const slowData = `0x${'beef'.repeat(10)}`;
  const [hash, address] = [word(9), `0x${'11'.repeat(20)}`];
  const place = { blockHash: hash, blockNumber: '0x10', transactionIndex: '0x0', transactionHash: hash };
  const log = { ...place, address, data: slowData, logIndex: '0x0', removed: false, topics: [hash] };
  nodes[0]?.response('eth_getTransactionReceipt', {
    ...{ ...place, from: address, to: address, contractAddress: null, cumulativeGasUsed: '0x1', status: '0x1' },
    // It is not hexadecimal, so that the receipt must be parsed.
    gasUsed: 5,
    ...{ effectiveGasPrice: '0x1', logsBloom: `0x${'00'.repeat(256)}`, type: '0x0' },
    logs: [log, ...Array.from({ length: 1_000 }, () => ({ ...log, data: '0x' }))],
  });
  const { parse } = JSON;
  const parsing = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.includes(slowData)) clock.forward(3_000);
    return parse(text, reviver) as unknown;
  });
  onTestFinished(() => {
    parsing.mockRestore();
  });
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  nodes[0]?.always(async (exchange) => {
    await held;
    asUsual(exchange);
  }, 'eth_getStorageAt');
  const others = Array.from({ length: 40 }, () => request());
  await eventually(() => nodes[0]?.callsOf('eth_getStorageAt').length === 1 + others.length);
  expect((await send('eth_getTransactionReceipt', [hash])).response).toMatchObject({ result: { gasUsed: '0x5' } });
  expect(nodes[0]?.callsOf('eth_getTransactionReceipt')).toHaveLength(1);
  expect(parsing.mock.calls.filter(([text]) => text.includes(slowData)).length).toBeGreaterThan(0);
  // A lookup that takes 3 s at the upstream lowers it while so many others are in progress.
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_upstream_concurrency_limit', { upstream: 'node-0' })).toBe(256);
  release();
  await Promise.all(others);
});
