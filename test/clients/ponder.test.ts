import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { freePort } from '../support/redis.ts';
import { CounterChain } from './counter-chain.ts';
import { startHardhatNode, type HardhatNode } from './hardhat-node.ts';
import { startLimitedNode, type LimitedNode, type NodeLimits } from './limited-node.ts';
import { startPonder } from './ponder.ts';
import { makeToolFolder } from './tool-folder.ts';

/** Chain id of no development chain, so that the gateway caches final blocks and parts of ranges. */
const CHAIN_ID = 7_007;
const BLOCKS = 50_000;
const FAILURES = 10;
const TIMEOUT_MS = 300_000;

/** Starts a node with a chain of 50,000 blocks, until the test ends. */
async function startChain(): Promise<{ chain: CounterChain; node: HardhatNode }> {
  const tools = makeToolFolder();
  onTestFinished(() => {
    tools.remove();
  });
  const node = await startHardhatNode(tools, CHAIN_ID);
  onTestFinished(() => node.stop());
  const chain = new CounterChain(node.url);
  await chain.mineTo(BLOCKS);
  return { chain, node };
}

/** Starts a gateway with an upstream for each of the limits, until the test ends. */
async function startUpstreams(
  node: HardhatNode,
  limits: readonly NodeLimits[],
): Promise<{ gateway: TestGateway; upstreams: readonly LimitedNode[] }> {
  const upstreams = await Promise.all(limits.map((one) => startLimitedNode(node.url, one)));
  const urls = upstreams.map(({ url }) => url);
  const gateway = await startGateway({ chain: network(CHAIN_ID, urls) });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(upstreams.map((one) => one.close()));
  });
  return { gateway, upstreams };
}

it(
  'ponder indexes 50,000 blocks through three unequal upstreams, one of which fails for a while, and follows the chain',
  { timeout: TIMEOUT_MS },
  async () => {
    const { chain, node } = await startChain();
    const failing = { maxBlocks: 300, fails: { after: 2, requests: FAILURES } };
    const limits = [failing, { maxResults: 6 }, { prunedBelow: BLOCKS / 2 }];
    const { gateway, upstreams } = await startUpstreams(node, limits);
    const env = { GATEWAY_URL: gateway.url('chain'), COUNTER: chain.counter, CHAIN_ID: String(CHAIN_ID) };
    const ponder = startPonder(env, await freePort());
    onTestFinished(() => ponder.stop());
    await eventually(() => ponder.isLive() && ponder.indexed() === chain.events, TIMEOUT_MS);
    await chain.setNumber();
    await eventually(() => ponder.indexed() === chain.events, TIMEOUT_MS);
    await eventually(async () => (await ponder.readRows()).length === chain.events);
    expect(await ponder.readRows()).toEqual(await chain.readRows());
    expect(ponder.errors()).toEqual([]);
    for (const { served, refused } of upstreams) expect([served.length > 0, refused.length > 0]).toEqual([true, true]);
    await eventually(() => upstreams[0]?.failed === FAILURES);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_range_parts_total', { upstream: 'node-1', outcome: 'result' })).toBeGreaterThan(10);
  },
);
