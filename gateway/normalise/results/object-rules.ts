import { normaliseQuantity } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/**
 * `mended`: it fits now. `unusable`: nothing can make it right, another upstream is asked. `malformed`: the same, and it
 * is the upstream's fault: on no chain are such objects usual.
 */
export type ObjectStatus = 'fits' | 'completed' | 'not-found' | 'unusable' | 'malformed';

type ObjectRule = (object: JsonObject) => ObjectStatus;

/** What the spec says of an object beyond its fields, by type. Objects are mended in place. */
export const objectRules: Readonly<Record<string, ObjectRule>> = {
  Uncle(uncle) {
    return drop(uncle, 'transactions');
  },

  Transaction(transaction) {
    const { blockHash } = transaction;
    return isAbsent(blockHash) || isZeroHash(blockHash) ? set(transaction, place, null) : 'fits';
  },

  Receipt(receipt) {
    // The spec: a pending transaction has no receipt. Old Parity gave one without a block, others with a zero hash.
    if (isAbsent(receipt['blockHash']) || isZeroHash(receipt['blockHash'])) return 'not-found';
    return keepStatusOrRoot(receipt);
  },
};

/** Where a transaction is, once it is in a block. */
const place = ['blockHash', 'blockNumber', 'transactionIndex'] as const;

/** Exactly one of root and status is present. zkSync Era (2023), rskj and Lotus give both. */
function keepStatusOrRoot(receipt: JsonObject): ObjectStatus {
  const status = normaliseQuantity(receipt['status']);
  if (typeof status === 'string' && /^0x0*[01]$/.test(status)) {
    const isNamed = set(receipt, ['status'], status.endsWith('1') ? '0x1' : '0x0');
    return drop(receipt, 'root') === 'fits' ? isNamed : 'completed';
  }
  // `0x` is no root: geth's own encoding of receipts has it beside the status.
  const { root } = receipt;
  return typeof root === 'string' && root !== '0x' ? drop(receipt, 'status') : 'unusable';
}

function set(object: JsonObject, names: readonly string[], value: unknown): 'fits' | 'completed' {
  let outcome: 'fits' | 'completed' = 'fits';
  for (const name of names) {
    if (object[name] === value) continue;
    object[name] = value;
    outcome = 'completed';
  }
  return outcome;
}

function drop(object: JsonObject, name: string): 'fits' | 'completed' {
  if (!(name in object)) return 'fits';
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the names stand above
  delete object[name];
  return 'completed';
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

function isZeroHash(value: unknown): boolean {
  return typeof value === 'string' && /^0x0{64}$/.test(value);
}
