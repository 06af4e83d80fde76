import { RLP } from '@ethereumjs/rlp';
import { getContractAddress, keccak256 as hashHex, parseTransaction, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { keccak256 } from '../../gateway/collections/keccak.ts';
import { OwnedSteps } from '../../gateway/event-loop/owned-steps.ts';
import { hashedMembers } from '../../gateway/verify/proofs/check-header.ts';
import { encodeReceipt, encodeWithdrawal } from '../../gateway/verify/proofs/encode-receipt.ts';
import { hashOf } from '../../gateway/verify/proofs/hex.ts';
import { EMPTY_LIST, EMPTY_ROOT, rootOf } from '../../gateway/verify/proofs/tree.ts';
import { hashedBlock, hex, unclesHash, type HashedBlock } from './proofs/hashed-block.ts';
import type { Json, ScriptedChain } from './simulated-nodes.ts';

const CHAIN_ID = 777;
const FIRST = 1_000;
const HEAD = 1_004;
/** The block with the transactions, and the one with an uncle. */
const [FULL, WITH_UNCLE] = [1_003, 1_002];
const GAS = 30_000;
const sender = privateKeyToAccount(`0x${'07'.repeat(32)}`);
const steps = new OwnedSteps('rich-chain');

/** The account whose state can be proven, with the slot 0. */
export const contract = `0x${'ab'.repeat(20)}` as Hex;
const code = '0x6001';
export const topic = `0x${'12'.repeat(32)}`;
const word = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
export const slot = word(0);

export interface RichChain extends ScriptedChain {
  readonly block: HashedBlock;
  readonly head: HashedBlock;
  /** Number of the block with an uncle. */
  readonly withUncle: Hex;
}

/**
 * A chain in memory with what nodes return for each method that can be proven: a block with four transactions of four types and
 * two logs, one with an uncle, withdrawals, and an account with a slot whose values are other ones in each block.
 */
export async function richChain(): Promise<RichChain> {
  const fees = { maxPriorityFeePerGas: 1n, maxFeePerGas: 100n } as const;
  const common = { chainId: CHAIN_ID, gas: 100_000n } as const;
  const accessList = [{ address: contract, storageKeys: [slot] }] as const;
  const signed = await Promise.all([
    sender.signTransaction({ ...common, type: 'legacy', nonce: 0, gasPrice: 20n, to: contract, value: 1n }),
    sender.signTransaction({ ...common, ...fees, type: 'eip1559', nonce: 1, to: contract, data: '0x1234' }),
    sender.signTransaction({ ...common, ...fees, type: 'eip1559', nonce: 2, data: '0x60' }),
    sender.signTransaction({ ...common, type: 'eip2930', nonce: 3, gasPrice: 20n, to: contract, accessList }),
  ]);
  const hashes = signed.map((bytes) => hashHex(bytes));
  const logs = [0, 1].map((index) => ({ address: contract, topics: [topic], data: word(index + 1) }));
  const bloom = bloomOf([contract, topic]);
  const base = ['0x0', '0x2', '0x2', '0x1'].map((type, index) => ({
    ...{ type, status: '0x1', cumulativeGasUsed: hex(GAS * (index + 1)), gasUsed: hex(GAS) },
    ...{ logs: index === 1 ? logs : [], logsBloom: index === 1 ? bloom : `0x${'00'.repeat(256)}` },
    effectiveGasPrice: index === 0 || index === 3 ? '0x14' : '0x8',
  }));
  const withdrawals = [{ index: '0x1', validatorIndex: '0x2', address: contract, amount: '0x3' }];
  const full = {
    transactionsRoot: await rootOf(signed.map(bytesOf), steps),
    receiptsRoot: await rootOf(base.map(encodeReceipt), steps),
    withdrawalsRoot: await rootOf(withdrawals.map(encodeWithdrawal), steps),
    ...{ logsBloom: bloom, gasUsed: hex(GAS * 4) },
  };
  const uncle = hashedBlock(WITH_UNCLE - 1, word(9), 1);
  const states = Array.from({ length: HEAD - FIRST + 1 }, (_, at) => stateOf(at + 1));
  const blocks: HashedBlock[] = [];
  for (let number = FIRST; number <= HEAD; number++) {
    const parent = blocks.at(-1)?.hash ?? word(0x11);
    const roots = {
      ...{ sha3Uncles: number === WITH_UNCLE ? unclesHash([uncle]) : EMPTY_LIST, withdrawalsRoot: EMPTY_ROOT },
      ...{ stateRoot: states[number - FIRST]?.root, transactionsRoot: EMPTY_ROOT, receiptsRoot: EMPTY_ROOT },
      ...(number === FULL && full),
    } as Readonly<Record<string, Hex>>;
    const block = hashedBlock(number, parent, 0, roots);
    const uncles = number === WITH_UNCLE ? [uncle.hash] : [];
    blocks.push({ ...block, uncles, ...(number === FULL && { withdrawals }) });
  }
  const [block, head] = [blocks[FULL - FIRST], blocks[HEAD - FIRST]] as [HashedBlock, HashedBlock];
  const { hash: blockHash, number: blockNumber } = block;
  const from = sender.address.toLowerCase();
  const placeOf = (index: number): Json => ({ blockHash, blockNumber, transactionIndex: hex(index) });
  const transactions = signed.map((bytes, index) => {
    const {
      nonce = 0,
      to = null,
      value = 0n,
      data = '0x',
      gas = 0n,
      ...more
    } = parseTransaction(bytes) as never as {
      [name: string]: never;
    };
    const { type = '0x0' } = base[index] ?? {};
    const quantity = (name: string): Hex => `0x${BigInt(more[name] ?? 0).toString(16)}`;
    const prices = type === '0x2' ? ['maxPriorityFeePerGas', 'maxFeePerGas'] : ['gasPrice'];
    return {
      ...{ type, chainId: hex(CHAIN_ID), nonce: hex(Number(nonce)), gas: hex(Number(gas)), to, input: data },
      ...{ value: hex(Number(value)), r: quantity('r'), s: quantity('s'), gasPrice: '0x8' },
      ...Object.fromEntries(prices.map((name) => [name, quantity(name)])),
      ...(type === '0x0'
        ? { v: quantity('v') }
        : { yParity: quantity('yParity'), v: quantity('yParity'), accessList: index === 3 ? accessList : [] }),
      ...{ hash: hashes[index], from, ...placeOf(index) },
    };
  });
  const receipts = base.map((receipt, index) => {
    const { to } = transactions[index] as Json;
    const place = { ...placeOf(index), transactionHash: hashes[index] };
    const contractAddress =
      to === null ? getContractAddress({ from: sender.address, nonce: BigInt(index) }).toLowerCase() : null;
    const ownLogs = receipt.logs.map((log, at) => ({ ...log, ...place, logIndex: hex(at), removed: false }));
    return { ...receipt, from, to, contractAddress, ...place, logs: ownLogs };
  });
  const allLogs = receipts.flatMap(({ logs: own }) => own);
  const find = (named: unknown): HashedBlock | undefined => {
    const { blockHash: byHash, blockNumber: byNumber = named } = (
      typeof named === 'object' && named !== null ? named : {}
    ) as Json;
    const wanted = byHash ?? byNumber;
    if (wanted === 'latest' || wanted === 'pending') return head;
    if (wanted === 'safe' || wanted === 'finalized') return blocks[0];
    return blocks.find(({ number, hash }) => number === wanted || hash === wanted);
  };
  const isFull = (named: unknown): boolean => find(named) === block;
  const ofState = (named: unknown, read: (state: State) => unknown): unknown => {
    const found = find(named);
    return found && read(states[Number(found.number) - FIRST] as State);
  };
  const resultOf = (method: string, [first, second, third]: readonly unknown[]): unknown => {
    const ofHash = hashes.indexOf(first as Hex);
    switch (method) {
      case 'eth_chainId':
        return hex(CHAIN_ID);
      case 'eth_blockNumber':
        return head.number;
      case 'eth_gasPrice':
        return '0x8';
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash': {
        const one = find(first);
        return one !== block ? (one ?? null) : { ...one, transactions: second === true ? transactions : hashes };
      }
      case 'eth_getHeaderByNumber':
      case 'eth_getHeaderByHash':
        return hashedMembers(find(first) ?? head);
      case 'eth_getBlockTransactionCountByHash':
      case 'eth_getBlockTransactionCountByNumber':
        return isFull(first) ? hex(hashes.length) : '0x0';
      case 'eth_getTransactionByBlockHashAndIndex':
      case 'eth_getTransactionByBlockNumberAndIndex':
        return (isFull(first) && transactions[Number(second)]) || null;
      case 'eth_getTransactionByHash':
        return transactions[ofHash] ?? null;
      case 'eth_getTransactionReceipt':
        return receipts[ofHash] ?? null;
      case 'eth_getBlockReceipts':
        return isFull(first) ? receipts : [];
      case 'eth_getUncleCountByBlockHash':
      case 'eth_getUncleCountByBlockNumber':
        return Number(find(first)?.number) === WITH_UNCLE ? '0x1' : '0x0';
      case 'eth_getUncleByBlockHashAndIndex':
      case 'eth_getUncleByBlockNumberAndIndex':
        return Number(find(first)?.number) === WITH_UNCLE && second === '0x0'
          ? { ...uncle, transactions: undefined }
          : null;
      case 'eth_getLogs': {
        const { fromBlock = 'latest', toBlock = 'latest', blockHash: named } = first as Json;
        const [low, high] = [fromBlock, toBlock].map((one) => Number(find(one)?.number ?? one));
        return (named ?? (Number(low) <= FULL && Number(high) >= FULL ? blockHash : undefined)) === blockHash
          ? allLogs
          : [];
      }
      case 'eth_getBalance':
        return ofState(second, ({ balance }) => hex(balance));
      case 'eth_getTransactionCount':
        return ofState(second, ({ nonce }) => hex(nonce));
      case 'eth_getCode':
        return code;
      case 'eth_getStorageAt':
        return ofState(third, ({ value }) => word(value));
      case 'eth_getProof':
        return ofState(third, ({ proof }) => ((second as []).length === 0 ? { ...proof, storageProof: [] } : proof));
      case 'eth_call':
        return word(7);
      case 'eth_estimateGas':
        return hex(21_000);
      default:
        return undefined;
    }
  };
  return { hashes, blockHash, resultOf, block, head, withUncle: hex(WITH_UNCLE) };
}

interface State {
  readonly root: string;
  readonly balance: number;
  readonly nonce: number;
  readonly value: number;
  /** Proof of the contract and the slot, as `eth_getProof` returns it. */
  readonly proof: Json;
}

/** A tree of one account, which has a tree of one slot. */
function stateOf(number: number): State {
  const [balance, nonce, value] = [number * 1_000, number, number + 7];
  const storage = leaf(slot, RLP.encode(value));
  const account = leaf(contract, RLP.encode([nonce, balance, bytesOf(storage.root), bytesOf(hashOf(bytesOf(code)))]));
  const proof = {
    ...{ address: contract, balance: hex(balance), nonce: hex(nonce), codeHash: hashOf(bytesOf(code)) },
    ...{ storageHash: storage.root, accountProof: [account.node] },
    storageProof: [{ key: slot, value: hex(value), proof: [storage.node] }],
  };
  return { root: account.root, balance, nonce, value, proof };
}

function leaf(key: string, value: Uint8Array): { readonly root: string; readonly node: string } {
  const node = RLP.encode([Buffer.concat([Uint8Array.of(0x20), keccak256(bytesOf(key))]), value]);
  return { root: hashOf(node), node: `0x${Buffer.from(node).toString('hex')}` };
}

/** Bits of three pairs of bytes of each value's hash (Ethereum Yellow Paper, 4.3.1). */
function bloomOf(values: readonly string[]): Hex {
  const bytes = Buffer.alloc(256);
  for (const value of values) {
    const hash = Buffer.from(keccak256(bytesOf(value)));
    for (const at of [0, 2, 4]) {
      const bit = hash.readUInt16BE(at) & 2047;
      bytes[255 - (bit >> 3)] = (bytes[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
    }
  }
  return `0x${bytes.toString('hex')}`;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}
