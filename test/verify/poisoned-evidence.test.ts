import { describe, expect, it } from 'vitest';
import { richChain } from './rich-chain.ts';
import { simulatedNodes, type Json, type Lie } from './simulated-nodes.ts';

const other = `0x${'99'.repeat(20)}`;
const inAll =
  (more: Json): Lie =>
  (block: { readonly transactions: readonly (Json | string)[] }) => ({
    ...block,
    transactions: block.transactions.map((one) => (typeof one === 'string' ? one : { ...one, ...more })),
  });
const inEach =
  (more: Json): Lie =>
  (receipts: readonly Json[]) =>
    receipts.map((receipt) => ({ ...receipt, ...more }));
const inHeader =
  (name: string): Lie =>
  (block: Json) => ({ ...block, [name]: `0x${String(block[name]).slice(2).toUpperCase()}` });

/** Lies that the roots of a block do not show, in evidence that all checks share. */
const lies: readonly (readonly [what: string, method: string, Lie])[] = [
  ['senders of transactions', 'eth_getBlockByHash', inAll({ from: other })],
  [
    'members that the type of a transaction does not have',
    'eth_getBlockByHash',
    inAll({ blobVersionedHashes: [other] }),
  ],
  ['prices of transactions', 'eth_getBlockByHash', inAll({ gasPrice: '0x7777' })],
  ['another spelling of their block', 'eth_getBlockByHash', inAll({ blockNumber: '1001' })],
  ['another spelling of a root', 'eth_getBlockByHash', inHeader('receiptsRoot')],
  ['another spelling of the list of uncles', 'eth_getBlockByHash', inHeader('sha3Uncles')],
  ['senders of receipts', 'eth_getBlockReceipts', inEach({ from: other })],
  ['a state root beside the status', 'eth_getBlockReceipts', inEach({ root: `0x${'99'.repeat(32)}` })],
  ['another spelling of gas', 'eth_getBlockReceipts', inEach({ gasUsed: '21000' })],
  ['another spelling of prices', 'eth_getBlockReceipts', inEach({ effectiveGasPrice: {} })],
  ['another spelling of types', 'eth_getBlockReceipts', inEach({ type: ' 0x2' })],
];

describe.each(lies)('an upstream with right roots, but %s', (_, method, lie) => {
  it.each([0, 1])('changes no result, and no other one is disproved (transaction %i)', async (index) => {
    const nodes = await simulatedNodes(4, { verify: 'require', cache: 'off' });
    const hash = nodes.hashes[index];
    const calls = [
      ['eth_getTransactionReceipt', hash],
      ['eth_getTransactionByHash', hash],
      ['eth_getBlockReceipts', nodes.blockHash],
      ['eth_getUncleCountByBlockHash', nodes.blockHash],
    ] as const;
    await nodes.send('eth_blockNumber');
    // Results are of node 0. Receipts that prove them are requested from node 1, and a block that proves those from node 0.
    const liar = method === 'eth_getBlockByHash' ? 0 : 1;
    nodes.lie(liar, method, lie);
    for (const [called, ...params] of calls) {
      const { error, result } = await nodes.send(called, ...params);
      expect([called, error]).toEqual([called, undefined]);
      const truth = nodes.truth(called, ...params);
      if (typeof truth === 'string') expect(result).toBe(truth);
      else expect(result).toMatchObject(truth as object);
    }
    for (const honest of [0, 1, 2, 3]) expect(await nodes.disproved(honest)).toBe(0);
  });
});

it.each([0, 1])('a malformed uncle at %i beside the right one is no evidence: another upstream has it', async (at) => {
  const chain = await richChain();
  const nodes = await simulatedNodes(2, { verify: 'require', cache: 'off' }, chain);
  await nodes.send('eth_blockNumber');
  const { hash } = nodes.truth('eth_getBlockByNumber', chain.withUncle, false) as { readonly hash: string };
  const uncle = nodes.truth('eth_getUncleByBlockHashAndIndex', hash, '0x0');
  nodes.lie(1, 'eth_getUncleByBlockHashAndIndex', (_, [, index]) =>
    Number(index) === at ? { number: '0x3e9' } : uncle,
  );
  // Only the result of node 0 can be proven.
  nodes.lie(1, 'eth_getUncleCountByBlockHash', () => '0x7');
  expect(await nodes.send('eth_getUncleCountByBlockHash', hash)).toMatchObject({ result: '0x1' });
  expect(nodes.proofOf()).toBe('root');
});
