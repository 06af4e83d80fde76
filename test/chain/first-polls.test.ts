import { describe, expect, it, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { pollerOf, simulatedUpstream, type SimulatedUpstream } from './simulated-upstream.ts';

const time = simulateTime();

/** Two upstreams, of which the second one does not respond. Its chain is newer. */
function twoUpstreams({ hasFeed = false } = {}) {
  const chain = new ScriptedChain();
  const newer = chain.copy();
  newer.mine(5);
  const upstreams = [simulatedUpstream('first', chain), simulatedUpstream('second', newer, hasFeed)] as const;
  upstreams[1].respondsAfterMs = Infinity;
  const poller = pollerOf(upstreams);
  /** Whether a call for a tag waits. */
  const waits = (): boolean => poller.whenStarted(clock.now()) !== undefined;
  return { chain, upstreams, poller, waits };
}

describe('a call for a tag', () => {
  it('waits for the first polls of all upstreams, 500 ms at most, also if there is a first watcher meanwhile', async () => {
    const { poller, waits, chain } = twoUpstreams();
    let hasEnded = false;
    void poller.whenStarted(clock.now())?.then(() => (hasEnded = true));
    await time().advance(400);
    poller.watch(() => undefined);
    await time().advance(99);
    expect([hasEnded, poller.view.number]).toEqual([false, undefined]);
    await time().advance(1);
    expect([hasEnded, waits(), poller.view.number]).toEqual([true, false, chain.number]);
  });

  it('does not wait for the polls that begin with a first watcher', async () => {
    const { poller, waits } = twoUpstreams();
    expect(waits()).toBe(true);
    await time().advance(600);
    for (let count = 0; count < 3; count++) {
      const stop = poller.watch(() => undefined);
      expect(waits()).toBe(false);
      await time().advance(700);
      stop();
    }
  });

  it('waits again after a pause in polls', async () => {
    const { waits } = twoUpstreams();
    waits();
    await time().advance(1_000_000);
    expect(waits()).toBe(true);
  });

  it.each<[string, (upstream: SimulatedUpstream) => void]>([
    ['whose circuit is open', (upstream) => Object.assign(upstream, { circuit: { isClosed: false } })],
    ['that is drained', (upstream) => Object.assign(upstream, { isUnwatched: () => true })],
    ['on another chain', (upstream) => Object.assign(upstream, { isOnOtherChain: true })],
    ['whose poll fails', (upstream) => Object.assign(upstream, { fetchResult: () => Promise.reject(new Error()) })],
  ])('does not wait for an upstream %s', async (_, make) => {
    const { poller, upstreams, chain, waits } = twoUpstreams();
    make(upstreams[1]);
    let hasEnded = false;
    void poller.whenStarted(clock.now())?.then(() => (hasEnded = true));
    await time().advance(20);
    expect([hasEnded, waits(), poller.view.number]).toEqual([true, false, chain.number]);
  });

  it('ends its wait when an upstream that does not respond is removed', async () => {
    const { poller, upstreams } = twoUpstreams();
    let hasEnded = false;
    void poller.whenStarted(clock.now())?.then(() => (hasEnded = true));
    await time().advance(100);
    poller.replaceUpstreams(upstreams.slice(0, 1));
    await time().advance(0);
    expect([hasEnded, poller.view.number]).toEqual([true, upstreams[0].chain.number]);
  });
});

it('the first watcher does not wait for the poll of an upstream whose notifications are late', async () => {
  const { poller, upstreams, waits } = twoUpstreams({ hasFeed: true });
  const second: SimulatedUpstream = upstreams[1];
  second.respondsAfterMs = 10;
  waits();
  await time().advance(20);
  second.events?.started();
  await time().advance(20);
  second.respondsAfterMs = Infinity;
  await time().advance(20_000);
  let isKnown = false;
  poller.watch(() => undefined);
  void poller.waitForHead(10_000).then((head) => (isKnown = head !== undefined));
  await time().advance(20);
  expect(isKnown).toBe(true);
});

it('an upstream that is removed gets no more polls, and its subscription ends', async () => {
  const chain = new ScriptedChain();
  const [first, second] = [simulatedUpstream('first', chain), simulatedUpstream('second', chain)];
  const close = vi.fn();
  const polls = [first, second].map((upstream) => vi.spyOn(upstream, 'fetchResult'));
  vi.spyOn(second, 'subscribe').mockReturnValue({ close });
  const poller = pollerOf([first, second]);
  poller.watch(() => undefined);
  await time().advance(60_000);
  const before = polls.map(({ mock }) => mock.calls.length);
  poller.replaceUpstreams([first]);
  await time().advance(60_000);
  const after = polls.map(({ mock }) => mock.calls.length);
  expect(after[0]).toBeGreaterThan(before[0] ?? Infinity);
  expect([before[1], close.mock.calls.length]).toEqual([after[1], 1]);
});
