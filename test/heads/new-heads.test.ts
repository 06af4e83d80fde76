import { expect, it, onTestFinished } from 'vitest';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { until } from '../routing/with-nodes.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, follow, pause, replay, scriptedNode, tellHead, withNewHeads } from './with-heads.ts';

/** Told of four blocks a second, so that a silence shows in tenths of one. */
async function told() {
  const chain = new ScriptedChain({ secondsApart: 0 });
  const all = await withNewHeads(chain, { silence: 150 });
  const { node, feed, heads } = all;
  await all.watch();
  await until(() => feed.calls.some(({ method }) => method === 'eth_subscribe'));
  await until(() => node.looks() === 2);
  const mine = async (): Promise<void> => {
    chain.mine();
    tellHead(feed, chain);
    await until(() => heads.head?.hash === chain.head.hash);
  };
  await mine();
  return { ...all, chain, mine };
}

const methodsOf = (calls: readonly { method: string }[]) => calls.map(({ method }) => method);

it('an upstream with a WebSocket tells of its heads, and is not polled', async () => {
  const { node, feed, changes, mine, metrics } = await told();
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe']);
  expect(feed.calls[1]?.params).toEqual(['newHeads']);
  for (let block = 0; block < 8; block++) {
    await mine();
    await pause(30);
  }
  // One look at the start, and one when newHeads had begun, for what came between.
  expect([node.looks(), node.fetched()]).toEqual([2, 0]);
  expect(replay(changes)).toHaveLength(9);
  const page = await metrics.registry.metrics();
  expect(page).toContain('gatehouse_head_notifications_total{network="test",upstream="node-0"} 9');
  expect(page).toMatch(/gatehouse_head_polls_total\{network="test",upstream="node-0",outcome="response"\} 2\n/);
});

it('a WebSocket that is lost is made up for by polls, until it is back', async () => {
  const { node, feed, chain, heads, changes, mine } = await told();
  await feed.stop();
  chain.mine(3);
  await until(() => heads.head?.number === chain.number);
  expect(replay(changes)).toHaveLength(4);
  await feed.listen();
  await until(() => feed.calls.filter(({ method }) => method === 'eth_subscribe').length === 2);
  // Asked for its chain id after each reconnect.
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe', 'eth_chainId', 'eth_subscribe']);
  await mine();
  const looks = node.looks();
  for (let block = 0; block < 5; block++) {
    await mine();
    await pause(30);
  }
  expect(node.looks()).toBe(looks);
  expect(replay(changes)).toHaveLength(10);
});

it('newHeads that fall silent are made up for by polls, and subscribed to anew', async () => {
  const { feed, chain, heads, changes, mine } = await told();
  chain.mine(2);
  await until(() => heads.head?.number === chain.number);
  expect(replay(changes)).toHaveLength(3);
  await until(() => feed.calls.filter(({ method }) => method === 'eth_subscribe').length === 2);
  expect(methodsOf(feed.calls)).toContain('eth_unsubscribe');
  await mine();
  expect(replay(changes)).toHaveLength(4);
});

it('newHeads of a network without new blocks are not taken for dead', async () => {
  const { node, feed, heads } = await told();
  const looks = node.looks();
  await until(() => node.looks() > looks + 3);
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe']);
  expect(heads.number).toBe(101n);
});

it('an upstream that tells nothing while others move on is polled, and found to lag', async () => {
  const chain = new ScriptedChain({ secondsApart: 0 });
  const nodes = [await scriptedNode(chain), await scriptedNode(chain.copy())];
  const feed = await startFakeWebSocketNode(CHAIN_ID);
  onTestFinished(() => feed.stop());
  const addresses = nodes.map(({ url }, index) => ({ url, webSocketUrl: index === 1 ? feed.url : undefined }));
  const { heads, upstreams, watch } = follow(addresses, { silence: 60_000 });
  await watch();
  await until(() => feed.calls.some(({ method }) => method === 'eth_subscribe') && nodes[1]?.looks() === 2);
  // Its last look was long ago, for a quick network.
  await pause(60);
  chain.mine(2);
  await until(() => heads.lagOf(upstreams[1] as never) === 2);
  expect(heads.number).toBe(102n);
});

it('a WebSocket that leads to another chain is never believed, nor subscribed to', async () => {
  const chain = new ScriptedChain();
  const { node, feed, heads, watch } = await withNewHeads(chain, {}, 8);
  await watch();
  chain.mine();
  await until(() => heads.number === 101n);
  expect(new Set(methodsOf(feed.calls))).toEqual(new Set(['eth_chainId']));
  expect(node.looks()).toBeGreaterThan(1);
});

it('a WebSocket is let go when the network is no longer in use', async () => {
  const chain = new ScriptedChain();
  const { node, feed, watch } = await withNewHeads(chain, { usedFor: 10 });
  const stop = await watch();
  await until(() => feed.calls.some(({ method }) => method === 'eth_subscribe') && node.looks() === 2);
  stop();
  await until(() => methodsOf(feed.calls).includes('eth_unsubscribe'));
  const calls = node.calls.length;
  await pause(100);
  expect([node.calls.length, feed.handshakes.length]).toEqual([calls, 1]);
});
