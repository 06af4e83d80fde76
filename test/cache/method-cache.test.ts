import { expect, it, vi } from 'vitest';
import { FinalizedBlock } from '../../gateway/cache/finalized-block.ts';
import type { ScriptedBlock, ScriptedChain } from '../heads/scripted-chain.ts';
import { account, askCache, followCache, latest, receiptIn, replyOf } from './follow-cache.ts';

it('what is true at the head is kept until it moves', async () => {
  const { chain, keep, moved } = await followCache();
  const { find, first } = keep('eth_getBalance', latest, '0x5');
  expect(first).toBe('"0x5"');
  await moved(chain.mine());
  expect(find()).toBeUndefined();
});

it('what is true at the head is kept for a second, since it may have moved', async () => {
  const { keep } = await followCache();
  const { find } = keep('eth_gasPrice', [], '0x5');
  await vi.waitFor(() => {
    expect(find()).toBeUndefined();
  }, 2_000);
});

it('what was asked before the head moved is not kept', async () => {
  const { chain, heads, keep, moved } = await followCache();
  const before = heads.head?.hash;
  await moved(chain.mine());
  expect(keep('eth_getBalance', latest, '0x5', before).first).toBeUndefined();
});

it('a node that is ahead or behind is not believed about the head', async () => {
  const { chain, keep } = await followCache();
  const other = chain.copy().mine();
  expect(keep('eth_blockNumber', [], chain.head.number).first).toBe(`"${chain.head.number}"`);
  expect(keep('eth_getBlockByNumber', ['latest', false], chain.head).first).toBe(JSON.stringify(chain.head));
  expect(keep('eth_getBlockByNumber', ['latest', false], other).first).toBeUndefined();
  expect(keep('eth_blockNumber', [], other.number).first).toBeUndefined();
});

it('a receipt is kept while its block is of the chain', async () => {
  const { chain, keep, moved } = await followCache();
  await moved(chain.mine());
  const { find, first } = keep('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(chain.head));
  expect(first).toContain(chain.head.hash);
  await moved(chain.mine());
  expect(find()).toBe(first);
  await moved(chain.reorganise(2));
  expect(find()).toBeUndefined();
});

it('a receipt in a block that is not of the chain is not kept', async () => {
  const { chain, keep } = await followCache();
  expect(
    keep('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(chain.copy().mine())).first,
  ).toBeUndefined();
});

it('a block by hash is kept while it is of the chain, as bytes where it came so', async () => {
  const { chain, keep, moved } = await followCache();
  const { hash } = await mineAndGo(chain, moved);
  const bytes = Buffer.from(JSON.stringify(chain.head));
  const { find, first } = keep('eth_getBlockByHash', [hash, false], bytes);
  expect(first).toBe(bytes.toString());
  await moved(chain.reorganise(1));
  expect(find()).toBeUndefined();
});

it('by a number that is not final, only what tells its block is kept', async () => {
  const { chain, keep, moved } = await followCache();
  const { number, hash } = await mineAndGo(chain, moved);
  expect(keep('eth_getBalance', [account, number], '0x5').first).toBeUndefined();
  expect(keep('eth_getBlockTransactionCountByNumber', [number], '0x5').first).toBeUndefined();
  const { first, find } = keep('eth_getBlockByNumber', [number, false], chain.head);
  expect(first).toContain(hash);
  await moved(chain.reorganise(1));
  expect(find()).toBeUndefined();
});

it('state at a final block is kept for good, whatever becomes of the chain', async () => {
  const { chain, keep, moved } = await followCache({ finalized: 100 });
  const { find, first } = keep('eth_getStorageAt', [account, '0x0', '0x64'], `0x${'0'.repeat(64)}`);
  expect(first).toBe(`"0x${'0'.repeat(64)}"`);
  await moved(chain.mine(3));
  expect(find()).toBe(first);
  expect(keep('eth_call', [{ to: account }, 'earliest'], '0x').first).toBe('"0x"');
  expect(keep('eth_getStorageAt', [account, '0x0', '0x65'], '0x1').first).toBeUndefined();
});

it('nulls, empty lists, errors and what is pending, safe or finalized are not kept', async () => {
  const { chain, keep, responses: answers } = await followCache({ finalized: 100 });
  expect(keep('eth_getBlockByHash', [chain.head.hash, false], null).first).toBeUndefined();
  expect(keep('eth_getBlockReceipts', ['0x64'], []).first).toBeUndefined();
  for (const tag of ['pending', 'safe', 'finalized']) {
    expect(keep('eth_getBalance', [account, tag], '0x5').first).toBeUndefined();
  }
  const pending = { hash: `0x${'ab'.repeat(32)}`, blockHash: null, blockNumber: null };
  expect(keep('eth_getTransactionByHash', [pending.hash], pending).first).toBeUndefined();
  expect(answers.counts.entries).toBe(0);
});

it('an uncle is no word on the block that it is in', async () => {
  const { chain, keep } = await followCache({ finalized: 100 });
  const uncle = { hash: `0x${'cd'.repeat(32)}`, number: '0x63' };
  const block = chain.copy().mine();
  expect(keep('eth_getUncleByBlockHashAndIndex', [block.hash, '0x0'], uncle).first).toBeUndefined();
  expect(keep('eth_getUncleByBlockHashAndIndex', [chain.head.hash, '0x0'], uncle).first).toBe(JSON.stringify(uncle));
});

it('no node can make final what is above the head', async () => {
  const { heads } = await followCache();
  const final = new FinalizedBlock(heads, () => Promise.resolve({ number: '0xffffffff' }));
  expect(final.includes(1n, performance.now())).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(final.includes(1n, performance.now())).toBe(false);
});

it('memory is bounded, and hits and misses are counted', async () => {
  const { keep, responses: answers, counted, cacheOf } = await followCache({ finalized: 100, maxBytes: 20_000 });
  for (let slot = 0; slot < 200; slot++)
    keep('eth_getStorageAt', [account, `0x${slot}`, '0x64'], `0x${'1'.repeat(64)}`);
  expect(answers.counts.bytes).toBeLessThanOrEqual(20_000);
  expect(answers.counts.entries).toBeGreaterThan(20);
  expect(keep('eth_getCode', [account, '0x64'], `0x${'1'.repeat(20_000)}`).first).toBeUndefined();
  expect(counted).toEqual({ hit: 200, redis: 0, miss: 0 });
  const cache = cacheOf('eth_getBalance');
  const ask = () => Promise.resolve(replyOf('0x5'));
  expect(await askCache(cache, latest, ask)).toEqual({ kind: 'cached', result: '"0x5"' });
  expect(await askCache(cache, latest, ask)).toEqual({ kind: 'cached', result: '"0x5"' });
  expect(counted).toEqual({ hit: 201, redis: 0, miss: 1 });
});

async function mineAndGo(
  chain: ScriptedChain,
  moved: (block: ScriptedBlock) => Promise<unknown>,
): Promise<ScriptedBlock> {
  const block = chain.mine();
  await moved(block);
  return block;
}
