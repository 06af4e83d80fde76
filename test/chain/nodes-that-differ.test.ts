import { describe, expect, it } from 'vitest';
import { hang } from '../support/behaviours.ts';
import { eventually, SOON_MS } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { replay, withHeads, type ScriptedNode } from './with-heads.ts';

describe('the canonical chain of nodes that differ', () => {
  it('follows the heads of one upstream while another does not answer what its chain is', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, watch } = await withHeads([chain, chain.copy()]);
    const [silent, other] = nodes as [ScriptedNode, ScriptedNode];
    const stop = await watch();
    stop();
    // The chain is not followed any more, and restarts at the next head.
    await scenarioPause(700);
    silent.always(hang, 'eth_chainId');
    const before = silent.callsOf('eth_chainId').length;
    silent.chain.mine(8);
    poller.watch(() => undefined);
    await eventually(() => silent.callsOf('eth_chainId').length > before);
    other.chain = silent.chain.copy();
    const head = other.chain.mine();
    await eventually(() => poller.view.head?.hash === head.hash, SOON_MS);
  });

  it('fills a gap although three of four responses are from nodes that lack the blocks', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    let requests = 0;
    const byTurns = (block: unknown): unknown => (requests++ % 4 === 0 ? block : null);
    nodes[0]?.response('eth_getBlockByHash', (params: unknown) => byTurns(chain.byHash((params as [string])[0])));
    nodes[0]?.response('eth_getBlockByNumber', (params: unknown) => {
      const [block] = params as [string];
      return block === 'latest' ? chain.head : byTurns(chain.byNumber(block));
    });
    chain.mine(12);
    await eventually(() => poller.view.head?.number === 112n);
    expect(changes.some(({ hasGap }) => hasGap === true)).toBe(false);
    expect(replay(changes)).toHaveLength(12);
  });

  it('follows a deep reorg within a few polls although every second response is from a node that lacks the branch', async () => {
    const chain = new ScriptedChain();
    // Between two polls, the blocks of the branch can be fetched on a busy machine, too.
    const { poller, nodes, changes, watch } = await withHeads([chain], { watchedMinMs: 500, watchedMaxMs: 500 });
    await watch();
    chain.mine(20);
    await eventually(() => poller.view.head?.number === 120n);
    let requests = 0;
    let polls = 0;
    nodes[0]?.response('eth_getBlockByHash', ([hash = '']: string[]) =>
      requests++ % 2 === 0 ? null : chain.byHash(hash),
    );
    nodes[0]?.response('eth_getBlockByNumber', ([block = '']: string[]) => {
      if (block === 'latest') polls++;
      return chain.byNumber(block);
    });
    let pollsUntilReorg = Infinity;
    poller.watch(() => (pollsUntilReorg = Math.min(pollsUntilReorg, polls)));
    polls = 0;
    chain.reorganise(18);
    await eventually(() => poller.view.head?.hash === chain.head.hash);
    expect(pollsUntilReorg).toBeLessThan(6);
    expect(changes.at(-1)?.removed).toHaveLength(18);
  });

  it('ends the walk to the parents of a head whose headers are parents of each other', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, watch } = await withHeads([chain]);
    await watch();
    const other = chain.copy();
    const head = other.mine(5);
    const [first, second] = ['a', 'b'].map((digit) => `0x${digit.repeat(64)}`) as [string, string];
    const block = (hash: string): object => ({ ...head, hash, parentHash: hash === first ? second : first });
    nodes[0]?.response('eth_getBlockByNumber', () => block(first));
    nodes[0]?.response('eth_getBlockByHash', ([hash = '']: string[]) => block(hash));
    // The walk was endless, without a pause for timers.
    await eventually(() => (nodes[0]?.fetched() ?? 0) > 3);
    chain.mine(1);
    nodes[0]?.response('eth_getBlockByNumber', ([number = '']: string[]) => chain.byNumber(number));
    nodes[0]?.response('eth_getBlockByHash', ([hash = '']: string[]) => chain.byHash(hash));
    await eventually(() => poller.view.head?.hash === chain.head.hash);
  });

  it('lowers the head of an upstream on the replaced branch until its next poll', async () => {
    const one = new ScriptedChain();
    const { poller, nodes, upstreams, watch } = await withHeads([one, one], { oneGroup: true });
    const [, second] = nodes;
    await watch();
    one.mine(5);
    await eventually(() => upstreams.every((upstream) => poller.view.headOf(upstream)?.number === 105n));
    await eventually(() => poller.view.head?.number === 105n);
    if (second !== undefined) second.chain = one.copy();
    second?.always(hang);
    // No response of an earlier poll may come later.
    const polls = second?.polls() ?? 0;
    await eventually(() => (second?.polls() ?? 0) > polls);
    one.reorganise(3);
    await eventually(() => poller.view.head?.hash === one.head.hash);
    expect(upstreams.map((upstream) => poller.view.headOf(upstream)?.number)).toEqual([106n, 102n]);
  });

  it('does not follow one of several nodes behind a URL to an old branch', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(5);
    await eventually(() => poller.view.head?.number === 105n);
    const old = chain.copy();
    old.reorganise(3, 2);
    let polls = 0;
    // The first head that falls and rises again shows that nodes differ.
    nodes[0]?.response('eth_getBlockByNumber', ([which = '']: string[]) =>
      which === 'latest' ? (polls++ % 2 === 0 ? old.head : chain.head) : chain.byNumber(which),
    );
    nodes[0]?.response('eth_getBlockByHash', ([hash = '']: string[]) => old.byHash(hash) ?? chain.byHash(hash));
    await eventually(() => polls > 6);
    const { length } = changes;
    await eventually(() => polls > 40);
    expect(changes.length).toBe(length);
    expect([poller.view.number, poller.view.head?.hash]).toEqual([105n, chain.head.hash]);
  });
});
