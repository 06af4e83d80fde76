import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { eventually } from '../support/eventually.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { replay, withHeads, type FollowOptions, type ScriptedNode, type WithHeads } from './with-heads.ts';

interface Failed extends WithHeads {
  readonly survivor: ScriptedNode;
  /** Waits until the survivor was polled often enough to confirm a lower head. */
  readonly confirm: () => Promise<void>;
}

/**
 * The first of two nodes had 103 and 106 and is unreachable since; the other one, the survivor, is at 100 on the same chain.
 * @param watched with a watcher, so that all blocks from 101 to 106 are known
 */
async function withoutNewest(watched: boolean, options: FollowOptions = {}): Promise<Failed> {
  const chain = new ScriptedChain();
  const all = await withHeads([chain, chain.copy()], options);
  const [first, survivor] = all.nodes;
  if (first === undefined || survivor === undefined) throw new Error('there are no two nodes');
  all.poller.markUsed(clock.now());
  if (watched) await all.watch();
  else await eventually(() => all.poller.view.number === 100n);
  const use = async (condition: () => boolean): Promise<void> => {
    await eventually(() => {
      all.poller.markUsed(clock.now());
      return condition();
    });
  };
  for (const head of [103n, 106n]) {
    chain.mine(3);
    await use(() => all.poller.view.head?.number === head);
  }
  await first.refuse();
  const confirm = async (): Promise<void> => {
    const before = survivor.polls();
    await use(() => survivor.polls() > before + 8);
  };
  await confirm();
  return { ...all, survivor, confirm };
}

describe('when the upstream with the newest head fails', () => {
  it('another branch is not followed within a second, also if calls poll more often', async () => {
    const time = shiftClock();
    const rare = { usedMinMs: 60_000, usedMaxMs: 60_000, confirmMinMs: 500 };
    const { poller, nodes, upstreams } = await withHeads([new ScriptedChain(), new ScriptedChain()], rare);
    const [first, survivor] = nodes as [ScriptedNode, ScriptedNode];
    poller.markUsed(clock.now());
    await eventually(() => poller.view.head?.number === 100n);
    const poll = async (): Promise<bigint | undefined> => {
      await Promise.all(upstreams.map((upstream) => poller.poll(upstream).catch(() => undefined)));
      return poller.view.number;
    };
    for (const number of [103n, 106n]) {
      first.chain.mine(3);
      // A poll that began before joins the next one.
      await eventually(async () => (await poll()) === number && poller.view.head?.number === number);
    }
    survivor.chain.mine(3);
    await first.refuse();
    for (let polls = 0; polls < 6; polls++) expect(await poll()).toBe(106n);
    time.forward(999);
    expect(await poll()).toBe(106n);
    time.forward(1);
    expect(await poll()).toBe(103n);
  });

  it.each([true, false])('the head stays, and nothing is removed (watched: %s)', async (watched) => {
    const { poller, changes, survivor } = await withoutNewest(watched);
    const newest = poller.view.head;
    expect([poller.view.number, newest?.number, poller.view.lagOf('none' as never, clock.now())]).toEqual([
      106n,
      106n,
      0,
    ]);
    if (watched) expect(poller.view.newestServed).toBe(106n);
    expect(replay(changes)).toHaveLength(watched ? 6 : 0);
    expect(survivor.polls()).toBeGreaterThan(8);
  });

  it('each block is delivered once, also those that the other upstream receives later', async () => {
    const { nodes, poller, changes, survivor, confirm } = await withoutNewest(true);
    const [first] = nodes;
    const full = first?.chain.copy() ?? new ScriptedChain();
    for (const count of [2, 2, 2]) {
      const chain = full.copy();
      chain.goBack(6 - count);
      survivor.chain = chain;
      await confirm();
    }
    survivor.chain = full;
    full.mine();
    await eventually(() => poller.view.head?.hash === full.head.hash);
    expect(changes.flatMap(({ removed }) => removed)).toEqual([]);
    expect(changes.some(({ hasGap }) => hasGap === true)).toBe(false);
    expect(replay(changes)).toHaveLength(7);
  });

  it.each([true, false])('another block at a known height is a reorg (watched: %s)', async (watched) => {
    const { poller, changes, survivor, confirm } = await withoutNewest(watched);
    // 101 of another branch; the unwatched chain knows the heads that it polled.
    survivor.chain.mine(3);
    await confirm();
    await eventually(() => poller.view.head?.hash === survivor.chain.head.hash);
    expect([poller.view.number, poller.view.newestServed]).toEqual([survivor.chain.number, watched ? 103n : 0n]);
    if (!watched) return;
    expect(changes.flatMap(({ removed }) => removed.map(({ number }) => Number(number)))).toEqual([
      106, 105, 104, 103, 102, 101,
    ]);
    expect(replay(changes).at(-1)).toBe(survivor.chain.head.hash);
  });

  it('a lagging upstream on a branch that replaced an unwatched one is no reorg', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes } = await withHeads([chain, chain.copy()]);
    const [first, survivor] = nodes;
    const use = async (condition: () => boolean): Promise<void> => {
      await eventually(() => {
        poller.markUsed(clock.now());
        return condition();
      });
    };
    const reach = (number: bigint): Promise<void> => use(() => poller.view.head?.number === number);
    await reach(100n);
    chain.mine(3);
    await reach(103n);
    chain.reorganise(2, 4);
    await reach(105n);
    await first?.refuse();
    if (survivor === undefined) throw new Error('there are no two nodes');
    survivor.chain = chain.copy();
    survivor.chain.goBack(2);
    const before = survivor.polls();
    await use(() => survivor.polls() > before + 8);
    expect([poller.view.number, poller.view.head?.hash]).toEqual([105n, chain.head.hash]);
  });

  it('a head of unknown number is followed if it is below a final block', async () => {
    const { poller, survivor, confirm } = await withoutNewest(false);
    survivor.chain = new ScriptedChain({ from: 90 });
    await confirm();
    expect(poller.view.number).toBe(106n);
    poller.finalized(90n);
    await confirm();
    expect(poller.view.number).toBe(106n);
    poller.finalized(91n);
    await confirm();
    expect([poller.view.number, poller.view.head?.hash]).toEqual([90n, survivor.chain.head.hash]);
  });

  it('a known block is not followed even if a later block is final, as on chains with instant finality', async () => {
    const { poller, confirm } = await withoutNewest(true);
    poller.finalized(105n);
    await confirm();
    expect([poller.view.number, poller.view.head?.number]).toEqual([106n, 106n]);
  });

  it('a head more than 512 blocks lower is that of a chain that starts anew', async () => {
    const chain = new ScriptedChain({ from: 1_000 });
    const { poller, nodes, watch } = await withHeads([chain]);
    await watch();
    const [node] = nodes;
    if (node === undefined) throw new Error('there is no node');
    node.chain = new ScriptedChain({ from: 488 });
    const polls = node.polls();
    await eventually(() => node.polls() > polls + 8);
    expect(poller.view.number).toBe(1_000n);
    node.chain = new ScriptedChain({ from: 487 });
    await eventually(() => poller.view.number === 487n && poller.view.head?.number === 487n);
  });

  it('a development chain is followed', async () => {
    const { poller, changes } = await withoutNewest(true, { isDevelopment: true });
    await eventually(() => poller.view.number === 100n && poller.view.head?.number === 100n);
    expect(changes.at(-1)?.removed).toHaveLength(6);
  });

  it('a new subscriber after a pause continues from the newest served block', async () => {
    const { poller, changes, survivor, watch } = await withoutNewest(false);
    const stop = await watch();
    expect(poller.view.head?.number).toBe(106n);
    const before = survivor.polls();
    await eventually(() => survivor.polls() > before + 8);
    stop();
    expect([poller.view.head?.number, changes]).toEqual([106n, []]);
  });

  it('polls are as frequent as before', async () => {
    // With the interval of confirmations, 10 ms, there would be 30 polls.
    const { survivor, poller } = await withoutNewest(false, { usedMinMs: 100, usedMaxMs: 100, idleAfterMs: 5_000 });
    const before = survivor.polls();
    const start = clock.now();
    await eventually(() => {
      poller.markUsed(clock.now());
      return clock.now() - start > 300;
    });
    expect(survivor.polls() - before).toBeLessThanOrEqual((clock.now() - start) / 90 + 1);
  });
});

describe('an error while the chain is followed', () => {
  it('does not stop it: the next head restarts the chain with a gap', async () => {
    const chain = new ScriptedChain();
    const lines: string[] = [];
    const log = { error: (_fields: unknown, message: string) => void lines.push(message) };
    const { poller, changes, watch } = await withHeads([chain], {}, log as never);
    await watch();
    let isBroken = true;
    poller.watch(() => {
      if (isBroken) throw new Error('a defect');
    });
    chain.mine();
    await eventually(() => lines.length > 0);
    isBroken = false;
    chain.mine();
    await eventually(() => poller.view.head?.hash === chain.head.hash && changes.length === 2);
    expect(lines).toEqual(['following the chain failed']);
    expect(changes[1]).toMatchObject({ removed: [], added: [{ number: 102n }], hasGap: true });
    chain.mine();
    await eventually(() => changes.length === 3);
    expect(changes[2]?.hasGap).toBeUndefined();
  });
});
