import { beforeEach, describe, expect, it } from 'vitest';
import { rpcError } from '../support/fake-node.ts';
import { blockAt, untilHeadsPolled, withNodes, type WithNodes } from './with-nodes.ts';

const transaction = `0x${'ab'.repeat(32)}`;
const block = { ...blockAt('0x11'), transactions: [transaction] };
const mined = { hash: transaction, blockHash: block.hash, blockNumber: '0x11' };
const receipt = { transactionHash: transaction, blockHash: block.hash, blockNumber: '0x11', status: '0x1' };

const ofTransactions = ['eth_getTransactionByHash', 'eth_getTransactionReceipt', 'eth_getRawTransactionByHash'];
const ofBlocks = ['eth_getBlockByHash', 'eth_getHeaderByHash', 'eth_getBlockTransactionCountByHash'];

const paramsOf = (method: string, hash: string): unknown[] =>
  method === 'eth_getBlockByHash' ? [hash, false] : [hash];

/** What the nodes return for hashes that they do not find. */
const absences = [
  ['null', null],
  ['an error', rpcError(-32_000, 'unknown block')],
] as const;

describe.each([1, 2])('with %i upstreams, a hash that was served', (count) => {
  let all: WithNodes;

  /** The block and its transaction are served, by all methods that return them. */
  beforeEach(async () => {
    all = await withNodes(count, {}, { methods: ['eth', 'zks'] });
    for (const node of all.nodes) {
      const find =
        (hash: string, found: unknown) =>
        ([given]: readonly unknown[]): unknown =>
          given === hash ? found : null;
      node.response('eth_getBlockByNumber', block);
      node.response('eth_getBlockByHash', find(block.hash, block));
      node.response('eth_getTransactionByHash', find(transaction, mined));
      node.response('eth_getTransactionReceipt', find(transaction, receipt));
    }
    await all.request();
    await untilHeadsPolled(all);
    await all.send('eth_getBlockByNumber', ['latest', false]);
    await all.send('eth_getBlockByHash', [block.hash, false]);
    await all.send('eth_getTransactionByHash', [transaction]);
    await all.send('eth_getTransactionReceipt', [transaction]);
  });

  describe.each(absences)('and that the upstreams answer with %s', (_, absent) => {
    it.each([
      ...ofTransactions.map((method) => [method, 'a block', block.hash] as const),
      ...ofBlocks.map((method) => [method, 'a transaction', transaction] as const),
    ])('is null for %s, if it is the hash of %s', async (method, kind, hash) => {
      for (const node of all.nodes) node.response(method, absent);
      const { status, response } = await all.send(method, paramsOf(method, hash));
      expect([kind, status, response]).toEqual([kind, 200, { jsonrpc: '2.0', id: 1, result: null }]);
    });

    it.each([
      ...ofTransactions.map((method) => [method, 'a transaction', transaction] as const),
      ['eth_getBlockByHash', 'a block', block.hash] as const,
    ])('is 503 for %s, if it is the hash of %s', async (method, kind, hash) => {
      for (const node of all.nodes) node.response(method, absent);
      expect([kind, (await all.send(method, paramsOf(method, hash))).status]).toEqual([kind, 503]);
    });
  });
});
