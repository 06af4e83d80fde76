import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { isSigned } from '../../gateway/verify/check-transactions.ts';
import { encodeTransaction } from '../../gateway/verify/proofs/encode-transaction.ts';
import { hashOf } from '../../gateway/verify/proofs/hex.ts';
import { recordedChain, simulatedNodes, type Json, type Lie, type SimulatedNodes } from './simulated-nodes.ts';

interface Recorded {
  readonly block: Json;
  readonly receipts?: readonly Json[];
}

const { blocks, transactions } = JSON.parse(
  readFileSync(join(packageRoot, 'test/verify/proofs/recorded-layer-2.json'), 'utf8'),
) as { readonly blocks: Readonly<Record<string, Recorded>>; readonly transactions: Readonly<Record<string, Json>> };
const recorded = Object.entries(blocks);
const isthmus = blocks['Unichain Sepolia, Isthmus'] as Recorded;
const regolith = blocks['OP Goerli, Regolith'] as Recorded;
const nitro = blocks['Arbitrum One, Nitro'] as Recorded;
const other = `0x${'77'.repeat(32)}`;

function nodesOf({ block, receipts }: Recorded, verify: string): Promise<SimulatedNodes> {
  return simulatedNodes(2, { verify, cache: 'off' }, recordedChain(block, receipts));
}

describe.each(recorded)('a block of %s', (_, one) => {
  it('is proven with all that it has', async () => {
    const nodes = await nodesOf(one, 'require');
    const { blockHash, hashes } = nodes;
    const calls: [method: string, ...params: unknown[]][] = [
      ['eth_getBlockByHash', blockHash, true],
      ['eth_getBlockByHash', blockHash, false],
      ['eth_getBlockByNumber', 'latest', true],
      ['eth_getBlockTransactionCountByHash', blockHash],
      ...hashes.map((hash): [string, string] => ['eth_getTransactionByHash', hash]),
    ];
    if (one.receipts !== undefined) {
      calls.push(['eth_getBlockReceipts', blockHash], ['eth_getLogs', { blockHash }]);
      for (const hash of hashes) calls.push(['eth_getTransactionReceipt', hash]);
    }
    await nodes.send('eth_blockNumber');
    for (const [method, ...params] of calls) {
      const { result, error } = await nodes.send(method, ...params);
      expect([method, error]).toEqual([method, undefined]);
      expect(result).toMatchObject(nodes.truth(method, ...params) as object);
    }
    for (const method of new Set(calls.map(([name]) => name))) expect(await nodes.proven(method, 'no')).toBe(0);
    expect((await nodes.disproved(0)) + (await nodes.disproved(1))).toBe(0);
  });
});

/** A lie in which the first transaction, receipt or log of a result, or the result itself, has other members. */
function altered(members: object): Lie {
  return (result: Json | readonly Json[]) => {
    if (Array.isArray(result)) return [{ ...(result[0] as Json), ...members }, ...(result.slice(1) as Json[])];
    const [first, ...more] = ((result as Json)['transactions'] ?? []) as readonly Json[];
    return first === undefined
      ? { ...result, ...members }
      : { ...result, transactions: [{ ...first, ...members }, ...more] };
  };
}

const withdrawals = [{ index: '0x1', validatorIndex: '0x1', address: `0x${'77'.repeat(20)}`, amount: '0x1' }];

describe.each<[string, Recorded, string, Lie]>([
  ['the value that a deposit mints', isthmus, 'eth_getTransactionByHash', altered({ mint: '0x7' })],
  ['the source of a deposit', isthmus, 'eth_getTransactionByHash', altered({ sourceHash: other })],
  ['the sender of a deposit', isthmus, 'eth_getTransactionByHash', altered({ from: `0x${'77'.repeat(20)}` })],
  ['a system transaction', isthmus, 'eth_getTransactionByHash', altered({ isSystemTx: true })],
  ['the value that a deposit in a block mints', isthmus, 'eth_getBlockByHash', altered({ mint: '0x7' })],
  ['the nonce of a deposit', isthmus, 'eth_getTransactionReceipt', altered({ depositNonce: '0x7' })],
  ['the nonce of a deposit among receipts', isthmus, 'eth_getBlockReceipts', altered({ depositNonce: '0x7' })],
  [
    'the version of a receipt before Canyon',
    regolith,
    'eth_getBlockReceipts',
    altered({ depositReceiptVersion: '0x1' }),
  ],
  ['the price of a deposit', regolith, 'eth_getTransactionReceipt', altered({ effectiveGasPrice: '0x7' })],
  [
    'withdrawals in a block of the OP Stack',
    isthmus,
    'eth_getBlockByHash',
    (block: Json) => ({ ...block, withdrawals }),
  ],
  ['the input of a transaction of Arbitrum', nitro, 'eth_getTransactionByHash', altered({ input: '0x77' })],
  ['the sender of a transaction of Arbitrum', nitro, 'eth_getTransactionByHash', altered({ from: other.slice(0, 42) })],
  ['the recipient of a transaction of Arbitrum', nitro, 'eth_getBlockByHash', altered({ to: other.slice(0, 42) })],
])('an upstream that lies about %s', (_, one, method, lie) => {
  it('is found', async () => {
    const nodes = await nodesOf(one, 'enforce');
    const { hashes, blockHash } = nodes;
    const params =
      method === 'eth_getBlockByHash' ? [blockHash, true] : [method === 'eth_getBlockReceipts' ? blockHash : hashes[0]];
    await nodes.send('eth_blockNumber');
    nodes.lie(0, method, lie);
    expect((await nodes.send(method, ...params)).result).toMatchObject(nodes.truth(method, ...params) as object);
    expect(await nodes.disproved(0)).toBe(1);
  });
});

it.each<[string, Recorded, string, Json, string]>([
  ['lacks the version of a receipt', isthmus, 'eth_getTransactionReceipt', { depositReceiptVersion: null }, 'no'],
  [
    'has another nonce of a deposit before Canyon',
    regolith,
    'eth_getTransactionReceipt',
    { depositNonce: '0x7' },
    'root',
  ],
])('an upstream whose result %s is not disproved', async (_, one, method, members, label) => {
  const nodes = await nodesOf(one, 'enforce');
  await nodes.send('eth_blockNumber');
  nodes.lie(0, method, altered(members));
  await nodes.send(method, nodes.hashes[0]);
  expect(await nodes.proven(method, label)).toBe(1);
  expect(await nodes.disproved(0)).toBe(0);
});

it.each(Object.entries(transactions))('the bytes of a transaction of %s have its hash', (_, transaction) => {
  expect(hashOf(encodeTransaction(transaction))).toBe(transaction['hash']);
  expect(isSigned(transaction, transaction['hash'])).toBe(true);
  expect(isSigned({ ...transaction, from: other.slice(0, 42) }, transaction['hash'])).toBe(false);
});
