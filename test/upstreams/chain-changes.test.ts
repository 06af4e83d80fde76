import { describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { shiftClock, withNodes, word } from '../routing/with-nodes.ts';
import { chainNetwork, startChainNode } from '../subscriptions/chain-node.ts';
import { ScriptedChain as ChainWithLogs } from '../subscriptions/scripted-chain.ts';
import { openSubscriber } from '../subscriptions/subscriber.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

const CHAIN_ID = 7_777;
const REASON = { code: 1013, reason: 'an upstream is on another chain: subscribe again' };

/** Heads and logs of HTTP nodes with one chain. `moveFirst` moves the first node to another chain of similar height. */
async function subscribed(count: number) {
  // The gateway polls by the times of blocks: a second apart, it polls four times as often as with the default.
  const options = { from: 200, secondsApart: 1 };
  const [right, wrong] = [new ScriptedChain(options), new ScriptedChain(options)];
  wrong.mine(4);
  let chainOfFirst = right;
  const start = async (index: number): Promise<FakeNode> => {
    const chain = (): ScriptedChain => (index === 0 ? chainOfFirst : right);
    const node = await startFakeNode({ chainId: CHAIN_ID });
    node.response('eth_getBlockByNumber', ([block]: [string]) => chain().byNumber(block));
    node.response('eth_getBlockByHash', ([block]: [string]) => chain().byHash(block));
    node.response('eth_blockNumber', () => chain().head.number);
    node.response('eth_getLogs', []);
    node.response('eth_getStorageAt', word(index + 1));
    return node;
  };
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
  const upstreams = nodes.map(({ url }, index) => ({ name: `node-${index}`, url, priority: index, batch: false }));
  const file = network(CHAIN_ID, [], { upstreams, failsafe: { hedgeAfterMs: 'off' } });
  const gateway = await startGateway({ test: file }, { CACHE_MAX_BYTES: '0' });
  const subscriber = await openSubscriber(gateway, 'test');
  const mining = clock.setInterval(() => {
    right.mine();
    wrong.mine();
  }, 300);
  onTestFinished(async () => {
    clock.clearInterval(mining);
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  const heads = (await subscriber.subscribe('newHeads')) as { hash: string }[];
  await subscriber.subscribe('logs', {});
  await eventually(() => heads.length >= 3);
  let position = 0;
  return {
    heads,
    right,
    closed: subscriber.caller.closed,
    read: async () => {
      const params = [`0x${'11'.repeat(20)}`, `0x${(position++).toString(16)}`, 'latest'];
      const { result, error } = await gateway.call('test', 'eth_getStorageAt', params);
      return result ?? error?.message;
    },
    moveFirst: () => {
      nodes[0]?.response('eth_chainId', '0x3e7');
      chainOfFirst = wrong;
    },
    /** Heads that no block of the network has. */
    foreign: () => heads.filter(({ hash }) => right.byHash(hash) === null),
  };
}

describe('an upstream whose chain changes while it is up', () => {
  it('is not used after a head that does not continue the chain, and another one serves calls and subscribers', async () => {
    const { heads, right, read, moveFirst, foreign } = await subscribed(2);
    expect(await read()).toBe(word(1));
    moveFirst();
    await eventually(async () => (await read()) === word(2));
    for (let reads = 0; reads < 10; reads++) expect(await read()).toBe(word(2));
    const { hash } = right.head;
    await eventually(() => heads.some((head) => head.hash === hash));
    expect(foreign()).toEqual([]);
  });

  it('closes sockets with subscriptions, with a reason, if no other upstream has their blocks', async () => {
    const { closed, read, moveFirst, foreign } = await subscribed(1);
    moveFirst();
    expect(await closed).toEqual(REASON);
    expect(await read()).toBe('no upstream could answer');
    expect(foreign()).toEqual([]);
  });

  it('is not used after a notification of a head that does not continue the chain', async () => {
    const chain = new ChainWithLogs(6);
    const node = await startChainNode(CHAIN_ID, chain);
    const gateway = await startGateway({ test: chainNetwork(CHAIN_ID, [node]) });
    const subscriber = await openSubscriber(gateway, 'test');
    onTestFinished(async () => {
      subscriber.caller.socket.terminate();
      await gateway.stop();
      await node.stop();
    });
    const heads = await subscriber.subscribe('newHeads');
    const mined = [chain.mine(), chain.mine()].map(({ header }) => header.hash);
    await eventually(() => heads.length === 2);
    node.response('eth_chainId', () => '0x3e7');
    // Another chain has another first block.
    chain.removeBlocks(8);
    for (let blocks = 0; blocks < 9; blocks++) chain.mine();
    expect(await subscriber.caller.closed).toEqual(REASON);
    expect((heads as { hash: string }[]).map(({ hash }) => hash)).toEqual(mined);
  });

  it('is noticed within a minute of use, even if its heads continue the chain', async () => {
    const time = shiftClock();
    const { nodes, request } = await withNodes(2);
    expect(await request()).toMatchObject({ result: word(1) });
    nodes[0]?.response('eth_chainId', '0x8');
    time.forward(56_000);
    await request();
    await eventually(async () => (await request()).result === word(2));
    const before = nodes[0]?.callsOf('eth_getStorageAt').length;
    for (let calls = 0; calls < 5; calls++) expect(await request()).toMatchObject({ result: word(2) });
    expect(nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(before ?? 0);
  });

  it('gets no call after its node was restarted between two calls', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    expect(await request()).toMatchObject({ result: word(1) });
    await scenarioPause(1_200);
    await nodes[0]?.refuse();
    nodes[0]?.response('eth_chainId', '0x8');
    await nodes[0]?.listen();
    await scenarioPause(100);
    for (let calls = 0; calls < 5; calls++) expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()[0]).toBe(1);
  });
});
