import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { hang, status } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { withHeads, type ScriptedNode, type WithHeads } from './with-heads.ts';

/** A network in use with this many nodes, each with its own copy of one chain, after the first polls. */
async function inUse(count: number, times = {}): Promise<WithHeads & { mine: (...on: number[]) => void }> {
  const chain = new ScriptedChain();
  const all = await withHeads(
    Array.from({ length: count }, () => chain.copy()),
    times,
  );
  const { poller, nodes } = all;
  poller.markUsed(clock.now());
  await eventually(() => nodes.every(({ polls }) => polls() > 0) && poller.view.number !== undefined);
  // The same block for all of them.
  const mine = (...on: number[]): void => {
    const block = chain.mine();
    for (const index of on) nodes[index]?.response('eth_getBlockByNumber', block);
  };
  return { ...all, mine };
}

/** Uses the network until a condition is true. */
async function untilUsed({ poller }: WithHeads, condition: () => boolean): Promise<void> {
  await eventually(() => {
    poller.markUsed(clock.now());
    return condition();
  });
}

/** Waits for this many more polls of each node. */
async function morePolls(all: WithHeads, more: number, nodes: readonly ScriptedNode[] = all.nodes): Promise<void> {
  const before = nodes.map((node) => node.polls());
  await untilUsed(all, () => nodes.every((node, index) => node.polls() >= (before[index] ?? 0) + more));
}

describe('the continuity of the chain', () => {
  it('ends with a pause of polls: 30 s without a use and a poll', async () => {
    const { poller } = await inUse(1, { idleAfterMs: 3_600_000 });
    const { unbrokenSince } = poller.view;
    const now = poller.view.seenAt;
    for (const ms of [29_000, 58_000, 87_000]) poller.markUsed(now + ms);
    // Used without a pause, although polls fail.
    expect(poller.view.unbrokenSince).toBe(unbrokenSince);
    poller.markUsed(now + 118_000);
    const { unbrokenSince: since } = poller.view;
    expect(since).toBeGreaterThan(unbrokenSince);
    poller.markUsed(now + 119_000);
    expect(poller.view.unbrokenSince).toBe(since);
  });
});

describe('the network’s head', () => {
  it('is unknown before the network is used, and no request is sent', async () => {
    const { poller, nodes } = await withHeads([new ScriptedChain(), new ScriptedChain()]);
    await staysTrueFor(80, () => nodes.every(({ calls }) => calls.length === 0));
    expect([poller.view.number, poller.view.head]).toEqual([undefined, undefined]);
  });

  it('follows the upstreams while the network is in use', async () => {
    const all = await inUse(2);
    all.mine(0, 1);
    await untilUsed(all, () => all.poller.view.number === 101n);
    expect(all.nodes.map((node) => node.callsOf('eth_chainId').length)).toEqual([1, 1]);
    // Without watchers, only the newest block is requested.
    expect(all.nodes.map((node) => node.fetched())).toEqual([0, 0]);
  });

  it('is not raised by an absurd number', async () => {
    const all = await inUse(3);
    const absurd = { ...all.nodes[1]?.chain.head, number: `0x${(10n ** 18n).toString(16)}` };
    all.nodes[1]?.response('eth_getBlockByNumber', absurd);
    await morePolls(all, 3);
    expect([all.poller.view.number, all.poller.view.head?.number]).toEqual([100n, 100n]);
    all.mine(0, 2);
    await untilUsed(all, () => all.poller.view.number === 101n);
    expect(all.poller.view.lagOf(all.upstreams[1] as never, clock.now())).toBe(0);
  });

  it('is not raised by an upstream on another chain, which gets one request: for its chain id', async () => {
    const [one, other] = [new ScriptedChain(), new ScriptedChain({ from: 105 })];
    const all = await withHeads([one, other]);
    all.nodes[1]?.response('eth_chainId', '0x8');
    await morePolls(all, 3, all.nodes.slice(0, 1));
    expect(all.poller.view.number).toBe(100n);
    expect(all.nodes[1]?.calls.map(({ method }) => method)).toEqual(['eth_chainId']);
  });

  it('ignores an upstream that returns on another chain: its chain id is checked again', async () => {
    const all = await inUse(2);
    const [first] = all.nodes;
    await first?.refuse();
    await expect
      .poll(() => {
        all.poller.markUsed(clock.now());
        return all.metrics.registry.metrics();
      })
      .toContain('gatehouse_head_polls_total{network="test",upstream="node-0",outcome="transport"}');
    first?.response('eth_chainId', '0x8');
    await first?.listen();
    await untilUsed(all, () => first?.callsOf('eth_chainId').length === 2);
    const before = first?.polls();
    await morePolls(all, 3, all.nodes.slice(1));
    expect(first?.polls()).toBe(before);
  });

  it('does not wait for an upstream that does not respond', async () => {
    const all = await withHeads([new ScriptedChain(), new ScriptedChain()]);
    all.nodes[1]?.always(hang, 'eth_getBlockByNumber');
    await untilUsed(all, () => all.poller.view.number === 100n);
    const before = all.nodes[0]?.polls() ?? 0;
    await untilUsed(all, () => (all.nodes[0]?.polls() ?? 0) > before + 2);
    expect(all.nodes[1]?.polls()).toBe(1);
  });

  it('decreases only when all agree, as after the reset of a development chain', async () => {
    const all = await inUse(2, { isDevelopment: true });
    const { poller, nodes } = all;
    const reset = new ScriptedChain({ from: 1 });
    if (nodes[0] !== undefined) nodes[0].chain = reset;
    await morePolls(all, 5);
    expect(poller.view.number).toBe(100n);
    if (nodes[1] !== undefined) nodes[1].chain = reset;
    await untilUsed(all, () => poller.view.number === 1n);
    await untilUsed(all, () => poller.view.head?.hash === reset.head.hash);
  });

  it('does not decrease when the only remaining upstream is behind', async () => {
    const all = await inUse(2);
    all.mine(0);
    await untilUsed(all, () => all.poller.view.number === 101n);
    await all.nodes[0]?.refuse();
    await morePolls(all, 1, all.nodes.slice(1));
    expect(all.poller.view.number).toBe(101n);
  });

  it('is raised by a response to a caller', async () => {
    const { poller, upstreams } = await inUse(2, { usedMinMs: 1_000, usedMaxMs: 1_000 });
    const [first, second] = upstreams;
    if (first === undefined || second === undefined) throw new Error('there are no two upstreams');
    poller.served(first, { number: 0x65n }, clock.now());
    expect([poller.view.number, poller.view.headOf(first)?.number, poller.view.headOf(second)?.number]).toEqual([
      101n,
      101n,
      100n,
    ]);
    poller.served(second, { number: 0xde0b6b3a7640000n }, clock.now());
    expect(poller.view.number).toBe(101n);
  });
});

describe('an upstream', () => {
  it('that lags has a lag in blocks until it has caught up', async () => {
    const all = await inUse(2);
    const { poller, upstreams, metrics } = all;
    const [first, second] = upstreams;
    if (first === undefined || second === undefined) throw new Error('there are no two upstreams');
    expect([poller.view.lagOf(first, clock.now()), poller.view.lagOf(second, clock.now())]).toEqual([0, 0]);
    all.mine(0);
    all.mine(0);
    await untilUsed(all, () => poller.view.lagOf(second, clock.now()) === 2);
    await morePolls(all, 2);
    expect([poller.view.lagOf(first, clock.now()), poller.view.lagOf(second, clock.now())]).toEqual([0, 2]);
    expect([poller.view.headOf(first)?.number, poller.view.headOf(second)?.number]).toEqual([102n, 100n]);
    const page = await metrics.registry.metrics();
    expect(page).toContain('gatehouse_upstream_head_lag_blocks{network="test",upstream="node-1"} 2');
    expect(page).toContain('gatehouse_network_head_block{network="test"} 102');
    all.mine(0, 1);
    await untilUsed(all, () => poller.view.lagOf(second, clock.now()) === 0 && poller.view.number === 103n);
  });

  it('that is stuck lags as soon as the others advance', async () => {
    const all = await inUse(3);
    for (let block = 1; block <= 4; block++) {
      all.mine(1, 2);
      await untilUsed(all, () => all.poller.view.lagOf(all.upstreams[0] as never, clock.now()) === block);
    }
  });

  it('that fails is polled at growing intervals, and the failures are counted', async () => {
    const all = await inUse(2, { backoffMaxMs: 10_000 });
    all.nodes[0]?.always(status(503), 'eth_getBlockByNumber');
    const start = clock.now();
    await morePolls(all, 8, all.nodes.slice(1));
    // One failure, and at most one more per second.
    const failures = (): number => (all.nodes[0]?.polls() ?? 0) - 1;
    expect(failures()).toBeLessThanOrEqual(2 + (clock.now() - start) / 1_000);
    const series = 'gatehouse_head_polls_total{network="test",upstream="node-0",outcome="transport"}';
    await eventually(async () => (await all.metrics.registry.metrics()).includes(`${series} ${failures()}\n`));
  });
});

describe('polls', () => {
  it('become rarer after the last call, and stop', async () => {
    const all = await inUse(1, { idleAfterMs: 600 });
    const polls = (): number => all.nodes[0]?.polls() ?? 0;
    // At 0, 60, 180 and 540 ms instead of every 60 ms.
    await staysTrueFor(1_000, () => polls() <= 6);
    const before = polls();
    await staysTrueFor(150, () => polls() === before);
    all.mine(0);
    await untilUsed(all, () => all.poller.view.number === 101n);
  });

  it('are shared by all watchers, and stop when the last one stops', async () => {
    const { poller, nodes, watch } = await withHeads([new ScriptedChain()], { idleAfterMs: 10 });
    const stops = [await watch(), await watch(), await watch()];
    const start = clock.now();
    const before = nodes[0]?.polls() ?? 0;
    const polls = (): number => (nodes[0]?.polls() ?? 0) - before;
    await staysTrueFor(300, () => polls() <= (clock.now() - start) / 40 + 2);
    await eventually(() => polls() > 1);
    for (const stop of stops) stop();
    // At most the one in progress.
    const after = polls();
    await staysTrueFor(200, () => polls() <= after + 1);
    expect(poller.view.number).toBe(100n);
  });

  it('are one at a time at each upstream, however many calls there are', async () => {
    const { poller, nodes } = await withHeads([new ScriptedChain()]);
    nodes[0]?.always(hang, 'eth_getBlockByNumber');
    for (let calls = 0; calls < 1_000; calls++) poller.markUsed(clock.now());
    await eventually(() => nodes[0]?.polls() === 1);
    await staysTrueFor(150, () => nodes[0]?.polls() === 1);
    for (let calls = 0; calls < 1_000; calls++) poller.markUsed(clock.now());
    await staysTrueFor(50, () => nodes[0]?.polls() === 1);
  });
});
