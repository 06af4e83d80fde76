import { normaliseQuantity } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/**
 * `completed`: valid after changes. `unusable`: it cannot be completed, and the call goes to another upstream.
 * `malformed`: the same, and the upstream is suspect, because no chain has such objects.
 */
export type ObjectStatus = 'fits' | 'completed' | 'not-found' | 'unusable' | 'malformed';

type ObjectRule = (object: JsonObject) => ObjectStatus;

/** Rules of the spec beyond single fields, by type. They complete objects in place. */
export const objectRules: Readonly<Record<string, ObjectRule>> = {
  Uncle(uncle) {
    return removeField(uncle, 'transactions');
  },

  Transaction(transaction) {
    const { blockHash } = transaction;
    return isAbsent(blockHash) || isZeroHash(blockHash) ? setFields(transaction, blockFields, null) : 'fits';
  },

  Receipt(receipt) {
    // In the spec, a pending transaction has no receipt. Old Parity returned one without a block, others a zero hash.
    if (isAbsent(receipt['blockHash']) || isZeroHash(receipt['blockHash'])) return 'not-found';
    return keepStatusOrRoot(receipt);
  },
};

/** Null for a pending transaction. */
const blockFields = ['blockHash', 'blockNumber', 'transactionIndex'] as const;

/** The spec requires exactly one of root and status. zkSync Era (2023), rskj and Lotus return both. */
function keepStatusOrRoot(receipt: JsonObject): ObjectStatus {
  const status = normaliseQuantity(receipt['status']);
  if (typeof status === 'string' && /^0x0*[01]$/.test(status) && receipt['status'] !== '0x') {
    const outcome = setFields(receipt, ['status'], status.endsWith('1') ? '0x1' : '0x0');
    return removeField(receipt, 'root') === 'fits' ? outcome : 'completed';
  }
  // `0x` and an empty text are no root: geth's encoding of receipts has them beside the status.
  const { root } = receipt;
  return typeof root === 'string' && root.length > 2 ? removeField(receipt, 'status') : 'unusable';
}

function setFields(object: JsonObject, names: readonly string[], value: unknown): 'fits' | 'completed' {
  let outcome: 'fits' | 'completed' = 'fits';
  for (const name of names) {
    if (object[name] === value) continue;
    object[name] = value;
    outcome = 'completed';
  }
  return outcome;
}

function removeField(object: JsonObject, name: string): 'fits' | 'completed' {
  if (!(name in object)) return 'fits';
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the names are literals
  delete object[name];
  return 'completed';
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

function isZeroHash(value: unknown): boolean {
  return typeof value === 'string' && /^0x0{64}$/.test(value);
}
