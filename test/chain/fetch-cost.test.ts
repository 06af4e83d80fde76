import { describe, expect, it } from 'vitest';
import type { ChainChange } from '../../gateway/chain/header-ring.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { pollerOf, simulatedUpstream } from './simulated-upstream.ts';

const time = simulateTime();

/** A chain that begins far below its head. */
function longChain(): ScriptedChain {
  const chain = new ScriptedChain();
  chain.mine(700);
  return chain;
}

describe('a reorg below the oldest known block', () => {
  it('is followed, if the only node with the new branch returns an error for removed blocks', async () => {
    const before = longChain();
    // By number, they have the newest block only.
    const newest = new ScriptedChain({ blocks: [before.head] });
    const pruned = simulatedUpstream('pruned', newest);
    const old = simulatedUpstream('old', newest);
    old.byHash = (hash) => before.byHash(hash);
    const poller = pollerOf([pruned, old]);
    const changes: ChainChange[] = [];
    poller.watch((change) => changes.push(change));
    await time().advance(60_000);
    const after = before.copy();
    after.reorganise(100);
    pruned.chain = after;
    pruned.byHash = (hash) => {
      const block = after.byHash(hash);
      if (block === null) throw new Error('unknown block');
      return block;
    };
    await time().advance(60_000);
    expect(changes.map(({ hasGap, added }) => [hasGap, added.length])).toEqual([[undefined, 101]]);
  });

  it.each([
    ['without watchers is not followed', false, 4],
    ['is followed for a minute for watchers', true, 150],
  ])('%s', async (_, isWatched, maxFetched) => {
    const chain = longChain();
    const node = simulatedUpstream('node', chain);
    const poller = pollerOf([node]);
    const changes: ChainChange[] = [];
    if (isWatched) poller.watch((change) => changes.push(change));
    poller.markUsed(clock.now());
    await time().advance(5_000);
    node.respondsAfterMs = 1_000;
    const { fetched } = node;
    const before = chain.copy();
    node.byHash = (hash) => chain.byHash(hash) ?? before.byHash(hash);
    chain.reorganise(300);
    for (let second = 0; second < 150; second++) {
      poller.markUsed(clock.now());
      await time().advance(1_000);
    }
    expect(node.fetched - fetched).toBeLessThan(maxFetched);
    expect(poller.view.head?.hash).toBe(chain.head.hash);
    expect(changes.map(({ hasGap }) => hasGap)).toEqual(isWatched ? [true] : []);
  });
});

it('the blocks before the head are not fetched again within 10 minutes of a fetch that failed', async () => {
  const chain = longChain();
  const node = simulatedUpstream('node', chain);
  node.chain = new ScriptedChain({ blocks: [chain.head] });
  const poller = pollerOf([node]);
  const subscribe = async (): Promise<number> => {
    const { fetched } = node;
    const stop = poller.watch(() => undefined);
    await time().advance(2_000);
    stop();
    return node.fetched - fetched;
  };
  expect(await subscribe()).toBeGreaterThan(0);
  expect(await subscribe()).toBe(0);
  await time().advance(590_000);
  expect(await subscribe()).toBe(0);
  await time().advance(20_000);
  expect(await subscribe()).toBeGreaterThan(0);
  node.chain = chain;
  await time().advance(600_000);
  expect(await subscribe()).toBe(64);
});
