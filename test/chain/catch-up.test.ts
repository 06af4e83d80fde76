import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { hang } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, follow, notifyHead, scriptedNode, withHeads, type ScriptedNode } from './with-heads.ts';

/** Time longer than a poll takes on a loaded machine. */
const WAIT_MS = 2_000;
const MIN_MS = 250;

/** Two nodes at 100. They are polled once, and then only on demand. */
async function twoNodes() {
  const rare = { usedMinMs: 60_000, usedMaxMs: 60_000, catchUpWaitMs: WAIT_MS, catchUpMinMs: MIN_MS };
  const all = await withHeads([new ScriptedChain(), new ScriptedChain()], { ...rare, idleAfterMs: 120_000 });
  const { poller, nodes, upstreams } = all;
  const [node] = nodes as [ScriptedNode];
  const [first, second] = upstreams as [Upstream, Upstream];
  poller.markUsed(clock.now());
  await eventually(() => poller.view.headOf(first) !== undefined && poller.view.headOf(second) !== undefined);
  const raise = (number: bigint): void => {
    poller.served(second, { number }, clock.now());
  };
  return { ...all, node, first, second, raise };
}

it('an upstream that returned state above the head is polled, but not for each such call', async () => {
  const time = shiftClock();
  const { poller, first } = await twoNodes();
  const polls = vi.spyOn(first, 'fetchResult');
  poller.mayHaveNewer(first, clock.now());
  time.forward(MIN_MS);
  for (let count = 0; count < 20; count++) poller.mayHaveNewer(first, clock.now());
  expect(polls.mock.calls).toHaveLength(1);
  await eventually(() => poller.view.headOf(first) !== undefined);
});

it('an upstream that was polled on demand between two rounds is polled again one interval later', async () => {
  const time = shiftClock();
  const { poller, upstreams } = await withHeads([new ScriptedChain()], {
    usedMinMs: 20_000,
    usedMaxMs: 20_000,
    startMs: 60_000,
  });
  const [upstream] = upstreams as [Upstream];
  poller.markUsed(clock.now());
  await eventually(() => poller.view.headOf(upstream) !== undefined);
  time.forward(13_000);
  await poller.poll(upstream);
  await setImmediate();
  const timers = vi.spyOn(clock, 'setTimeout');
  const polls = vi.spyOn(upstream, 'fetchResult');
  time.forward(7_000);
  poller.markUsed(clock.now());
  // Timers may fire a little early: an interval counts as 18 s.
  expect([polls.mock.calls.length, timers.mock.calls.map(([, ms]) => ms)]).toEqual([0, [11_000]]);
  time.forward(11_000);
  poller.markUsed(clock.now() + 9_000);
  expect(polls.mock.calls).toHaveLength(1);
});

describe('an upstream below the head', () => {
  it('that was at the head before is polled once, and all calls wait for this poll', async () => {
    const { poller, node, first, second, raise } = await twoNodes();
    expect([poller.view.isBehind(first), node.polls()]).toEqual([false, 1]);
    node.chain.mine();
    raise(101n);
    expect([poller.view.isBehind(first), poller.view.isBehind(second)]).toEqual([true, false]);
    const poll = poller.catchUp(first, clock.now());
    expect(poll).toBeInstanceOf(Promise);
    expect(poller.catchUp(first, clock.now())).toBe(poll);
    await poll;
    expect([poller.view.isBehind(first), node.polls()]).toEqual([false, 2]);
    // The same for the next block.
    node.chain.mine();
    raise(102n);
    await poller.catchUp(first, clock.now());
    expect([poller.view.isBehind(first), node.polls()]).toEqual([false, 3]);
  });

  it('that still is behind after a poll is polled at growing intervals, for which no call waits', async () => {
    const time = shiftClock({ isRunning: false });
    const { poller, node, first, raise } = await twoNodes();
    raise(101n);
    await poller.catchUp(first, clock.now());
    const polls = vi.spyOn(first, 'fetchResult');
    const intervals: number[] = [];
    let sinceMs = 0;
    while (intervals.length < 4 && sinceMs < 10 * MIN_MS) {
      // A poll ends in a later turn of the event loop than its promise.
      await setImmediate();
      time.forward(MIN_MS / 2);
      sinceMs += MIN_MS / 2;
      expect(poller.catchUp(first, clock.now())).toBeUndefined();
      if (polls.mock.calls.length === intervals.length) continue;
      await polls.mock.results.at(-1)?.value;
      intervals.push(sinceMs);
      sinceMs = 0;
    }
    expect(intervals).toEqual([MIN_MS, MIN_MS, 2 * MIN_MS, 4 * MIN_MS]);
    await setImmediate();
    node.chain.mine();
    time.forward(8 * MIN_MS);
    await poller.catchUp(first, clock.now());
    await eventually(() => !poller.view.isBehind(first));
    raise(102n);
    expect(poller.catchUp(first, clock.now())).toBeInstanceOf(Promise);
  });

  it('that does not respond to the poll delays calls once, for a short time', async () => {
    const { poller, node, first, raise } = await twoNodes();
    node.always(hang, 'eth_getBlockByNumber');
    raise(101n);
    const polls = vi.spyOn(first, 'fetchResult');
    const ended = vi.fn();
    const start = clock.now();
    const waited = poller.catchUp(first, start);
    (polls.mock.results[0]?.value as Promise<unknown>).then(ended, ended);
    await waited;
    expect(clock.now() - start).toBeGreaterThan(WAIT_MS * 0.9);
    expect(ended).not.toHaveBeenCalled();
    expect(poller.catchUp(first, clock.now())).toBeUndefined();
    raise(102n);
    expect(poller.catchUp(first, clock.now())).toBeUndefined();
  });
});

/** A node that is polled, and one at the same head that sends notifications. */
async function withSubscribed() {
  const chain = new ScriptedChain();
  const nodes = [await scriptedNode(chain), await scriptedNode(chain.copy())] as const;
  const feed = await startFakeWebSocketNode(CHAIN_ID);
  onTestFinished(() => feed.stop());
  const addresses = nodes.map(({ url }, index) => ({ url, webSocketUrl: index === 1 ? feed.url : undefined }));
  const rare = { usedMinMs: 60_000, usedMaxMs: 60_000, idleAfterMs: 120_000, silenceMs: 60_000 };
  const all = follow(addresses, rare);
  all.poller.markUsed(clock.now());
  const [, subscribed] = all.upstreams as [Upstream, Upstream];
  await eventually(() => feed.calls.some(({ method }) => method === 'eth_subscribe') && nodes[1].polls() === 2);
  await eventually(() => all.poller.view.headOf(subscribed)?.number === 100n && all.poller.view.number === 100n);
  return { ...all, chain, nodes, feed, subscribed };
}

describe('an upstream with notifications', () => {
  it('is not polled when another has a newer block: its next notification decides', async () => {
    const { poller, upstreams, nodes, subscribed } = await withSubscribed();
    poller.served(upstreams[0] as Upstream, { number: 101n }, clock.now());
    expect(poller.view.isBehind(subscribed)).toBe(true);
    expect(poller.catchUp(subscribed, clock.now())).toBeUndefined();
    expect(nodes[1].polls()).toBe(2);
  });

  it('lags by the blocks that it has not notified of within a second', async () => {
    const time = shiftClock({ isRunning: false });
    const { poller, upstreams, nodes, feed, subscribed } = await withSubscribed();
    const lags: number[] = [];
    for (let block = 101n; block <= 112n; block++) {
      poller.served(upstreams[0] as Upstream, { number: block }, clock.now());
      time.forward(1_000);
      lags.push(poller.view.lagOf(subscribed, clock.now()));
    }
    expect(lags).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    nodes[1].chain.mine(12);
    notifyHead(feed, nodes[1].chain);
    await eventually(() => poller.view.lagOf(subscribed, clock.now()) === 0);
    poller.served(upstreams[0] as Upstream, { number: 113n }, clock.now());
    time.forward(900);
    expect(poller.view.lagOf(subscribed, clock.now())).toBe(0);
  });
});
