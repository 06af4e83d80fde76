import { keccak256, toRlp, type Hex } from 'viem';

/** The hash of a list of headers. */
export function unclesHash(uncles: readonly HashedBlock[]): Hex {
  return keccak256(toRlp(uncles.map(itemsOf)));
}

export interface HashedBlock {
  readonly number: Hex;
  readonly hash: Hex;
  readonly [member: string]: unknown;
}

const zeros = (bytes: number): Hex => `0x${'00'.repeat(bytes)}`;

/**
 * A block of the form of Shanghai, with its true hash. viem hashes it, which is another implementation.
 * @param roots of its lists, which are zeros otherwise
 */
export function hashedBlock(
  number: number,
  parentHash: string,
  branch = 0,
  roots: Readonly<Record<string, Hex>> = {},
): HashedBlock {
  const members = {
    ...{ parentHash, sha3Uncles: zeros(32), miner: zeros(20), stateRoot: zeros(32), transactionsRoot: zeros(32) },
    ...{
      receiptsRoot: zeros(32),
      logsBloom: zeros(256),
      difficulty: '0x0',
      number: hex(number),
      gasLimit: '0x1c9c380',
    },
    ...{ gasUsed: '0x0', timestamp: hex(1_700_000_000 + number * 12), extraData: hex(branch + 16), mixHash: zeros(32) },
    ...{ nonce: zeros(8), baseFeePerGas: '0x7', withdrawalsRoot: zeros(32) },
    ...roots,
  };
  const body = { transactions: [], uncles: [], withdrawals: [], size: '0x200' };
  return { ...members, number: hex(number), hash: keccak256(toRlp(itemsOf(members))), ...body };
}

const bodyMembers = ['hash', 'transactions', 'uncles', 'withdrawals', 'size'];
const numbers = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'baseFeePerGas'];

/** What is hashed of a header, in order. */
function itemsOf(block: Readonly<Record<string, unknown>>): Hex[] {
  const members = Object.entries(block).filter(([name]) => !bodyMembers.includes(name));
  return members.map(([name, value]) => (numbers.includes(name) ? digitsOf(value as Hex) : (value as Hex)));
}

export function hex(number: number): Hex {
  return `0x${number.toString(16)}`;
}

/** The bytes of a quantity: none for 0. */
function digitsOf(quantity: string): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '');
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}
