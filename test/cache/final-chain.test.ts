import { expect, it } from 'vitest';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { account, callThroughCache, followCache, receiptIn, responseOf } from './follow-cache.ts';

const transaction = `0x${'ab'.repeat(32)}`;
const atFinal = [account, '0x64'];

/** A cache with an entry at a final number and one of a final block. */
async function withFinalEntries() {
  const cache = await followCache({ finalized: 100 });
  const [node] = cache.nodes;
  if (node === undefined) throw new Error('there is no node');
  const state = cache.store('eth_getBalance', atFinal, '0x5');
  const receipt = cache.store('eth_getTransactionReceipt', [transaction], receiptIn(cache.chain.head));
  const found = (): (string | undefined)[] => [state.find(), receipt.find()];
  expect(found()).toEqual(['"0x5"', expect.stringContaining(transaction)]);
  return { ...cache, node, found };
}

const none = [undefined, undefined];

it('nothing of a chain is served once its head falls below a final block, also when the new chain is longer', async () => {
  const { node, found, waitForHead, finalise, poller } = await withFinalEntries();
  node.chain = new ScriptedChain({ from: 1 });
  await eventually(() => poller.view.head?.number === 1n);
  // Also the lookup that finds out.
  expect(found()).toEqual(none);
  await waitForHead(node.chain.mine(120));
  expect(await finalise(node.chain.byNumber('0x64'))).toBe(true);
  expect(found()).toEqual(none);
});

it('no entry is served as soon as a lower head is seen, until an upstream returned the final block', async () => {
  const { node, found, chain } = await withFinalEntries();
  node.chain = new ScriptedChain({ from: 1 });
  await eventually(() => found().every((result) => result === undefined));
  // The lower head is not confirmed: another node behind the same URL.
  node.chain = chain;
  await eventually(() => found().every((result) => result !== undefined));
});

it('everything is dropped once a lower head is confirmed, although a node behind the same URL has the final block', async () => {
  const { node, found, final, poller } = await withFinalEntries();
  const { generation } = final;
  const { head } = new ScriptedChain({ from: 1 });
  // Only polls reach the node that restarted.
  node.response('eth_getBlockByNumber', head);
  await eventually(() => poller.view.head?.number === 1n);
  await eventually(() => found().every((result) => result === undefined) && final.generation !== generation);
});

it('after a pause in head polls, entries are served once an upstream returned the final block', async () => {
  const { poller, upstream, unwatch, found } = await withFinalEntries();
  unwatch();
  await eventually(() => poller.view.headOf(upstream) === undefined);
  expect(found()).toEqual(none);
  await eventually(() => found().every((result) => result !== undefined));
});

it('after a pause in head polls, nothing is served if an upstream has another block in place of the final one', async () => {
  const { poller, upstream, unwatch, found, node, final, waitForHead } = await withFinalEntries();
  const { generation } = final;
  unwatch();
  await eventually(() => poller.view.headOf(upstream) === undefined);
  node.chain = new ScriptedChain({ from: 100 });
  node.chain.mine(30);
  expect(found()).toEqual(none);
  await waitForHead(node.chain.head);
  await eventually(() => final.generation !== generation && found().every((result) => result === undefined));
});

it('a newer final block is recorded only if the upstream still has the recorded one', async () => {
  const { node, found, finalise, waitForHead, final } = await withFinalEntries();
  const { generation } = final;
  // The same height, so that no lower head is seen.
  node.chain = new ScriptedChain({ from: 100 });
  await waitForHead(node.chain.mine(30));
  expect(await finalise(node.chain.byNumber('0x6e'))).toBe(false);
  expect(await finalise(node.chain.byNumber('0x6e'))).toBe(true);
  expect(final.generation).not.toBe(generation);
  expect(found()).toEqual(none);
});

it('a response that was requested before everything was dropped is not cached', async () => {
  const { cacheOf, final, chain, finalise } = await withFinalEntries();
  const cache = cacheOf('eth_getBalance');
  const params = [account, '0x63'];
  await callThroughCache(cache, params, async () => {
    final.drop();
    expect(await finalise(chain.head)).toBe(true);
    return responseOf('0x1');
  });
  expect(cache.find(cache.keyOf(JSON.stringify(params)))).toBeUndefined();
  await callThroughCache(cache, params, () => Promise.resolve(responseOf('0x2')));
  expect(cache.find(cache.keyOf(JSON.stringify(params)))?.result).toBe('"0x2"');
});
