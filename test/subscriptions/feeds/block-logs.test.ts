import { expect, it, onTestFinished } from 'vitest';
import { turnBudget } from '../../../gateway/event-loop/turn-budget.ts';
import { shiftClock } from '../../routing/with-nodes.ts';
import { eventually } from '../../support/eventually.ts';
import { rpcError } from '../../support/fake-node.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from '../chain-node.ts';
import { addressOf, hashOf, ScriptedChain, type Block } from '../scripted-chain.ts';
import { openSubscriber, type Subscriber } from '../subscriber.ts';

const token = addressOf('token');
const log = { address: token, topics: [hashOf('t')] };

interface Parts {
  readonly chain: ScriptedChain;
  readonly node: ChainNode;
  readonly gateway: TestGateway;
  readonly subscriber: Subscriber;
  /** Number of requests for the logs of a block. */
  readonly requestCount: (block: Block) => number;
}

/** Everything is stopped when the test ends. */
async function start(): Promise<Parts> {
  const chain = new ScriptedChain();
  const node = await startChainNode(7, chain);
  const gateway = await startGateway({ seven: chainNetwork(7, [node]) });
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(async () => {
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await node.stop();
  });
  const hashIn = (params: unknown): string => (params as [{ blockHash: string }])[0].blockHash;
  const requestCount = ({ header }: Block): number =>
    node.callsOf('eth_getLogs').filter(({ params }) => hashIn(params) === header.hash).length;
  return { chain, node, gateway, subscriber, requestCount };
}

/** The node's responses about logs, with another response for one block. */
function respondFor(chain: ScriptedChain, { header }: Block, response: () => unknown): (params: unknown) => unknown {
  const usual = chain.responses()['eth_getLogs'] as (params: unknown) => unknown;
  return (params) => ((params as [{ blockHash: string }])[0].blockHash === header.hash ? response() : usual(params));
}

it('the time of the event loop that a block with many logs and one filter takes is that of its network', async () => {
  const { chain, subscriber } = await start();
  const notifications = await subscriber.subscribe('logs', { topics: [hashOf('t')] });
  // Another test of this process may have used some.
  const usedBefore = turnBudget.usedMs('logs of seven');
  const others = Array.from({ length: 2_000 }, () => ({ address: token, topics: [hashOf('other')] }));
  chain.mine([...others, log]);
  await eventually(() => notifications.length === 1);
  expect(turnBudget.usedMs('logs of seven')).toBeGreaterThan(usedBefore + 0.1);
});

it('logs are requested once for each block, and delivered in the order of blocks even if the first response is late', async () => {
  const { chain, node, subscriber, requestCount } = await start();
  const all = [await subscriber.subscribe('logs', {}), await subscriber.subscribe('logs', { address: token })];
  const [first, second] = [chain.mine([log]), chain.mine([log, log])];
  let failures = 3;
  node.response(
    'eth_getLogs',
    respondFor(chain, first, () => (failures-- > 0 ? rpcError(-32000, 'unknown block') : first.logs)),
  );
  await eventually(() => all.every(({ length }) => length === 3));
  for (const notifications of all) expect(notifications).toEqual([...first.logs, ...second.logs]);
  expect([requestCount(first), requestCount(second)]).toEqual([4, 1]);
});

it('an empty list is requested again if the header’s bloom filter has logs', async () => {
  const { chain, node, subscriber } = await start();
  const notifications = await subscriber.subscribe('logs', {});
  const block = chain.mine([log]);
  let failures = 2;
  node.response(
    'eth_getLogs',
    respondFor(chain, block, () => (failures-- > 0 ? [] : block.logs)),
  );
  await eventually(() => notifications.length === 1);
  expect(notifications).toEqual(block.logs);
});

it('a block whose logs no upstream returns for a minute closes sockets with log subscriptions, and ends filters', async () => {
  const time = shiftClock({ isRunning: true });
  const { chain, node, gateway, subscriber, requestCount } = await start();
  await subscriber.subscribe('logs', {});
  const { result: id } = await gateway.call('seven', 'eth_newFilter', [{}]);
  node.response('eth_getLogs', () => rpcError(-32000, 'query returned more than 10000 results'));
  const block = chain.mine([log]);
  await eventually(() => requestCount(block) > 0);
  expect((await gateway.call('seven', 'eth_getFilterChanges', [id])).result).toEqual([]);
  time.forward(60_000);
  expect(await subscriber.caller.closed).toMatchObject({ code: 1013 });
  const { error } = await gateway.call('seven', 'eth_getFilterChanges', [id]);
  expect(error).toEqual({ code: -32_000, message: 'filter not found' });
});

it('nothing is delivered for a block that is removed before its logs are fetched', async () => {
  const { chain, node, subscriber, requestCount } = await start();
  const notifications = await subscriber.subscribe('logs', {});
  const heads = await subscriber.subscribe('newHeads');
  const orphan = chain.mine([log]);
  node.response(
    'eth_getLogs',
    respondFor(chain, orphan, () => rpcError(-32000, 'unknown block')),
  );
  await eventually(() => requestCount(orphan) > 0);
  chain.removeBlocks(1);
  const [replacement] = [chain.mine([log]), chain.mine()];
  await eventually(() => notifications.length > 0 && heads.length === 3);
  expect(notifications).toEqual(replacement.logs);
});

it('logs that no filter matches are not requested once 256 bloom filters of the network were right', async () => {
  const { chain, subscriber, requestCount } = await start();
  const notifications = await subscriber.subscribe('logs', { address: token });
  const others = [{ address: addressOf('other'), topics: [] }];
  const first = chain.mine(others);
  for (let block = 1; block < 255; block++) chain.mine(others);
  // Blocks are delivered in order, so its notification shows that all 256 responses were checked.
  const last = chain.mine([log]);
  await eventually(() => notifications.length === 1);
  expect([requestCount(first), requestCount(last)]).toEqual([1, 1]);
  const skipped = chain.mine(others);
  const matching = chain.mine([log]);
  const empty = chain.mine();
  await eventually(() => notifications.length === 2 && requestCount(empty) === 1);
  expect(notifications).toEqual([...last.logs, ...matching.logs]);
  expect(requestCount(skipped)).toBe(0);
});
