import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../auth/eventually.ts';
import { rpcError } from '../../support/fake-node.ts';
import { startGateway } from '../../support/gateway.ts';
import { chainNetwork, startChainNode, type ChainNode } from '../chain-node.ts';
import { addressOf, hashOf, ScriptedChain, type Block } from '../scripted-chain.ts';
import { openSubscriber, type Subscriber } from '../subscriber.ts';

const token = addressOf('token');
const log = { address: token, topics: [hashOf('t')] };

interface Parts {
  readonly chain: ScriptedChain;
  readonly node: ChainNode;
  readonly subscriber: Subscriber;
  /** The times that logs of a block were asked for. */
  readonly asked: (block: Block) => number;
}

/** All of it is gone when the test is over. */
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
  const requested = ({ header }: Block): number =>
    node.callsOf('eth_getLogs').filter(({ params }) => hashIn(params) === header.hash).length;
  return { chain, node, subscriber, asked: requested };
}

/** What the node says of logs, but for one block. */
function butFor(chain: ScriptedChain, { header }: Block, said: () => unknown): (params: unknown) => unknown {
  const usual = chain.responses()['eth_getLogs'] as (params: unknown) => unknown;
  return (params) => ((params as [{ blockHash: string }])[0].blockHash === header.hash ? said() : usual(params));
}

it('logs are asked for once a block for all, and told in the order of blocks though the first take longer', async () => {
  const { chain, node, subscriber, asked: requested } = await start();
  const all = [await subscriber.subscribe('logs', {}), await subscriber.subscribe('logs', { address: token })];
  const [first, second] = [chain.mine([log]), chain.mine([log, log])];
  let failures = 3;
  node.response(
    'eth_getLogs',
    butFor(chain, first, () => (failures-- > 0 ? rpcError(-32000, 'unknown block') : first.logs)),
  );
  await eventually(() => all.every(({ length }) => length === 3), 10_000);
  for (const told of all) expect(told).toEqual([...first.logs, ...second.logs]);
  expect([requested(first), requested(second)]).toEqual([4, 1]);
});

it('an empty list is not believed where the header says that there are logs', async () => {
  const { chain, node, subscriber } = await start();
  const told = await subscriber.subscribe('logs', {});
  const block = chain.mine([log]);
  let failures = 2;
  node.response(
    'eth_getLogs',
    butFor(chain, block, () => (failures-- > 0 ? [] : block.logs)),
  );
  await eventually(() => told.length === 1, 10_000);
  expect(told).toEqual(block.logs);
});

it('of a block that is taken back before its logs are had nothing is told', async () => {
  const { chain, node, subscriber, asked: requested } = await start();
  const told = await subscriber.subscribe('logs', {});
  const heads = await subscriber.subscribe('newHeads');
  const lost = chain.mine([log]);
  node.response(
    'eth_getLogs',
    butFor(chain, lost, () => rpcError(-32000, 'unknown block')),
  );
  await eventually(() => requested(lost) > 0, 10_000);
  chain.takeBack(1);
  const [cached] = [chain.mine([log]), chain.mine()];
  await eventually(() => told.length > 0 && heads.length === 3, 10_000);
  expect(told).toEqual(cached.logs);
});

it('a block of which nobody wants logs is not asked for, once the network’s bloom filters have proved right', async () => {
  const { chain, subscriber, asked: requested } = await start();
  const told = await subscriber.subscribe('logs', { address: token });
  const others = [{ address: addressOf('other'), topics: [] }];
  const first = chain.mine(others);
  for (let block = 1; block < 256; block++) chain.mine(others);
  await eventually(() => requested(chain.head) === 1, 10_000);
  expect(requested(first)).toBe(1);
  const passed = chain.mine(others);
  const wanted = chain.mine([log]);
  const empty = chain.mine();
  await eventually(() => told.length === 1 && requested(empty) === 1, 10_000);
  expect(told).toEqual(wanted.logs);
  expect(requested(passed)).toBe(0);
});
