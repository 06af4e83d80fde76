import { RLP } from '@ethereumjs/rlp';
import { keccak256 } from '../../gateway/collections/keccak.ts';
import { encodeHeader } from '../../gateway/verify/proofs/check-header.ts';
import { encodeReceipt } from '../../gateway/verify/proofs/encode-receipt.ts';
import { encodeTransaction } from '../../gateway/verify/proofs/encode-transaction.ts';
import { hashOf } from '../../gateway/verify/proofs/hex.ts';

/** What the hash of a scripted block is made of, so that its header, its two transactions and their receipts can be proven. */
export interface BlockFacts {
  readonly number: number;
  readonly parent: { readonly hash: string } | undefined;
  /** Unix time in seconds. */
  readonly timestamp: number;
  /** Stands for its state: 32 bytes that no other block has. */
  readonly state: string;
  readonly logCount: number;
  /** Inputs by which its transactions differ from all others. */
  readonly inputs: readonly [string, string];
}

export type Members = Readonly<Record<string, unknown>>;

export const logAddresses = [
  '0xaa00000000000000000000000000000000000000',
  '0xaa00000000000000000000000000000000000001',
];

const zeroHash = `0x${'0'.repeat(64)}`;
const noUncles = hashOf(RLP.encode([]));
/** An event of the counter that `test/clients/ponder-project` indexes. */
const event = hashOf(Buffer.from('NumberSet(address,uint256)'));
const miner = '0xcc00000000000000000000000000000000000000';
const topics = [event, `0x${miner.slice(2).padStart(64, '0')}`];
/** Constants of secp256k1: the order of the group, and the first coordinate of its generator. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const GENERATOR_X = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
/** Signs all transactions: the account whose private key is 1. */
export const sender = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const GAS = 21_000;

export function quantity(number: number | bigint): string {
  return `0x${number.toString(16)}`;
}

export function addressOf(logIndex: number): string {
  return logAddresses[logIndex % logAddresses.length] ?? '';
}

export function hashOfHeader(header: Members): string {
  return hashOf(encodeHeader(header) ?? Buffer.alloc(0));
}

export function hashOfTransaction(input: string): string {
  return hashOf(encodeTransaction(transactionMembers(input)));
}

export function headerMembers(facts: BlockFacts): Members {
  const { number, parent, timestamp, state, inputs } = facts;
  const [transactions, receipts] = [
    inputs.map((input) => encodeTransaction(transactionMembers(input))),
    inputs.map((_, index) => encodeReceipt(receiptMembers(facts, index))),
  ] as [[Uint8Array, Uint8Array], [Uint8Array, Uint8Array]];
  return {
    ...{ number: quantity(number), parentHash: parent?.hash ?? zeroHash, timestamp: quantity(timestamp) },
    ...{ nonce: '0x0000000000000000', sha3Uncles: noUncles, logsBloom: bloomOf(facts), miner },
    ...{ transactionsRoot: rootOf(transactions), stateRoot: state, receiptsRoot: rootOf(receipts), mixHash: zeroHash },
    ...{ difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', gasUsed: quantity(2 * GAS), baseFeePerGas: '0x7' },
  };
}

export function transactionMembers(input: string): Members {
  const unsigned = {
    ...{ type: '0x2', chainId: '0x1', nonce: '0x0', to: addressOf(0), value: '0x0', gas: '0x7530', input },
    ...{ maxFeePerGas: '0x7', maxPriorityFeePerGas: '0x0', accessList: [] },
  };
  const signedBytes = RLP.encode([1, 0, 0, 7, 0x7530, unsigned.to, 0, input, []]);
  return { ...unsigned, ...signatureOf(BigInt(hashOf(Uint8Array.of(2, ...signedBytes)))) };
}

/** A signature with the private key 1 and the nonce 1, which needs no arithmetic on the curve. */
function signatureOf(hash: bigint): Members {
  const s = (hash + GENERATOR_X) % ORDER;
  const isHigh = s > ORDER / 2n;
  const yParity = isHigh ? '0x1' : '0x0';
  return { r: quantity(GENERATOR_X), s: quantity(isHigh ? ORDER - s : s), v: yParity, yParity };
}

/** Members of a receipt that its block's root proves. The first one has all the logs. */
export function receiptMembers(facts: BlockFacts, index: number): Members {
  const logs = Array.from({ length: index === 0 ? facts.logCount : 0 }, (_, at) => logMembers(facts, at));
  const cumulativeGasUsed = quantity(GAS * (index + 1));
  return { type: '0x2', status: '0x1', cumulativeGasUsed, logsBloom: bloomOf(facts), logs };
}

export function logMembers({ state }: BlockFacts, index: number): Members {
  return { address: addressOf(index), topics, data: state };
}

const [emptyBloom, fullBloom] = ['0', 'f'].map((digit) => `0x${digit.repeat(512)}`);

function bloomOf({ logCount }: BlockFacts): string | undefined {
  return logCount === 0 ? emptyBloom : fullBloom;
}

/** The root of the Merkle Patricia tree of two values of 32 bytes or more, whose keys are 0x80 and 0x01. */
function rootOf([first, second]: readonly [Uint8Array, Uint8Array]): string {
  const leaf = (path: number, value: Uint8Array): Uint8Array => keccak256(RLP.encode([Uint8Array.of(path), value]));
  const branch = Array.from({ length: 17 }, (): Uint8Array => new Uint8Array());
  branch[8] = leaf(0x30, first);
  branch[0] = leaf(0x31, second);
  return hashOf(RLP.encode(branch));
}
