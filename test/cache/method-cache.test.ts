import { expect, it, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { FinalChain } from '../../gateway/cache/final-chain.ts';
import type { ScriptedBlock, ScriptedChain } from '../chain/scripted-chain.ts';
import { account, callThroughCache, followCache, latest, receiptIn, responseOf, type SentTo } from './follow-cache.ts';
import { SOON_MS, staysTrueFor } from '../support/eventually.ts';
import { shiftClock } from '../routing/with-nodes.ts';

it('a result at the head is cached until the head changes', async () => {
  const { chain, store, waitForHead } = await followCache();
  const { find, first } = store('eth_getBalance', latest, '0x5');
  expect(first).toBe('"0x5"');
  await waitForHead(chain.mine());
  expect(find()).toBeUndefined();
});

it('a result at the head is cached for one second at most', async () => {
  const { store } = await followCache();
  const { find } = store('eth_gasPrice', [], '0x5');
  await vi.waitFor(() => {
    expect(find()).toBeUndefined();
  }, SOON_MS);
});

it('results at the head are dropped after that second, when others are cached', async () => {
  const time = shiftClock();
  const { store, responses } = await followCache();
  for (let slot = 0; slot < 10; slot++) store('eth_getStorageAt', [account, `0x${slot}`, 'latest'], '0x1');
  expect(responses.counts.entries).toBe(10);
  time.forward(1_001);
  store('eth_gasPrice', [], '0x5');
  expect(responses.counts.entries).toBe(1);
});

it('a result requested before the head changed is not cached', async () => {
  const { chain, poller, store, waitForHead } = await followCache();
  const before = poller.view.head?.hash;
  await waitForHead(chain.mine());
  expect(store('eth_getBalance', latest, '0x5', before).first).toBeUndefined();
});

it('results from a node that is ahead or behind are not cached for the head', async () => {
  const { chain, store } = await followCache();
  const other = chain.copy().mine();
  expect(store('eth_blockNumber', [], chain.head.number).first).toBe(`"${chain.head.number}"`);
  expect(store('eth_getBlockByNumber', ['latest', false], chain.head).first).toBe(JSON.stringify(chain.head));
  expect(store('eth_getBlockByNumber', ['latest', false], other).first).toBeUndefined();
  expect(store('eth_blockNumber', [], other.number).first).toBeUndefined();
});

it('a receipt is cached while its block is canonical', async () => {
  const { chain, store, waitForHead } = await followCache();
  await waitForHead(chain.mine());
  const { find, first } = store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(chain.head));
  expect(first).toContain(chain.head.hash);
  await waitForHead(chain.mine());
  expect(find()).toBe(first);
  await waitForHead(chain.reorganise(2));
  expect(find()).toBeUndefined();
});

it('a receipt in a block that is not canonical is not cached', async () => {
  const { chain, store } = await followCache();
  expect(
    store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(chain.copy().mine())).first,
  ).toBeUndefined();
});

it('a block by hash is cached while it is canonical, as bytes if the response was large', async () => {
  const { chain, store, waitForHead } = await followCache();
  const { hash } = await mineAndFollow(chain, waitForHead);
  const bytes = Buffer.from(JSON.stringify(chain.head));
  const { find, first } = store('eth_getBlockByHash', [hash, false], bytes);
  expect(first).toBe(bytes.toString());
  await waitForHead(chain.reorganise(1));
  expect(find()).toBeUndefined();
});

it('by a number that is not final, only results with a block hash are cached', async () => {
  const { chain, store, waitForHead } = await followCache();
  const { number, hash } = await mineAndFollow(chain, waitForHead);
  expect(store('eth_getBalance', [account, number], '0x5').first).toBeUndefined();
  expect(store('eth_getBlockTransactionCountByNumber', [number], '0x5').first).toBeUndefined();
  const { first, find } = store('eth_getBlockByNumber', [number, false], chain.head);
  expect(first).toContain(hash);
  await waitForHead(chain.reorganise(1));
  expect(find()).toBeUndefined();
});

it('state at a final block stays cached', async () => {
  const { chain, store, waitForHead } = await followCache({ finalized: 100 });
  const { find, first } = store('eth_getStorageAt', [account, '0x0', '0x64'], `0x${'0'.repeat(64)}`);
  expect(first).toBe(`"0x${'0'.repeat(64)}"`);
  await waitForHead(chain.mine(3));
  expect(find()).toBe(first);
  expect(store('eth_call', [{ to: account }, 'earliest'], '0x').first).toBe('"0x"');
  expect(store('eth_getStorageAt', [account, '0x0', '0x65'], '0x1').first).toBeUndefined();
});

it('nulls, empty lists, and results at pending, safe and finalized are not cached', async () => {
  const { chain, store, responses } = await followCache({ finalized: 100 });
  expect(store('eth_getBlockByHash', [chain.head.hash, false], null).first).toBeUndefined();
  expect(store('eth_getBlockReceipts', ['0x64'], []).first).toBeUndefined();
  for (const tag of ['pending', 'safe', 'finalized']) {
    expect(store('eth_getBalance', [account, tag], '0x5').first).toBeUndefined();
  }
  const pending = { hash: `0x${'ab'.repeat(32)}`, blockHash: null, blockNumber: null };
  expect(store('eth_getTransactionByHash', [pending.hash], pending).first).toBeUndefined();
  expect(responses.counts.entries).toBe(0);
});

it('an uncle does not identify the block that includes it', async () => {
  const { chain, store } = await followCache({ finalized: 100 });
  const uncle = { hash: `0x${'cd'.repeat(32)}`, number: '0x63' };
  const block = chain.copy().mine();
  expect(store('eth_getUncleByBlockHashAndIndex', [block.hash, '0x0'], uncle).first).toBeUndefined();
  expect(store('eth_getUncleByBlockHashAndIndex', [chain.head.hash, '0x0'], uncle).first).toBe(JSON.stringify(uncle));
});

it('a block above the head does not become final', async () => {
  const { poller } = await followCache();
  const above = { number: '0xffffffff', hash: `0x${'ab'.repeat(32)}` };
  const final = new FinalChain(
    poller,
    () => Promise.resolve(above),
    () => undefined,
  );
  await staysTrueFor(20, () => !final.includes(1n, clock.now()));
});

it('memory is bounded, and hits and misses are counted', async () => {
  const { poller, store, responses, counted, cacheOf } = await followCache({ finalized: 100, maxBytes: 20_000 });
  for (let slot = 0; slot < 200; slot++)
    store('eth_getStorageAt', [account, `0x${slot}`, '0x64'], `0x${'1'.repeat(64)}`);
  expect(responses.counts.bytes).toBeLessThanOrEqual(20_000);
  expect(responses.counts.entries).toBeGreaterThan(20);
  expect(store('eth_getCode', [account, '0x64'], `0x${'1'.repeat(20_000)}`).first).toBeUndefined();
  expect(counted).toEqual({ hit: 200, disk: 0, redis: 0, miss: 0 });
  const cache = cacheOf('eth_getBalance');
  const request = (sentTo: SentTo) => {
    sentTo.headHash = poller.view.head?.hash;
    return Promise.resolve(responseOf('0x5'));
  };
  expect(await callThroughCache(cache, latest, request)).toEqual({ kind: 'result', result: '0x5' });
  expect(await callThroughCache(cache, latest, request)).toEqual({ kind: 'cached', result: '"0x5"' });
  expect(await callThroughCache(cache, latest, request)).toEqual({ kind: 'cached', result: '"0x5"' });
  expect(counted).toEqual({ hit: 201, disk: 0, redis: 0, miss: 2 });
});

async function mineAndFollow(
  chain: ScriptedChain,
  waitForHead: (block: ScriptedBlock) => Promise<unknown>,
): Promise<ScriptedBlock> {
  const block = chain.mine();
  await waitForHead(block);
  return block;
}
