import { expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, follow, replay, scriptedNode, notifyHead, withNewHeads } from './with-heads.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** Silence that no pause of a slow machine reaches. */
const slow = { silenceMs: 5_000, secondsApart: 12 };

/** A subscribed network. If all blocks have one timestamp, the block time is minimal: 100 ms. */
async function subscribed({ silenceMs = 150, secondsApart = 0 } = {}) {
  const chain = new ScriptedChain({ secondsApart });
  const all = await withNewHeads(chain, { silenceMs });
  const { node, feed, poller } = all;
  await all.watch();
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe'));
  await eventually(() => node.polls() === 2);
  const mine = async (): Promise<void> => {
    chain.mine();
    notifyHead(feed, chain);
    await eventually(() => poller.view.head?.hash === chain.head.hash);
  };
  await mine();
  return { ...all, chain, mine };
}

const methodsOf = (calls: readonly { method: string }[]) => calls.map(({ method }) => method);

it('an upstream with a WebSocket sends its heads as notifications, and is not polled', async () => {
  const { node, feed, changes, mine, metrics } = await subscribed(slow);
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe']);
  expect(feed.calls[1]?.params).toEqual(['newHeads']);
  for (let block = 0; block < 8; block++) {
    await mine();
    await staysTrueFor(30, () => node.polls() === 2);
  }
  // One poll at the start, and one after the subscription, for blocks between them.
  expect([node.polls(), node.fetched()]).toEqual([2, 0]);
  expect(replay(changes)).toHaveLength(9);
  const page = await metrics.registry.metrics();
  expect(page).toContain('gatehouse_head_notifications_total{network="test",upstream="node-0"} 9');
  expect(page).toMatch(/gatehouse_head_polls_total\{network="test",upstream="node-0",outcome="response"\} 2\n/);
});

it('polls replace a disconnected WebSocket until it is open again', async () => {
  const { node, feed, chain, poller, changes, mine } = await subscribed(slow);
  await feed.stop();
  chain.mine(3);
  await eventually(() => poller.view.head?.number === chain.number);
  expect(replay(changes)).toHaveLength(4);
  await feed.listen();
  await eventually(() => feed.calls.filter(({ method }) => method === 'eth_subscribe').length === 2);
  // The chain id is checked after each reconnect.
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe', 'eth_chainId', 'eth_subscribe']);
  // The poll after the subscription may be in progress.
  let mined = 0;
  let polls = NaN;
  await eventually(async () => {
    const before = node.polls();
    await mine();
    mined++;
    await scenarioPause(30);
    polls = node.polls();
    return polls === before;
  });
  for (let block = 0; block < 5; block++) {
    await mine();
    await staysTrueFor(30, () => node.polls() === polls);
  }
  expect(replay(changes)).toHaveLength(4 + mined + 5);
});

it('polls replace notifications that stop, and the subscription is renewed', async () => {
  const { feed, chain, poller, changes, mine } = await subscribed();
  chain.mine(2);
  await eventually(() => poller.view.head?.number === chain.number);
  expect(replay(changes)).toHaveLength(3);
  await eventually(() => feed.calls.filter(({ method }) => method === 'eth_subscribe').length === 2);
  expect(methodsOf(feed.calls)).toContain('eth_unsubscribe');
  await mine();
  expect(replay(changes)).toHaveLength(4);
});

it('an upstream is polled if two blocks are missing in its notifications, long before they count as stopped', async () => {
  const { node, feed, chain, poller } = await subscribed({ silenceMs: 60_000 });
  chain.mine();
  await eventually(() => poller.view.number === chain.number);
  expect(node.polls()).toBeGreaterThan(2);
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe']);
});

it('a subscription of a network without new blocks is not considered broken', async () => {
  const { node, feed, poller } = await subscribed();
  const polls = node.polls();
  await eventually(() => node.polls() > polls + 3);
  expect(methodsOf(feed.calls)).toEqual(['eth_chainId', 'eth_subscribe']);
  expect(poller.view.number).toBe(101n);
});

it('an upstream without notifications is polled while others advance, and its lag is found', async () => {
  const chain = new ScriptedChain({ secondsApart: 0 });
  const nodes = [await scriptedNode(chain), await scriptedNode(chain.copy())];
  const feed = await startFakeWebSocketNode(CHAIN_ID);
  onTestFinished(() => feed.stop());
  const addresses = nodes.map(({ url }, index) => ({ url, webSocketUrl: index === 1 ? feed.url : undefined }));
  const { poller, upstreams, watch } = follow(addresses, { silenceMs: 60_000, lateMs: 150 });
  await watch();
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe') && nodes[1]?.polls() === 2);
  // For a fast network, the last poll is long ago now.
  await scenarioPause(60);
  // The time since the newest block is never that long.
  await eventually(() => {
    chain.mine();
    return (nodes[1]?.polls() ?? 0) > 2;
  });
  await eventually(() => poller.view.lagOf(upstreams[1] as never, clock.now()) === Number(chain.number - 100n));
});

it('a WebSocket of another chain is ignored, and gets no subscription', async () => {
  const chain = new ScriptedChain();
  const { node, feed, poller, watch } = await withNewHeads(chain, {}, 8);
  await watch();
  chain.mine();
  await eventually(() => poller.view.number === 101n);
  expect(new Set(methodsOf(feed.calls))).toEqual(new Set(['eth_chainId']));
  expect(node.polls()).toBeGreaterThan(1);
});

it('a WebSocket is closed when the network is no longer in use', async () => {
  const chain = new ScriptedChain();
  const { node, feed, watch } = await withNewHeads(chain, { idleAfterMs: 10 });
  const stop = await watch();
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe') && node.polls() === 2);
  stop();
  await eventually(() => methodsOf(feed.calls).includes('eth_unsubscribe'));
  const calls = node.calls.length;
  await staysTrueFor(100, () => node.calls.length === calls && feed.handshakes.length === 1);
});

it('an upstream whose notifications are missing is polled on time, also between two rounds', async () => {
  const time = shiftClock();
  // As long as the block time is not known, silence of 6 s is late.
  const { poller, feed, upstreams } = await withNewHeads(new ScriptedChain(), { usedMinMs: 2_000, usedMaxMs: 2_000 });
  const [upstream] = upstreams;
  if (upstream === undefined) throw new Error('there is no upstream');
  poller.markUsed(clock.now());
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe'));
  await eventually(() => poller.view.headOf(upstream) !== undefined);
  await new Promise(setImmediate);
  time.forward(5_900);
  const timers = vi.spyOn(clock, 'setTimeout');
  poller.markUsed(clock.now());
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([100]);
});
