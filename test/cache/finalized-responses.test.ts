import { expect, it } from 'vitest';
import { shiftClock } from '../routing/with-nodes.ts';
import { account, followCache, latest, receiptIn } from './follow-cache.ts';

const transaction = `0x${'ab'.repeat(32)}`;

it.each([
  ['eth_getTransactionReceipt', [transaction]],
  ['eth_getTransactionByHash', [transaction]],
])('%s stays cached once its block is final, even after the block has left the header ring', async (method, params) => {
  const { chain, store, waitForHead, finalise } = await followCache();
  const { find, first } = store(method, params, receiptIn(chain.head));
  expect(first).toContain(chain.head.hash);
  const block = chain.head;
  await waitForHead(chain.mine(3));
  expect(await finalise(block)).toBe(true);
  expect(find()).toBe(first);
  // The header ring does not have the block any more.
  await waitForHead(chain.mine(2_000));
  expect(find()).toBe(first);
});

it('a result from an orphaned block does not become final with the block that replaced it', async () => {
  const { chain, store, waitForHead, finalise } = await followCache();
  await waitForHead(chain.mine());
  const orphan = chain.head;
  const { find, first } = store('eth_getTransactionReceipt', [transaction], receiptIn(orphan));
  expect(first).toContain(orphan.hash);
  await waitForHead(chain.reorganise(1, 3));
  expect(await finalise(chain.byNumber(orphan.number))).toBe(true);
  expect(find()).toBeUndefined();
  // Nor does a later response from a node on the old branch.
  expect(store('eth_getTransactionReceipt', [transaction], receiptIn(orphan)).first).toBeUndefined();
  expect(store('eth_getBlockByNumber', [orphan.number, false], orphan).first).toBeUndefined();
  expect(store('eth_getBlockByHash', [orphan.hash, false], orphan).first).toBeUndefined();
  const canonical = chain.byNumber(orphan.number);
  expect(store('eth_getBlockByNumber', [orphan.number, false], canonical).first).toBe(JSON.stringify(canonical));
});

it('a block that differs from the canonical chain does not become final', async () => {
  const { chain, waitForHead, finalise } = await followCache();
  const other = chain.copy();
  await waitForHead(chain.mine(2));
  other.mine(2);
  expect(await finalise(other.head)).toBe(false);
  expect(await finalise(chain.head)).toBe(true);
});

it('an uncle stays cached once all blocks that can include it are final', async () => {
  const { chain, store, waitForHead, finalise } = await followCache();
  const uncle = { hash: `0x${'cd'.repeat(32)}`, number: chain.head.number };
  await waitForHead(chain.mine());
  const params = [chain.head.hash, '0x0'];
  const { find, first } = store('eth_getUncleByBlockHashAndIndex', params, uncle);
  expect(first).toBe(JSON.stringify(uncle));
  await waitForHead(chain.mine(5));
  expect(await finalise(chain.head)).toBe(true);
  expect(find()).toBe(first);
  await waitForHead(chain.mine(2_000));
  expect(find()).toBe(first);
});

it.each([
  ['eth_getBalance', [account, '0x64'], '0x0'],
  ['eth_getCode', [account, '0x64'], '0x'],
  ['eth_getStorageAt', [account, '0x0', '0x64'], `0x${'0'.repeat(64)}`],
  ['eth_getTransactionCount', [account, '0x64'], '0x0'],
  ['eth_call', [{ to: account }, '0x64'], '0x'],
  ['eth_call', [{ to: account }, { blockNumber: '0x64' }], '0x'],
])('%s %j at a final block stays cached, also for zero and empty results', async (method, params, result) => {
  const { chain, store, waitForHead } = await followCache({ finalized: 100 });
  const { find, first } = store(method, params, result);
  expect(first).toBe(JSON.stringify(result));
  await waitForHead(chain.mine(2_000));
  expect(find()).toBe(first);
  const notFinal = JSON.parse(JSON.stringify(params).replace('0x64', '0x65')) as unknown[];
  expect(store(method, notFinal, result).first).toBeUndefined();
});

it.each([
  ['eth_call', [{ to: account }, 'latest']],
  ['eth_call', [{ to: account }]],
  ['eth_getCode', [account, 'latest']],
  ['eth_gasPrice', []],
  ['eth_maxPriorityFeePerGas', []],
  ['eth_blobBaseFee', []],
  ['eth_feeHistory', ['0x4', 'latest', []]],
])('%s %j is cached until the head changes', async (method, params) => {
  const { chain, store, waitForHead } = await followCache({ finalized: 100 });
  const { find, first } = store(method, params, '0x5');
  expect(first).toBe('"0x5"');
  await waitForHead(chain.mine());
  expect(find()).toBeUndefined();
});

it('cached state is not served after a response from a newer block, even before the next head poll', async () => {
  const { chain, store } = await followCache();
  const { find, first } = store('eth_getBalance', latest, '0x5');
  expect(first).toBe('"0x5"');
  // A receipt in the next block, before the gateway has its head.
  const next = chain.copy().mine();
  expect(store('eth_getTransactionReceipt', [transaction], receiptIn(next)).first).toBeUndefined();
  expect(find()).toBeUndefined();
  expect(store('eth_getBalance', latest, '0x5').first).toBeUndefined();
});

it('entries for blocks that are not final expire when the chain was not polled for 30 s', async () => {
  const { chain, poller, store } = await followCache();
  const { find, first } = store('eth_getTransactionReceipt', [transaction], receiptIn(chain.head));
  expect(first).toContain(chain.head.hash);
  const clock = shiftClock({ isRunning: true });
  poller.close();
  clock.forward(31_000);
  expect(find()).toBeUndefined();
});
