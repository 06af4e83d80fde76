import { RLP } from '@ethereumjs/rlp';
import type { JsonObject } from '../../collections/is-object.ts';
import { isAbsent, toBytes, toNumberBytes, typeOf, unknownForm } from './hex.ts';

type Encoded = Uint8Array | Encoded[];

/** How a member is encoded. */
const encoders = {
  number: toNumberBytes,
  bytes: toBytes,
  /** Null creates a contract. */
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

/** The members of each type in the order in which they are hashed (EIP-155, 2930, 1559, 4844, 7702). */
const forms: readonly Readonly<Record<string, Kind>>[] = [
  legacy,
  {
    ...{ chainId: 'number', nonce: 'number', gasPrice: 'number', ...common, accessList: 'access' },
    ...{ yParity: 'number', ...signature },
  },
  { ...dynamicFee, yParity: 'number', ...signature },
  {
    ...{ ...dynamicFee, maxFeePerBlobGas: 'number', blobVersionedHashes: 'hashes' },
    ...{ yParity: 'number', ...signature },
  },
  { ...dynamicFee, authorizationList: 'authorizations', yParity: 'number', ...signature },
];

/**
 * The bytes of a transaction object, whose hash is that of the transaction.
 * @throws unknownForm if its type is not known (OP deposits, Arbitrum, zkSync), or a member is missing
 */
export function encodeTransaction(transaction: JsonObject): Uint8Array {
  const type = typeOf(transaction);
  const form = forms[type];
  if (form === undefined) throw unknownForm;
  const items = Object.entries(form).map(([name, kind]) => encoders[kind](memberOf(transaction, name)));
  const list = RLP.encode(items);
  return type === 0 ? list : Buffer.concat([Uint8Array.of(type), list]);
}

/**
 * The members of a transaction object that its block proves: those that are hashed, and its place. What an upstream writes in
 * others is no evidence.
 * @param transaction has an encoding
 */
export function provenMembers(transaction: JsonObject): JsonObject {
  const { hash, blockHash, blockNumber, transactionIndex } = transaction;
  const type = typeOf(transaction);
  const names = Object.keys(forms[type] ?? {});
  const hashed = Object.fromEntries(names.map((name) => [name, memberOf(transaction, name)]));
  return { type: `0x${type}`, hash, blockHash, blockNumber, transactionIndex, ...hashed };
}

/** Some nodes have `v` in place of `yParity`. */
function memberOf(transaction: JsonObject, name: string): unknown {
  return name === 'yParity' ? (transaction[name] ?? transaction['v']) : transaction[name];
}

/** @throws unknownForm */
function listOf(value: unknown, encode: (element: never) => Encoded): Encoded[] {
  if (!Array.isArray(value)) throw unknownForm;
  return (value as never[]).map(encode);
}

/** The price that a transaction pays for its gas. Undefined: it depends on a base fee that the block does not have. */
export function effectiveGasPriceOf(transaction: JsonObject, baseFee: unknown): bigint | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  if (Number(transaction['type'] ?? 0) < 2) return BigInt(String(gasPrice));
  if (typeof baseFee !== 'string') return undefined;
  const [base, max, tip] = [BigInt(baseFee), BigInt(String(maxFeePerGas)), BigInt(String(maxPriorityFeePerGas))];
  return base + tip < max ? base + tip : max;
}
