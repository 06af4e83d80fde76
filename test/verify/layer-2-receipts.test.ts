import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { OwnedSteps } from '../../gateway/event-loop/owned-steps.ts';
import { encodeReceipt } from '../../gateway/verify/proofs/encode-receipt.ts';
import { effectiveGasPriceOf, encodeTransaction } from '../../gateway/verify/proofs/encode-transaction.ts';
import { hashOf, quantityOf, toHex } from '../../gateway/verify/proofs/hex.ts';
import { EMPTY_LIST, EMPTY_ROOT, rootOf } from '../../gateway/verify/proofs/tree.ts';
import { hashedBlock } from './proofs/hashed-block.ts';
import { recordedChain, simulatedNodes, type Json, type Lie, type SimulatedNodes } from './simulated-nodes.ts';

const recorded = JSON.parse(
  readFileSync(join(packageRoot, 'test/verify/proofs/recorded-layer-2.json'), 'utf8'),
) as Readonly<{
  blocks: Readonly<Record<string, { readonly block: Json; readonly receipts?: readonly Json[] }>>;
  transactions: Readonly<Record<string, Json>>;
}>;
const transactionsOf = (name: string): readonly Json[] => recorded.blocks[name]?.block['transactions'] as Json[];
const [deposit] = transactionsOf('Unichain Sepolia, Isthmus') as readonly [Json];
const celo = recorded.transactions['Celo mainnet, CIP-64'] as Json;

const GAS = 21_000;
/** Base fee of the recorded block of Arbitrum One. */
const BASE_FEE = '0x989680';
const address = `0x${'ab'.repeat(20)}`;
const id = `0x${'cd'.repeat(32)}`;
const logsBloom = `0x${'ff'.repeat(256)}`;

const unsigned = { chainId: '0xa4b1', v: '0x0', r: '0x0', s: '0x0' };
/** A transaction of each type of Nitro: 0x6a, 0x2 (three), 0x64 to 0x69. Those that are not recorded have Nitro's constants. */
const ofArbitrum: readonly Json[] = [
  ...transactionsOf('Arbitrum One, Nitro'),
  {
    ...{ ...unsigned, type: '0x64', requestId: id, from: address, to: address, value: '0x7' },
    ...{ input: '0x', gas: '0x0', gasPrice: '0x0', nonce: '0x0' },
  },
  { ...recorded.transactions['Arbitrum Sepolia, unsigned'], ...unsigned },
  {
    ...{ ...unsigned, type: '0x66', requestId: id, from: address, to: address, value: '0x7', input: '0x12' },
    ...{ gas: '0x5208', gasPrice: '0xa0eebb00', maxFeePerGas: '0xa0eebb00', nonce: '0x0' },
  },
  { ...recorded.transactions['Arbitrum Sepolia, retry'], ...unsigned },
  {
    ...{ ...recorded.transactions['Arbitrum Sepolia, submitted retryable'], ...unsigned },
    ...{ to: '0x000000000000000000000000000000000000006e', nonce: '0x0', value: '0x0' },
  },
];
const SIGNED = 1;
const DEPOSIT = 4;
const UNSIGNED = 5;
const CONTRACT = 6;
const SUBMITTED = 8;

interface Built {
  readonly block: Json;
  readonly receipts: readonly Json[];
}

/** A block with its true hash and roots. @param own what the receipts of the transactions have, by place */
async function built(transactions: readonly Json[], own: readonly Json[], header: object = {}): Promise<Built> {
  const steps = new OwnedSteps('layer-2');
  const hashes = transactions.map((transaction) => hashOf(encodeTransaction(transaction)));
  const base = own.map((members, at) => ({
    ...{ status: '0x1', cumulativeGasUsed: quantityOf(GAS * (at + 1)), gasUsed: quantityOf(GAS), logsBloom },
    ...{ type: transactions[at]?.['type'], contractAddress: null, ...members },
    logs: [{ address, topics: [id], data: quantityOf(at + 16), logIndex: quantityOf(at) }],
  }));
  const block = hashedBlock(1_001, id, 0, {
    ...{ sha3Uncles: EMPTY_LIST, withdrawalsRoot: EMPTY_ROOT, baseFeePerGas: BASE_FEE, difficulty: '0x1', logsBloom },
    transactionsRoot: await rootOf(transactions.map(encodeTransaction), steps),
    receiptsRoot: await rootOf(base.map(encodeReceipt), steps),
    ...header,
  } as Readonly<Record<string, Hex>>);
  const placeOf = (at: number): Json => ({
    ...{ blockHash: block.hash, blockNumber: block.number, transactionIndex: quantityOf(at) },
  });
  return {
    block: { ...block, transactions: transactions.map((one, at) => ({ ...one, hash: hashes[at], ...placeOf(at) })) },
    receipts: base.map((receipt, at) => {
      const place = { ...placeOf(at), transactionHash: hashes[at] };
      const [{ from, to }, logs] = [transactions[at] as Json, receipt.logs.map((log) => ({ ...log, ...place }))];
      return { ...receipt, from, to, ...place, logs };
    }),
  };
}

/** The header of Nitro has the version of ArbOS in bytes 16 to 23 of `mixHash`, and in byte 25 whether tips are collected. */
const nitro = (version: string, tips: string): object => ({
  ...{ extraData: id, mixHash: `0x${'00'.repeat(23)}${version}00${tips}${'00'.repeat(6)}` },
});
const withoutTips = nitro('28', '00');
const collecting = [nitro('3c', '01'), nitro('09', '00')] as const;
const price = (transaction: Json): string => {
  const { type, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  if (type === '0x64' || type === '0x6a') return '0x0';
  if (type !== '0x2') return BASE_FEE;
  const [paid, most] = [BigInt(BASE_FEE) + BigInt(maxPriorityFeePerGas as string), BigInt(maxFeePerGas as string)];
  return quantityOf(paid < most ? paid : most);
};
const baseFees = ofArbitrum.map(() => ({ effectiveGasPrice: BASE_FEE }));
const prices = ofArbitrum.map((one) => ({ effectiveGasPrice: price(one) }));

const ofCelo = [deposit, celo];
const celoReceipts = (own: Json): readonly Json[] => [
  { effectiveGasPrice: '0x0', depositNonce: deposit['nonce'], depositReceiptVersion: '0x1' },
  { effectiveGasPrice: celo['gasPrice'], ...own },
];
/** Celo's receipts of type 0x7b have the base fee in the currency of the fees, which is hashed. */
const celoBaseFee = quantityOf(BigInt(celo['gasPrice'] as string) - BigInt(celo['maxPriorityFeePerGas'] as string));

/** A block since Jovian: `blobGasUsed` of a receipt is the footprint of data of its transaction, which is not hashed. */
function jovian(): Promise<Built> {
  const { block, receipts = [] } = recorded.blocks['Unichain Sepolia, Isthmus'] as Partial<Built> & { block: Json };
  const withFootprint = receipts.map((receipt) =>
    receipt['type'] === '0x7e' ? receipt : { ...receipt, blobGasUsed: '0x9c40', daFootprintGasScalar: '0x190' },
  );
  return Promise.resolve({ block, receipts: withFootprint });
}

const kinds: readonly (readonly [string, () => Promise<Built>])[] = [
  ['Arbitrum', () => built(ofArbitrum, baseFees, withoutTips)],
  ['Arbitrum that collects tips', () => built(ofArbitrum, prices, collecting[0])],
  ['Arbitrum with ArbOS 9', () => built(ofArbitrum, prices, collecting[1])],
  ['Celo', () => built(ofCelo, celoReceipts({ baseFee: celoBaseFee }))],
  ['the OP Stack since Jovian', jovian],
];

async function nodesOf({ block, receipts }: Built, verify: string, count = 2): Promise<SimulatedNodes> {
  const nodes = await simulatedNodes(count, { verify, cache: 'off' }, recordedChain(block, receipts));
  await nodes.send('eth_blockNumber');
  return nodes;
}

describe.each(kinds)('a block of %s', (_, kind) => {
  it('is proven with its receipts and logs', async () => {
    const nodes = await nodesOf(await kind(), 'require');
    const { blockHash, hashes } = nodes;
    const calls: [method: string, params: unknown][] = [
      ...[...hashes].map((hash): [string, string] => ['eth_getTransactionReceipt', hash]),
      ...[...hashes].map((hash): [string, string] => ['eth_getTransactionByHash', hash]),
      ['eth_getBlockReceipts', blockHash],
      ['eth_getLogs', { blockHash }],
    ];
    for (const [method, param] of calls) {
      const { result, error } = await nodes.send(method, param);
      expect([method, error]).toEqual([method, undefined]);
      expect(result).toMatchObject(nodes.truth(method, param) as object);
    }
    expect(await nodes.proven('eth_getTransactionReceipt', 'root')).toBe(hashes.length);
    expect((await nodes.disproved(0)) + (await nodes.disproved(1))).toBe(0);
  });
});

/** A lie in which each object has other members. */
const all =
  (members: (object: Json, at: number) => object): Lie =>
  (result: Json | readonly Json[]) =>
    Array.isArray(result)
      ? (result as readonly Json[]).map((one, at) => ({ ...one, ...members(one, at) }))
      : { ...(result as Json), ...members(result as Json, Number((result as Json)['transactionIndex'])) };

describe('the price in receipts of Arbitrum', () => {
  const plain = (): Promise<Built> => built(ofArbitrum, baseFees, withoutTips);
  const spellings: readonly (readonly [string, () => Promise<Built>, readonly Json[]])[] = [
    ['no tips', plain, prices],
    ['tips', () => built(ofArbitrum, prices, collecting[0]), baseFees],
  ];

  it.each(spellings)('of a block with %s, as other software may return it, is neither', async (_, kind, other) => {
    const nodes = await nodesOf(await kind(), 'enforce');
    const lie = all((_receipt, at) => other[at] as Json);
    nodes.lie(0, 'eth_getTransactionReceipt', lie);
    nodes.lie(0, 'eth_getBlockReceipts', lie);
    await nodes.send('eth_getTransactionReceipt', nodes.hashes[SIGNED]);
    await nodes.send('eth_getBlockReceipts', nodes.blockHash);
    expect(await nodes.proven('eth_getTransactionReceipt', 'no')).toBe(1);
    expect(await nodes.proven('eth_getBlockReceipts', 'no')).toBe(1);
    expect((await nodes.disproved(0)) + (await nodes.disproved(1))).toBe(0);
  });

  it.each(spellings)('of a block with %s is not disproved by other evidence', async (_, kind, other) => {
    const nodes = await nodesOf(await kind(), 'enforce', 3);
    nodes.lie(
      1,
      'eth_getBlockReceipts',
      all((_receipt, at) => other[at] as Json),
    );
    await nodes.send('eth_getTransactionReceipt', nodes.hashes[SIGNED]);
    expect(await nodes.proven('eth_getTransactionReceipt', 'root')).toBe(1);
    expect((await nodes.disproved(0)) + (await nodes.disproved(1))).toBe(0);
  });

  it('is disproved if no software returns it', async () => {
    const nodes = await nodesOf(await plain(), 'enforce');
    nodes.lie(
      0,
      'eth_getTransactionReceipt',
      all(() => ({ effectiveGasPrice: '0x7' })),
    );
    const { result } = await nodes.send('eth_getTransactionReceipt', nodes.hashes[SIGNED]);
    expect(result).toMatchObject({ effectiveGasPrice: BASE_FEE });
    expect(await nodes.disproved(0)).toBe(1);
  });
});

describe('receipts of Celo', () => {
  it.each([
    ['with', { baseFee: '0x43d573' }, ['f9016a', '8343d573']],
    ['without', {}, ['f90166', '']],
  ])('%s a base fee have the bytes of the vectors of celo-alloy', (_, own, [start, end]) => {
    const topics = ['dead', 'beef'].map((digits) => `0x${digits.padStart(64, '0')}`) as [string, string];
    const log = { address: `0x${'11'.padStart(40, '0')}`, topics, data: '0x0100ff' };
    const receipt = { type: '0x7b', status: '0x0', cumulativeGasUsed: '0x1', logsBloom: `0x${'00'.repeat(256)}` };
    const [one, other] = topics.map((topic) => `a0${topic.slice(2)}`) as [string, string];
    const logs = `f85ff85d94${log.address.slice(2)}f842${one}${other}830100ff`;
    const expected = `0x7b${start}8001b90100${'00'.repeat(256)}${logs}${end}`;
    expect(toHex(encodeReceipt({ ...receipt, logs: [log], ...own }))).toBe(expected);
  });

  it('have the price that follows from the base fee of a recorded one', () => {
    const transaction = recorded.transactions['Celo development chain, CIP-64'] as Json;
    expect(effectiveGasPriceOf(transaction, '0x74d33a00')).toBe(0xec08ce00n);
  });

  it('are not proven without the base fee in the currency of the fees', async () => {
    const nodes = await nodesOf(await built(ofCelo, celoReceipts({})), 'enforce');
    await nodes.send('eth_getTransactionReceipt', nodes.hashes[1]);
    expect(await nodes.proven('eth_getTransactionReceipt', 'no')).toBe(1);
  });

  it.each([[{ baseFee: '0x7' }], [{ effectiveGasPrice: '0x7' }]])('with %o are disproved', async (members) => {
    const nodes = await nodesOf(await built(ofCelo, celoReceipts({ baseFee: celoBaseFee })), 'enforce');
    nodes.lie(
      0,
      'eth_getTransactionReceipt',
      all(() => members),
    );
    const { result } = await nodes.send('eth_getTransactionReceipt', nodes.hashes[1]);
    expect(result).toMatchObject(nodes.truth('eth_getTransactionReceipt', nodes.hashes[1]) as object);
    expect(await nodes.disproved(0)).toBe(1);
  });
});

it('the footprint of data in a receipt since Jovian is not compared', async () => {
  const nodes = await nodesOf(await jovian(), 'enforce');
  nodes.lie(
    0,
    'eth_getTransactionReceipt',
    all(() => ({ blobGasUsed: '0x7' })),
  );
  await nodes.send('eth_getTransactionReceipt', nodes.hashes[1]);
  expect(await nodes.proven('eth_getTransactionReceipt', 'root')).toBe(1);
  expect(await nodes.disproved(0)).toBe(0);
});

describe.each<[string, number, Json]>([
  ['0x6a', 0, { value: '0xde0b6b3a7640000' }],
  ['0x6a', 0, { gas: '0x7' }],
  ['0x6a', 0, { gasPrice: '0x7' }],
  ['0x6a', 0, { nonce: '0x7' }],
  ['0x64', DEPOSIT, { input: '0xa9059cbb' }],
  ['0x64', DEPOSIT, { gas: '0x7' }],
  ['0x64', DEPOSIT, { gasPrice: '0x7' }],
  ['0x64', DEPOSIT, { nonce: '0x7' }],
  ['0x65', UNSIGNED, { r: '0x7' }],
  ['0x65', UNSIGNED, { s: '0x7' }],
  ['0x65', UNSIGNED, { v: '0x1' }],
  ['0x65', UNSIGNED, { v: null, yParity: '0x1' }],
  ['0x66', CONTRACT, { nonce: '0x7' }],
  ['0x69', SUBMITTED, { value: '0x7' }],
  ['0x69', SUBMITTED, { nonce: '0x7' }],
])('a transaction of type %s of Arbitrum', (_, place, members) => {
  it.each(['eth_getTransactionByHash', 'eth_getBlockByHash'])(
    `is disproved with ${JSON.stringify(members)} in %s`,
    async (method) => {
      const nodes = await nodesOf(await built(ofArbitrum, baseFees, withoutTips), 'enforce');
      const ofOne = all((_transaction, at) => (at === place ? members : {})) as (result: unknown) => unknown;
      const ofBlock: Lie = (block: Json) => ({ ...block, transactions: ofOne(block['transactions']) });
      const isBlock = method === 'eth_getBlockByHash';
      const params = isBlock ? [nodes.blockHash, true] : [nodes.hashes[place]];
      nodes.lie(0, method, isBlock ? ofBlock : (ofOne as Lie));
      const { result } = await nodes.send(method, ...params);
      expect(result).toMatchObject(nodes.truth(method, ...params) as object);
      expect(await nodes.disproved(0)).toBe(1);
    },
  );
});
