import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { eventually } from '../support/eventually.ts';
import { callLocalNode } from '../../local-chain/local-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import type { Lie } from './lying-node.ts';
import { withVerification } from './with-verification.ts';

const CHAIN_ID = 1337;
const limit = { timeout: 120_000 };
let anvil: Anvil;
let other: Anvil;
/** Gateway that verifies nothing. */
let honest: TestGateway;

beforeAll(async () => {
  [anvil, other] = await Promise.all([startAnvil({ chainId: CHAIN_ID }), startAnvil({ chainId: CHAIN_ID })]);
  // Both have the same blocks so far.
  await callLocalNode(other.url, 'evm_increaseTime', ['0x1000']);
  await Promise.all([anvil, other].map(({ url }) => callLocalNode(url, 'evm_mine', [])));
  honest = await startGateway({ test: network(CHAIN_ID, [anvil.url], { methods: ['eth'], cache: 'off' }) });
});
afterAll(async () => {
  await Promise.all([anvil.stop(), other.stop(), honest.stop()]);
});

interface Block {
  readonly transactions: readonly unknown[];
  readonly parentHash: string;
}

type Call = readonly [method: string, params: readonly unknown[]];

const balance = (): Call => ['eth_getBalance', [anvil.chain.caller, 'latest']];
const nonce = (): Call => ['eth_getTransactionCount', [anvil.chain.caller, 'latest']];
const code = (): Call => ['eth_getCode', [anvil.chain.counter.address, 'latest']];
const slot = (): Call => ['eth_getStorageAt', [anvil.chain.counter.address, '0x0', 'latest']];
const proof = (): Call => ['eth_getProof', [anvil.chain.counter.address, [`0x${'0'.repeat(64)}`], 'latest']];
const logs = (): Call => [
  'eth_getLogs',
  [{ fromBlock: '0x0', toBlock: 'latest', address: anvil.chain.counter.address }],
];
const receipt = (): Call => ['eth_getTransactionReceipt', [anvil.chain.setTransaction]];
const receipts = (): Call => ['eth_getBlockReceipts', [anvil.chain.blockHash]];
const transaction = (): Call => ['eth_getTransactionByHash', [anvil.chain.setTransaction]];
const byIndex = (): Call => ['eth_getTransactionByBlockHashAndIndex', [anvil.chain.blockHash, '0x0']];
const block = (isFull: boolean) => (): Call => ['eth_getBlockByHash', [anvil.chain.blockHash, isFull]];
const byNumber = (): Call => ['eth_getBlockByNumber', ['0x4', true]];
const transactionCount = (): Call => ['eth_getBlockTransactionCountByHash', [anvil.chain.blockHash]];
const uncleCount = (): Call => ['eth_getUncleCountByBlockHash', [anvil.chain.blockHash]];
const head = (): Call => ['eth_blockNumber', []];

const altered =
  (more: object): Lie =>
  (result: object) => ({ ...result, ...more });
const ofOther: Lie = (_, params) => callLocalNode(other.url, 'eth_getBlockByNumber', [...params]);
const withoutLast: Lie = (result: readonly unknown[]) => result.slice(0, -1);

/** Lies of an upstream in front of a real node, the call that each is about, and the proof of the truth. `lie-table.ts` has all kinds. */
const lies: readonly (readonly [string, () => Call, Lie, string])[] = [
  ['a balance', balance, () => '0xffff', 'proof'],
  ['code', code, () => '0x60', 'proof'],
  ['a slot', slot, () => `0x${'0'.repeat(63)}7`, 'proof'],
  ['a stale proof', proof, (_, [address, slots], ask) => ask('eth_getProof', [address, slots, '0x1']), 'proof'],
  ['a missing log', logs, withoutLast, 'root'],
  ["a receipt's status", receipt, altered({ status: '0x0' }), 'root'],
  [
    'the status in one of all receipts',
    receipts,
    ([one, ...more]: readonly object[]) => [{ ...one, status: '0x0' }, ...more],
    'root',
  ],
  ['a truncated list of receipts', receipts, withoutLast, 'root'],
  ["a transaction's value", transaction, altered({ value: '0x7' }), 'root'],
  ["a transaction's place", byIndex, altered({ value: '0x7' }), 'root'],
  ['a header', block(false), altered({ stateRoot: `0x${'77'.repeat(32)}` }), 'root'],
  [
    'a truncated list of hashes',
    block(false),
    (result: Block) => ({ ...result, transactions: result.transactions.slice(1) }),
    'root',
  ],
  [
    'a transaction in a block',
    block(true),
    ({ transactions: [one, ...more], ...result }: { transactions: object[] }) => ({
      ...result,
      transactions: [{ ...one, value: '0x7' }, ...more],
    }),
    'root',
  ],
  ['uncles', block(false), altered({ uncles: [`0x${'77'.repeat(32)}`] }), 'root'],
  ['a block of another branch', byNumber, ofOther, 'root'],
  ['a number of transactions', transactionCount, () => '0x0', 'root'],
];

describe.each(lies)('an upstream that lies about %s', limit, (_, callOf, lie, expected) => {
  it('is found, and the caller gets the truth with what proves it', async () => {
    const { nodes, send, count } = await withVerification(CHAIN_ID, [anvil.url, anvil.url, anvil.url]);
    const [method, params] = callOf();
    const { result: truth } = await honest.call('test', method, params);
    await send(...head());
    nodes[0]?.lie(method, lie);
    const { result, error, verified } = await send(method, params);
    expect(error).toBeUndefined();
    expect(result).toEqual(truth);
    expect(verified).toBe(expected);
    // Of a block of another branch an upstream may be late.
    const outcomes = [await count('node-0', 'differs'), await count('node-0', 'cannot-tell')] as const;
    expect(method === 'eth_getLogs' ? outcomes[0] : outcomes[0] + outcomes[1]).toBeGreaterThan(0);
    for (const other of ['node-1', 'node-2']) expect(await count(other, 'differs')).toBe(0);
  });
});

it(
  'null of two upstreams of one group is not believed with `enforce` if another group has the object',
  limit,
  async () => {
    const urls = [anvil.url, anvil.url, anvil.url, anvil.url];
    const { nodes, send } = await withVerification(CHAIN_ID, urls, { verify: 'enforce' }, {}, ['a', 'a', 'b', 'c']);
    await send(...head());
    for (const node of nodes.slice(0, 2))
      node.lie('eth_getBlockByNumber', (result, [named]) => (named === '0x4' ? null : result));
    expect((await send('eth_getBlockByNumber', ['0x4', true])).result).toMatchObject({ number: '0x4' });
  },
);

describe('an honest upstream', limit, () => {
  const calls = [
    balance,
    nonce,
    code,
    slot,
    proof,
    logs,
    receipt,
    receipts,
    transaction,
    byIndex,
    block(true),
    block(false),
  ];

  it('is never disproved, alone or beside others, and its results are proven', async () => {
    for (const urls of [[anvil.url], [anvil.url, anvil.url]]) {
      const { send, count } = await withVerification(CHAIN_ID, urls);
      await send(...head());
      const proofs: (string | null)[] = [];
      for (const callOf of [...calls, byNumber, transactionCount, uncleCount, head]) {
        const { error, verified } = await send(...callOf());
        expect(error).toBeUndefined();
        proofs.push(verified);
      }
      expect(proofs).not.toContain('no');
      expect(proofs).not.toContain(null);
      expect(await count('node-0', 'differs')).toBe(0);
    }
  });
});

it('a result of another branch is not returned, and its upstream has not lied', limit, async () => {
  const { caller } = anvil.chain;
  const newest = () => callLocalNode(other.url, 'eth_blockNumber', []) as Promise<string>;
  const before = await newest();
  await callLocalNode(other.url, 'eth_sendTransaction', [{ from: caller, to: `0x${'12'.repeat(20)}`, value: '0x1' }]);
  // On a loaded machine, the node returns the hash before it has the block.
  await eventually(async () => (await newest()) !== before);
  const number = await newest();
  // Their branch is longer: the network follows it.
  await callLocalNode(anvil.url, 'anvil_mine', ['0x3']);
  const balanceAt = (url: string): Promise<unknown> => callLocalNode(url, 'eth_getBalance', [caller, number]);
  const [right, wrong] = await Promise.all([balanceAt(anvil.url), balanceAt(other.url)]);
  expect(wrong).not.toBe(right);
  const { send, count } = await withVerification(CHAIN_ID, [other.url, anvil.url, anvil.url]);
  const proven = { result: right, verified: 'proof' };
  await eventually(async () => (await send('eth_getBalance', [caller, number])).verified === 'proof');
  expect(await send('eth_getBalance', [caller, number])).toMatchObject(proven);
  expect(await count('node-0', 'differs')).toBe(0);
  expect(await count('node-0', 'cannot-tell')).toBeGreaterThan(0);
});
