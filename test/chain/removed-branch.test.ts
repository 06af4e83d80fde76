import { expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { asUsual } from '../support/behaviours.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { eventually } from '../support/eventually.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { withHeads, type ScriptedNode } from './with-heads.ts';

it.each([
  ['of another upstream', 1],
  ['to which the upstream went back', 0],
])('a branch that a reorg removed is not followed at a lower height: %s', async (_, index) => {
  const chain = new ScriptedChain();
  const { poller, nodes, changes, watch } = await withHeads([chain, chain.copy()], { oneGroup: true });
  const [first, second] = nodes as [ScriptedNode, ScriptedNode];
  await watch();
  const old = chain.copy();
  old.mine(3);
  first.chain = second.chain = old;
  await eventually(() => poller.view.head?.number === 103n);
  const branch = chain.copy();
  branch.mine(6);
  first.chain = branch;
  await eventually(() => poller.view.head?.hash === branch.head.hash);
  const { length } = changes;
  // A block more than those that were removed.
  old.mine();
  const survivor = index === 0 ? first : second;
  survivor.chain = old;
  await nodes[1 - index]?.refuse();
  const before = survivor.polls();
  await eventually(() => survivor.polls() > before + 8);
  expect([poller.view.number, poller.view.head?.hash, changes.length]).toEqual([106n, branch.head.hash, length]);
  // It is followed when it is higher.
  old.mine(3);
  await eventually(() => poller.view.head?.hash === old.head.hash);
  expect(changes.at(-1)?.removed).toHaveLength(6);
});

it('an upstream alone is followed back to the branch that it had before', async () => {
  const chain = new ScriptedChain();
  const { poller, nodes, watch } = await withHeads([chain]);
  const [node] = nodes as [ScriptedNode];
  await watch();
  const old = chain.copy();
  old.mine(3);
  node.chain = old;
  await eventually(() => poller.view.head?.number === 103n);
  node.chain = chain.copy();
  node.chain.mine(6);
  await eventually(() => poller.view.head?.hash === node.chain.head.hash);
  node.chain = old;
  await eventually(() => poller.view.number === 103n && poller.view.head?.hash === old.head.hash);
});

it('a node that another one at the same URL left on a removed branch is not followed', async () => {
  const chain = new ScriptedChain();
  // Polls alone do not confirm the lower head within this test.
  const { poller, nodes, changes, watch } = await withHeads([chain], { confirmMinMs: 60_000 });
  const [node] = nodes as [ScriptedNode];
  await watch();
  const old = chain.copy();
  old.mine(3);
  node.chain = old;
  await eventually(() => poller.view.head?.number === 103n);
  const branch = chain.copy();
  branch.mine(6);
  node.chain = branch;
  await eventually(() => poller.view.head?.hash === branch.head.hash);
  const { length } = changes;
  node.chain = old;
  const before = node.polls();
  await eventually(() => node.polls() > before + 3);
  expect([poller.view.number, poller.view.head?.hash, changes.length]).toEqual([106n, branch.head.hash, length]);
});

it('a block of another branch that was served counts as served after a reorg to a lower head', async () => {
  const chain = new ScriptedChain();
  const { poller, nodes, upstreams, watch } = await withHeads([chain]);
  const [[node], [upstream]] = [nodes, upstreams];
  if (node === undefined || upstream === undefined) throw new Error('there is no node');
  await watch();
  chain.mine(5);
  await eventually(() => poller.view.newestServed === 105n);
  const branch = chain.copy();
  branch.reorganise(3, 1);
  const newer = branch.copy().mine();
  node.chain = branch;
  poller.served(upstream, { number: BigInt(newer.number), hash: newer.hash }, clock.now());
  await eventually(() => poller.view.number === 103n);
  // Else state of block 103 would be served from the cache.
  expect(poller.view.newestServed).toBe(104n);
});

it('a shorter branch is followed if it grows while its blocks are fetched', async () => {
  const chain = new ScriptedChain();
  // Polls alone do not confirm the lower head within this test.
  const { poller, nodes, watch } = await withHeads([chain], { confirmMinMs: 60_000 });
  const [node] = nodes as [ScriptedNode];
  await watch();
  chain.mine(10);
  await eventually(() => poller.view.head?.number === 110n);
  const branch = chain.copy();
  branch.reorganise(9, 2);
  let polls = Infinity;
  // Returns the parents after two polls of the longer branch.
  node.always(async (exchange) => {
    await eventually(() => node.polls() > polls + 2);
    asUsual(exchange);
  }, 'eth_getBlockByHash');
  node.chain = branch;
  await eventually(() => node.callsOf('eth_getBlockByHash').length > 0);
  branch.mine();
  polls = node.polls();
  await eventually(() => poller.view.number === 104n && poller.view.head?.hash === branch.head.hash);
  expect(poller.view.newestServed).toBe(104n);
});

it('after a reorg to a lower block than one that was served, polls decide whether the chain is shorter', async () => {
  const time = shiftClock({ isRunning: true });
  const chain = new ScriptedChain();
  const { poller, nodes, upstreams, watch } = await withHeads([chain], { confirmMinMs: 30_000 });
  const [[node], [upstream]] = [nodes, upstreams];
  if (node === undefined || upstream === undefined) throw new Error('there is no node');
  await watch();
  chain.mine(10);
  await eventually(() => poller.view.head?.number === 110n);
  const branch = chain.copy();
  branch.reorganise(9, 10);
  // Of another node behind the URL, which has one block more of the new branch.
  poller.served(upstream, { number: 112n }, clock.now());
  node.chain = branch;
  await eventually(() => poller.view.head?.hash === branch.head.hash);
  expect([poller.view.number, poller.view.newestServed]).toEqual([112n, 112n]);
  time.forward(60_000);
  await eventually(() => poller.view.number === 111n && poller.view.newestServed === 111n);
});
