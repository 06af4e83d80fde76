import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rpcError } from '../support/fake-node.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { receiptsOf } from './block-receipts.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { hashOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

let chain: ScriptedChain;
let node: ChainNode;
let gateway: TestGateway;
let subscriber: Subscriber;

const receipts = (hash: string): { readonly transactionHash: string }[] => receiptsOf(chain, hash);

beforeEach(async () => {
  chain = new ScriptedChain();
  node = await startChainNode(7, chain);
  node.response('eth_getBlockReceipts', ([hash]) => receipts(String(hash)));
  gateway = await startGateway({ seven: chainNetwork(7, [node]) });
  subscriber = await openSubscriber(gateway, 'seven');
});
afterEach(async () => {
  subscriber.caller.socket.terminate();
  await gateway.stop();
  await node.stop();
});

describe('transactionReceipts', () => {
  it('delivers one list for each block, in order, fetched once for all subscribers', async () => {
    const [first, second] = [
      await subscriber.subscribe('transactionReceipts'),
      await subscriber.subscribe('transactionReceipts', { transactionHashes: [] }),
    ];
    const hashes = [chain.mine(), chain.mine(), chain.mine()].map(({ header }) => header.hash);
    await eventually(() => first.length >= 3 && second.length >= 3);
    expect(first).toEqual(hashes.map(receipts));
    expect(second).toEqual(first);
    expect(node.callsOf('eth_getBlockReceipts').map(({ params }) => params[0])).toEqual(hashes);
  });

  it('delivers the receipts of the new branch after a reorg', async () => {
    const lists = await subscriber.subscribe('transactionReceipts');
    const replaced = chain.mine().header.hash;
    await eventually(() => lists.length === 1);
    const before = receipts(replaced);
    chain.removeBlocks(1);
    const hashes = [chain.mine(), chain.mine()].map(({ header }) => header.hash);
    await eventually(() => lists.length >= 3);
    expect(lists).toEqual([before, ...hashes.map(receipts)]);
  });

  it('requests again what an upstream does not have yet', async () => {
    const lists = await subscriber.subscribe('transactionReceipts');
    let calls = 0;
    node.response('eth_getBlockReceipts', ([hash]) =>
      ++calls < 3 ? rpcError(-32_000, 'block not found') : receipts(String(hash)),
    );
    const { hash } = chain.mine().header;
    await eventually(() => lists.length > 0);
    expect(lists).toEqual([receipts(hash)]);
  });

  it.each<[string, string, boolean]>([
    ['is requested again if its block has transactions', hashOf('transactions'), true],
    ['is accepted if the root of its block says nothing', `0x${'00'.repeat(32)}`, false],
  ])('an empty list %s', async (_, transactionsRoot, isRequestedAgain) => {
    chain.fields = { transactionsRoot };
    const lists = await subscriber.subscribe('transactionReceipts');
    node.response('eth_getBlockReceipts', ([hash]) =>
      node.callsOf('eth_getBlockReceipts').length < 3 ? [] : receipts(String(hash)),
    );
    const blocks = [chain.mine(), chain.mine(), chain.mine()].map(({ header }) => header.hash);
    await eventually(() => lists.length > 0);
    expect(lists[0]).toEqual(receipts(blocks[isRequestedAgain ? 0 : 2] as string));
  });

  it('delivers only the receipts of the named transactions, in any letter case', async () => {
    const next = hashOf('block 4');
    const wanted = hashOf(`b of ${next}`);
    const some = await subscriber.subscribe('transactionReceipts', {
      transactionHashes: [wanted.toUpperCase().replace('0X', '0x'), hashOf('none')],
    });
    const all = await subscriber.subscribe('transactionReceipts');
    expect(chain.mine().header.hash).toBe(next);
    chain.mine();
    await eventually(() => all.length === 2);
    expect(some).toEqual([[receipts(next)[1]]]);
  });

  it.each([
    [true],
    [{ transactionHashes: ['0x12'] }],
    [{ transactionHashes: [{ toString: 1 }] }],
    [{ transactionHashes: Array(201).fill(hashOf('x')) }],
  ])('the filter %j is rejected', async (filter) => {
    const { error } = await subscriber.call('eth_subscribe', ['transactionReceipts', filter]);
    expect(error).toEqual({
      code: -32602,
      message: 'invalid params: filter: expected transactionHashes with at most 200 hashes',
    });
  });
});
