import { expect, it, onTestFinished } from 'vitest';
import { openSubscriber } from '../subscriptions/subscriber.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { hang, slow } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

const CHAIN_ID = 7_777;
const BLOCK_MS = 300;

/** A gateway with HTTP nodes of one chain, subscribed to heads and logs, whose callers ask for the block number all the time. */
async function subscribed(count: number) {
  const chain = new ScriptedChain(10);
  const nodes = await Promise.all(
    Array.from({ length: count }, () => startFakeNode({ chainId: CHAIN_ID, responses: chain.responses() })),
  );
  const urls = nodes.map(({ url }) => url);
  const gateway = await startGateway(
    { test: network(CHAIN_ID, urls, { failsafe: { hedgeAfterMs: 'off' } }) },
    { CACHE_MAX_BYTES: '0' },
  );
  const subscriber = await openSubscriber(gateway, 'test');
  let isCalling = true;
  onTestFinished(async () => {
    isCalling = false;
    await calling;
    subscriber.caller.socket.terminate();
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  const heads = (await subscriber.subscribe('newHeads')) as { hash: string }[];
  const logs = await subscriber.subscribe('logs', {});
  const call = async (): Promise<void> => {
    while (isCalling) {
      await gateway.call('test', 'eth_blockNumber');
      await scenarioPause(30);
    }
  };
  const calling = Promise.all([call(), call(), call()]);
  /** Mines blocks with a log each, in time, until enough are delivered. More are needed on a loaded machine. */
  const mineUntil = async (isEnough: () => boolean): Promise<string[]> => {
    const mined: string[] = [];
    while (!isEnough() && mined.length < 60) {
      mined.push(chain.mine([{ address: `0x${'11'.repeat(20)}`, topics: [] }]).header.hash);
      await scenarioPause(BLOCK_MS);
    }
    return mined;
  };
  return { nodes: nodes as [FakeNode, ...FakeNode[]], heads, logs, mineUntil };
}

it('heads and logs are delivered although callers are served newer block numbers than a poll that is in progress', async () => {
  const { nodes, heads, logs, mineUntil } = await subscribed(1);
  nodes[0].always(slow(400));
  nodes[0].always(slow(400), 'eth_getBlockByNumber');
  // Polls are a second apart, and take 400 ms. Logs take another 400 ms: 24 blocks.
  const mined = await mineUntil(() => heads.length > 14 && logs.length > 12);
  expect(heads.map(({ hash }) => hash)).toEqual(mined.slice(0, heads.length));
  expect(heads.length).toBeGreaterThan(14);
  expect(logs.length).toBeGreaterThan(12);
});

it('heads of the second upstream are delivered while polls of the first one hang, whose block numbers callers are served', async () => {
  const { nodes, heads, mineUntil } = await subscribed(2);
  nodes[0].always(hang, 'eth_getBlockByNumber');
  const mined = await mineUntil(() => heads.length > 8);
  expect(heads.map(({ hash }) => hash)).toEqual(mined.slice(0, heads.length));
  expect(heads.length).toBeGreaterThan(8);
});
