import { describe, expect, it, onTestFinished } from 'vitest';
import { status } from '../support/behaviours.ts';
import { startAnvil } from '../support/anvil.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, follow, replay, withHeads } from './with-heads.ts';

describe('the canonical chain', () => {
  it('grows block by block from the head at the time of watching', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    expect(poller.view.head).toMatchObject({ number: 100n, hash: chain.head.hash });
    expect(poller.view.head?.block).not.toHaveProperty('transactions');
    chain.mine();
    await eventually(() => poller.view.head?.number === 101n);
    expect(changes).toMatchObject([{ removed: [], added: [{ hash: chain.head.hash }] }]);
    expect(poller.view.at(100n)?.hash).toBe(chain.head.parentHash);
    expect(poller.view.has(chain.head.hash)).toBe(true);
    expect([poller.view.at(99n), poller.view.at(102n), poller.view.has('0x')]).toEqual([undefined, undefined, false]);
    // The parent was known, so nothing was fetched.
    expect(nodes[0]?.fetched()).toBe(0);
  });

  it('delivers each change once to each watcher, and none after it stops', async () => {
    const chain = new ScriptedChain();
    const { poller, changes, watch } = await withHeads([chain]);
    const stop = await watch();
    await watch();
    chain.mine();
    await eventually(() => changes.length === 2);
    stop();
    chain.mine();
    await eventually(() => changes.length === 3);
    expect(poller.view.head?.hash).toBe(chain.head.hash);
  });

  it('fills a gap, and fetches each block once', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(30);
    await eventually(() => poller.view.head?.number === 130n);
    expect(replay(changes)).toHaveLength(30);
    expect(nodes[0]?.fetched()).toBe(29);
  });

  it('gets the blocks of an outage from another upstream', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain, chain]);
    await watch();
    for (const node of nodes) await node.refuse();
    chain.mine(7);
    await staysTrueFor(60, () => poller.view.head?.number === 100n);
    await nodes[1]?.listen();
    await eventually(() => poller.view.head?.number === 107n);
    expect(replay(changes)).toHaveLength(7);
    expect(nodes[0]?.fetched()).toBe(0);
    await nodes[0]?.listen();
    chain.mine();
    await eventually(() => poller.view.head?.number === 108n);
    expect(replay(changes)).toHaveLength(8);
  });

  it('fetches blocks from others if the upstream that reported the head does not return them', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain, chain]);
    await watch();
    const old = chain.head;
    const onlyLatest = (latest: () => unknown) => (params: unknown) =>
      (params as string[])[0] === 'latest' ? latest() : null;
    nodes[0]?.response(
      'eth_getBlockByNumber',
      onlyLatest(() => chain.head),
    );
    nodes[0]?.always(status(500), 'eth_getBlockByHash');
    nodes[1]?.response(
      'eth_getBlockByNumber',
      onlyLatest(() => old),
    );
    chain.mine(3);
    await eventually(() => poller.view.head?.number === 103n);
    expect(replay(changes)).toHaveLength(3);
    expect(nodes[1]?.callsOf('eth_getBlockByHash')).toHaveLength(2);
    // After one failure, the upstream gets no request for the next block.
    expect(nodes[0]?.callsOf('eth_getBlockByHash')).toHaveLength(1);
  });

  it.each([1, 2, 3])('removes %i blocks at a reorg, and then adds others', async (depth) => {
    const chain = new ScriptedChain();
    const { poller, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(5);
    await eventually(() => poller.view.head?.number === 105n);
    const old = poller.view.head?.hash ?? '';
    chain.reorganise(depth);
    await eventually(() => poller.view.head?.hash === chain.head.hash);
    const last = changes.at(-1);
    expect(last?.removed.map(({ number }) => Number(number))).toEqual([105, 104, 103].slice(0, depth));
    expect(last?.added).toHaveLength(depth + 1);
    expect(replay(changes).at(-1)).toBe(chain.head.hash);
    expect([poller.view.has(old), poller.view.at(105n)?.hash]).toEqual([false, chain.byNumber('0x69')?.hash]);
  });

  it('follows a reorg to a block of the same height', async () => {
    const chain = new ScriptedChain();
    const { poller, changes, watch } = await withHeads([chain, chain]);
    chain.mine();
    await watch();
    chain.reorganise(1, 1);
    await eventually(() => poller.view.head?.hash === chain.head.hash);
    expect(changes.map(({ removed, added }) => [removed.length, added.length])).toEqual([[1, 1]]);
  });

  it('does not alternate between two upstreams of one group at a fork: the higher block decides', async () => {
    const [one, other] = [new ScriptedChain(), new ScriptedChain()];
    const { poller, nodes, changes, watch } = await withHeads([one, other], { oneGroup: true });
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('there are no two nodes');
    one.mine(4);
    second.chain = one.copy();
    await watch();
    // The second upstream reports the head.
    second.chain.mine();
    await eventually(() => poller.view.head?.hash === second.chain.head.hash);
    one.mine();
    const polls = first.polls();
    await eventually(() => first.polls() > polls + 3);
    expect([changes.length, poller.view.head?.hash]).toEqual([1, second.chain.head.hash]);
    one.mine();
    await eventually(() => poller.view.head?.hash === one.head.hash);
    expect(changes.map(({ removed, added }) => [removed.length, added.length])).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  it('follows a development chain to a lower head, after repeated polls', async () => {
    const chain = new ScriptedChain();
    const { poller, changes, watch } = await withHeads([chain], { isDevelopment: true });
    await watch();
    chain.mine(5);
    await eventually(() => poller.view.head?.number === 105n);
    chain.goBack(4);
    await eventually(() => poller.view.head?.number === 101n);
    expect(changes.at(-1)).toMatchObject({ added: [] });
    expect(changes.at(-1)?.removed.map(({ number }) => Number(number))).toEqual([105, 104, 103, 102]);
    await eventually(() => poller.view.number === 101n);
    chain.mine();
    await eventually(() => poller.view.head?.number === 102n);
    expect(replay(changes)).toHaveLength(2);
  });

  it('does not follow single lower heads, as from a load balancer in front of several nodes', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    chain.mine(5);
    await watch();
    let polls = 0;
    const older = chain.byNumber('0x68');
    nodes[0]?.response('eth_getBlockByNumber', () => (polls++ % 3 === 2 ? chain.head : older));
    await eventually(() => polls > 12);
    expect([changes, poller.view.number, poller.view.head?.hash]).toEqual([[], 105n, chain.head.hash]);
  });

  it('restarts with a gap if more blocks are missing than it holds, and on another chain', async () => {
    const chain = new ScriptedChain();
    const { poller, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(600);
    await eventually(() => poller.view.head?.number === 700n);
    expect(changes).toMatchObject([{ removed: [], added: [{ number: 700n }], hasGap: true }]);
    expect(nodes[0]?.callsOf('eth_getBlockByHash')).toEqual([]);
    const [node] = nodes;
    if (node !== undefined) node.chain = new ScriptedChain({ from: 0 });
    await eventually(() => poller.view.head?.number === 0n);
    expect(changes.at(-1)).toMatchObject({ removed: [], hasGap: true });
    node?.chain.mine();
    await eventually(() => poller.view.head?.number === 1n);
    expect(replay(changes)).toHaveLength(2);
  });
});

it('anvil is followed by polls and by newHeads, through evm_revert and anvil_reset', async () => {
  const anvil = await startAnvil({ chainId: CHAIN_ID });
  onTestFinished(() => anvil.stop());
  const call = async (method: string, params: unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(anvil.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    return ((await response.json()) as { result: unknown }).result;
  };
  const polled = follow([{ url: anvil.url }], { isDevelopment: true });
  const notified = follow([{ url: anvil.url, webSocketUrl: anvil.url.replace('http', 'ws') }], {
    isDevelopment: true,
  });
  const all = [polled, notified];
  for (const { watch } of all) await watch();
  const before = polled.poller.view.number ?? 0n;
  const snapshot = await call('evm_snapshot');
  await call('anvil_mine', ['0x3']);
  await eventually(() => all.every(({ poller }) => poller.view.head?.number === before + 3n));
  await call('evm_revert', [snapshot]);
  await eventually(() => polled.poller.view.head?.number === before);
  expect(replay(polled.changes)).toEqual([]);
  // There is no newHeads notification of a revert, only of the next block.
  await call('anvil_mine', ['0x1']);
  await eventually(() => all.every(({ poller }) => poller.view.head?.number === before + 1n));
  for (const { changes } of all) expect(replay(changes)).toHaveLength(1);
  await call('anvil_reset');
  await call('anvil_mine', ['0x1']);
  await eventually(() => all.every(({ poller }) => poller.view.head?.number === 1n && poller.view.number === 1n));
  for (const { changes } of all) expect(changes).toContainEqual(expect.objectContaining({ removed: [], hasGap: true }));
});
