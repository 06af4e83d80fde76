import { describe, expect, it, onTestFinished } from 'vitest';
import { status } from '../support/behaviours.ts';
import { startAnvil } from '../support/anvil.ts';
import { until } from '../routing/with-nodes.ts';
import { ScriptedChain } from './scripted-chain.ts';
import { CHAIN_ID, follow, pause, replay, withHeads } from './with-heads.ts';

describe('the canonical chain', () => {
  it('goes on block by block, from the head at which the watcher came', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    expect(heads.head).toMatchObject({ number: 100n, hash: chain.head.hash });
    expect(heads.head?.block).not.toHaveProperty('transactions');
    chain.mine();
    await until(() => heads.head?.number === 101n);
    expect(changes).toMatchObject([{ removed: [], added: [{ hash: chain.head.hash }] }]);
    expect(heads.at(100n)?.hash).toBe(chain.head.parentHash);
    expect(heads.has(chain.head.hash)).toBe(true);
    expect([heads.at(99n), heads.at(102n), heads.has('0x')]).toEqual([undefined, undefined, false]);
    // The parent was known: nothing was fetched.
    expect(nodes[0]?.fetched()).toBe(0);
  });

  it('is told once to each watcher, and no more to those who left', async () => {
    const chain = new ScriptedChain();
    const { heads, changes, watch } = await withHeads([chain]);
    const stop = await watch();
    await watch();
    chain.mine();
    await until(() => changes.length === 2);
    stop();
    chain.mine();
    await until(() => changes.length === 3);
    expect(heads.head?.hash).toBe(chain.head.hash);
  });

  it('has the blocks between, each fetched once', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(30);
    await until(() => heads.head?.number === 130n);
    expect(replay(changes)).toHaveLength(30);
    expect(nodes[0]?.fetched()).toBe(29);
  });

  it('has the blocks of an outage, from another upstream', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain, chain]);
    await watch();
    for (const node of nodes) await node.refuse();
    chain.mine(7);
    await pause(60);
    await nodes[1]?.listen();
    await until(() => heads.head?.number === 107n);
    expect(replay(changes)).toHaveLength(7);
    expect(nodes[0]?.fetched()).toBe(0);
    await nodes[0]?.listen();
    chain.mine();
    await until(() => heads.head?.number === 108n);
    expect(replay(changes)).toHaveLength(8);
  });

  it('asks others for blocks that the one who told of the head does not give', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain, chain]);
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
    await until(() => heads.head?.number === 103n);
    expect(replay(changes)).toHaveLength(3);
    expect(nodes[1]?.callsOf('eth_getBlockByHash')).toHaveLength(2);
    // Who failed once is not asked for the next one.
    expect(nodes[0]?.callsOf('eth_getBlockByHash')).toHaveLength(1);
  });

  it.each([1, 2, 3])('takes back %i blocks at a reorganisation, and then tells of others', async (depth) => {
    const chain = new ScriptedChain();
    const { heads, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(5);
    await until(() => heads.head?.number === 105n);
    const old = heads.head?.hash ?? '';
    chain.reorganise(depth);
    await until(() => heads.head?.hash === chain.head.hash);
    const last = changes.at(-1);
    expect(last?.removed.map(({ number }) => Number(number))).toEqual([105, 104, 103].slice(0, depth));
    expect(last?.added).toHaveLength(depth + 1);
    expect(replay(changes).at(-1)).toBe(chain.head.hash);
    expect([heads.has(old), heads.at(105n)?.hash]).toEqual([false, chain.byNumber('0x69')?.hash]);
  });

  it('follows a reorganisation to a block of the same height', async () => {
    const chain = new ScriptedChain();
    const { heads, changes, watch } = await withHeads([chain, chain]);
    chain.mine();
    await watch();
    chain.reorganise(1, 1);
    await until(() => heads.head?.hash === chain.head.hash);
    expect(changes.map(({ removed, added }) => [removed.length, added.length])).toEqual([[1, 1]]);
  });

  it('is not torn between two upstreams at a fork: the higher one decides', async () => {
    const [one, other] = [new ScriptedChain(), new ScriptedChain()];
    const { heads, nodes, changes, watch } = await withHeads([one, other]);
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('there are no two nodes');
    one.mine(4);
    second.chain = one.copy();
    await watch();
    // The head is known from the second one.
    second.chain.mine();
    await until(() => heads.head?.hash === second.chain.head.hash);
    one.mine();
    const looks = first.looks();
    await until(() => first.looks() > looks + 3);
    expect([changes.length, heads.head?.hash]).toEqual([1, second.chain.head.hash]);
    one.mine();
    await until(() => heads.head?.hash === one.head.hash);
    expect(changes.map(({ removed, added }) => [removed.length, added.length])).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  it('goes back where a development chain does, after a second look', async () => {
    const chain = new ScriptedChain();
    const { heads, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(5);
    await until(() => heads.head?.number === 105n);
    chain.goBack(4);
    await until(() => heads.head?.number === 101n);
    expect(changes.at(-1)).toMatchObject({ added: [] });
    expect(changes.at(-1)?.removed.map(({ number }) => Number(number))).toEqual([105, 104, 103, 102]);
    await until(() => heads.number === 101n);
    chain.mine();
    await until(() => heads.head?.number === 102n);
    expect(replay(changes)).toHaveLength(2);
  });

  it('does not go back for one stray look, as a balancer in front of several nodes gives it', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain]);
    chain.mine(5);
    await watch();
    let looks = 0;
    const older = chain.byNumber('0x68');
    nodes[0]?.response('eth_getBlockByNumber', () => (looks++ % 3 === 2 ? chain.head : older));
    await until(() => looks > 12);
    expect([changes, heads.number, heads.head?.hash]).toEqual([[], 105n, chain.head.hash]);
  });

  it('begins afresh, and says so, where more was missed than it holds, and where another chain stands', async () => {
    const chain = new ScriptedChain();
    const { heads, nodes, changes, watch } = await withHeads([chain]);
    await watch();
    chain.mine(600);
    await until(() => heads.head?.number === 700n);
    expect(changes).toMatchObject([{ removed: [], added: [{ number: 700n }], isFresh: true }]);
    expect(nodes[0]?.fetched()).toBe(0);
    const [node] = nodes;
    if (node !== undefined) node.chain = new ScriptedChain({ from: 0 });
    await until(() => heads.head?.number === 0n);
    expect(changes.at(-1)).toMatchObject({ removed: [], isFresh: true });
    node?.chain.mine();
    await until(() => heads.head?.number === 1n);
    expect(replay(changes)).toHaveLength(2);
  });
});

it('a real chain is followed, by polls and by newHeads, and goes back when it is reverted and reset', async () => {
  const anvil = await startAnvil({ chainId: CHAIN_ID });
  onTestFinished(() => anvil.stop());
  const ask = async (method: string, params: unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(anvil.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    return ((await response.json()) as { result: unknown }).result;
  };
  const polled = follow([{ url: anvil.url }]);
  const told = follow([{ url: anvil.url, webSocketUrl: anvil.url.replace('http', 'ws') }]);
  const all = [polled, told];
  for (const { watch } of all) await watch();
  const before = polled.heads.number ?? 0n;
  const snapshot = await ask('evm_snapshot');
  await ask('anvil_mine', ['0x3']);
  await until(() => all.every(({ heads }) => heads.head?.number === before + 3n));
  await ask('evm_revert', [snapshot]);
  await until(() => polled.heads.head?.number === before);
  expect(replay(polled.changes)).toEqual([]);
  // newHeads does not tell of a revert, but of the block that comes next.
  await ask('anvil_mine', ['0x1']);
  await until(() => all.every(({ heads }) => heads.head?.number === before + 1n));
  for (const { changes } of all) expect(replay(changes)).toHaveLength(1);
  await ask('anvil_reset');
  await ask('anvil_mine', ['0x1']);
  await until(() => all.every(({ heads }) => heads.head?.number === 1n && heads.number === 1n));
  for (const { changes } of all)
    expect(changes).toContainEqual(expect.objectContaining({ removed: [], isFresh: true }));
});
