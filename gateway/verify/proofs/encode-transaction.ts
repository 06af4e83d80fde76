import { RLP } from '@ethereumjs/rlp';
import type { JsonObject } from '../../collections/is-object.ts';
import { isAbsent, quantityOf, toBytes, toNumberBytes, typeOf, unknownForm } from './hex.ts';

type Encoded = Uint8Array | Encoded[];

/** Encoding of a member. */
const encoders = {
  number: toNumberBytes,
  bytes: toBytes,
  flag: (value: unknown) => Uint8Array.from(value === true ? [1] : []),
  /** Recipient; null creates a contract. */
  recipient: (value: unknown) => (isAbsent(value) ? new Uint8Array() : toBytes(value)),
  hashes: (value: unknown) => listOf(value, toBytes),
  access: (value: unknown) =>
    listOf(value, ({ address, storageKeys }: JsonObject) => [toBytes(address), listOf(storageKeys, toBytes)]),
  authorizations: (value: unknown) =>
    listOf(value, ({ chainId, address, nonce, yParity, r, s }: JsonObject) => [
      toNumberBytes(chainId),
      toBytes(address),
      toNumberBytes(nonce),
      toNumberBytes(yParity),
      toNumberBytes(r),
      toNumberBytes(s),
    ]),
} as const satisfies Record<string, (value: unknown) => Encoded>;

type Kind = keyof typeof encoders;

const common = { gas: 'number', to: 'recipient', value: 'number', input: 'bytes' } as const;
const signature = { r: 'number', s: 'number' } as const;
const legacy = { nonce: 'number', gasPrice: 'number', ...common, v: 'number', ...signature } as const;
const dynamicFee = {
  chainId: 'number',
  nonce: 'number',
  maxPriorityFeePerGas: 'number',
  maxFeePerGas: 'number',
  ...common,
  accessList: 'access',
} as const;

const arbitrum = { chainId: 'number', from: 'bytes' } as const;
const request = { chainId: 'number', requestId: 'bytes', from: 'bytes' } as const;

/** Types of layers 2. Those without a signature have the sender among their members, or as a fixed one. */
export const ARBITRUM_INTERNAL = 0x6a;
const ARBITRUM_CLASSIC = 0x78;
export const CELO_FEE_CURRENCY = 0x7b;
export const OP_DEPOSIT = 0x7e;

/**
 * The members of each type in the order in which they are hashed: EIP-155, 2930, 1559, 4844, 7702; Arbitrum (OffchainLabs/go-ethereum,
 * core/types/arb_types.go); CIP-64 of Celo; deposits of the OP Stack (op-geth, core/types/deposit_tx.go).
 */
const forms: Readonly<Record<number, Readonly<Record<string, Kind>>>> = {
  0: legacy,
  1: {
    ...{ chainId: 'number', nonce: 'number', gasPrice: 'number', ...common, accessList: 'access' },
    ...{ yParity: 'number', ...signature },
  },
  2: { ...dynamicFee, yParity: 'number', ...signature },
  3: {
    ...{ ...dynamicFee, maxFeePerBlobGas: 'number', blobVersionedHashes: 'hashes' },
    ...{ yParity: 'number', ...signature },
  },
  4: { ...dynamicFee, authorizationList: 'authorizations', yParity: 'number', ...signature },
  0x64: { ...request, to: 'bytes', value: 'number' },
  0x65: { ...arbitrum, nonce: 'number', gasPrice: 'number', ...common },
  0x66: { ...request, maxFeePerGas: 'number', ...common },
  0x68: {
    ...{ chainId: 'number', nonce: 'number', from: 'bytes', maxFeePerGas: 'number', ...common },
    ...{ ticketId: 'bytes', refundTo: 'bytes', maxRefund: 'number', submissionFeeRefund: 'number' },
  },
  0x69: {
    ...{ ...request, l1BaseFee: 'number', depositValue: 'number', maxFeePerGas: 'number', gas: 'number' },
    ...{ retryTo: 'recipient', retryValue: 'number', beneficiary: 'bytes', maxSubmissionFee: 'number' },
    ...{ refundTo: 'bytes', retryData: 'bytes' },
  },
  [ARBITRUM_INTERNAL]: { chainId: 'number', input: 'bytes' },
  [ARBITRUM_CLASSIC]: legacy,
  [CELO_FEE_CURRENCY]: { ...dynamicFee, feeCurrency: 'recipient', yParity: 'number', ...signature },
  [OP_DEPOSIT]: {
    ...{ sourceHash: 'bytes', from: 'bytes', to: 'recipient', mint: 'number', value: 'number', gas: 'number' },
    ...{ isSystemTx: 'flag', input: 'bytes' },
  },
};

const ARBOS = '0x00000000000000000000000000000000000a4b05';
const noSignature = { v: '0x0', r: '0x0', s: '0x0', yParity: '0x0' } as const;
const noGas = { gas: '0x0', gasPrice: '0x0', nonce: '0x0' } as const;
/** Members that follow from the type, and are not hashed (OffchainLabs/go-ethereum, core/types/arb_types.go). */
const fixed: Readonly<Record<number, JsonObject>> = {
  0x64: { ...noSignature, ...noGas, input: '0x' },
  0x65: noSignature,
  0x66: { ...noSignature, nonce: '0x0' },
  0x68: noSignature,
  0x69: { ...noSignature, nonce: '0x0', value: '0x0', to: '0x000000000000000000000000000000000000006e' },
  [ARBITRUM_INTERNAL]: { ...noSignature, ...noGas, value: '0x0', from: ARBOS, to: ARBOS },
};

/** The members of a transaction object that follow from its type. */
export function fixedMembers(transaction: JsonObject): JsonObject {
  return fixed[typeOf(transaction)] ?? {};
}

/** The names of the members that are hashed. */
export function hashedNames(transaction: JsonObject): readonly string[] {
  return Object.keys(forms[typeOf(transaction)] ?? {});
}

/**
 * The bytes of a transaction object, whose hash is that of the transaction, except for some of Arbitrum Classic.
 * @throws unknownForm if its type is not known (zkSync, Scroll), or a member is missing
 */
export function encodeTransaction(transaction: JsonObject): Uint8Array {
  const type = typeOf(transaction);
  const form = forms[type];
  if (form === undefined) throw unknownForm;
  const items = Object.entries(form).map(([name, kind]) => encoders[kind](memberOf(transaction, name)));
  const list = RLP.encode(items);
  return form === legacy ? list : Buffer.concat([Uint8Array.of(type), list]);
}

/**
 * The members of a transaction object that its block proves: those that are hashed, and its place. What an upstream writes in
 * others is no evidence.
 * @param transaction has an encoding
 */
export function provenMembers(transaction: JsonObject): JsonObject {
  const { hash, blockHash, blockNumber, transactionIndex } = transaction;
  const hashed = Object.fromEntries(hashedNames(transaction).map((name) => [name, memberOf(transaction, name)]));
  const place = { hash, blockHash, blockNumber, transactionIndex };
  return { type: quantityOf(typeOf(transaction)), ...place, ...fixedMembers(transaction), ...hashed };
}

/** Some nodes have `v` in place of `yParity`. A deposit may lack what is zero or false. */
function memberOf(transaction: JsonObject, name: string): unknown {
  const value = transaction[name];
  switch (name) {
    case 'yParity':
      return value ?? transaction['v'];
    case 'mint':
      return value ?? '0x0';
    case 'isSystemTx':
      return value === true;
    default:
      return value;
  }
}

/** @throws unknownForm */
function listOf(value: unknown, encode: (element: never) => Encoded): Encoded[] {
  if (!Array.isArray(value)) throw unknownForm;
  return (value as never[]).map(encode);
}

/** The price that a transaction pays for its gas. Undefined: it depends on a base fee that is not known. */
export function effectiveGasPriceOf(transaction: JsonObject, baseFee: unknown): bigint | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const names = hashedNames(transaction);
  if (!names.includes('gasPrice') && !names.includes('maxFeePerGas')) return 0n;
  if (names.includes('v') || typeOf(transaction) === 1) return BigInt(String(gasPrice));
  if (typeof baseFee !== 'string') return undefined;
  const base = BigInt(baseFee);
  // Transactions of Arbitrum without a signature pay no tip.
  if (!names.includes('maxPriorityFeePerGas')) return base;
  const [max, tip] = [BigInt(String(maxFeePerGas)), BigInt(String(maxPriorityFeePerGas))];
  return base + tip < max ? base + tip : max;
}
