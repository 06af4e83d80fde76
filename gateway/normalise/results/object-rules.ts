import { isPadded, isRounded, normaliseQuantity } from './quantity.ts';

/**
 * Requirements of the spec for the value of a field. Parsed values and bytes are checked by the same rule. The two lengths are
 * numbers and no function, so that the bytes of most texts are checked without decoding them.
 */
export interface FieldRule {
  /** Whether the object can keep the value. Undefined: it has no such field. */
  readonly fits: (value: unknown) => boolean;
  /** Texts with fewer characters may not fit. */
  readonly minChars: number;
  /** Texts with at least so many characters, the third of which is 0, may not fit either. */
  readonly minZeroChars: number;
}

/** Number above that of the characters of any text. */
const NEVER = 2 ** 30;

/** A number must become hexadecimal, and leading zeros are removed. */
export const quantity: FieldRule = {
  fits: (value) =>
    typeof value === 'string' ? !isPadded(value) : normaliseQuantity(value) === value && !isRounded(value),
  minChars: 3,
  minZeroChars: 4,
};

/**
 * Empty addresses are "" (oasisprotocol/oasis-web3-gateway#53), "0x0" (ganache-cli 6,
 * ConsenSys-archive/ganache-cli-archive#579) and "0x". The zero address is not empty.
 */
export const address: FieldRule = {
  fits: (value) => value !== '' && value !== '0x' && value !== '0x0',
  minChars: 4,
  minZeroChars: NEVER,
};

/** The hash of a block. Nodes write none, an empty text or zeros, if there is no block yet. */
const blockHash: FieldRule = {
  fits: (value) =>
    value !== null && value !== undefined && !(typeof value === 'string' && /^(?:|0x|0x0{64})$/.test(value)),
  minChars: 3,
  minZeroChars: 66,
};

/** The number of the block of a receipt. */
const blockNumber: FieldRule = {
  ...quantity,
  fits: (value) => value !== null && value !== undefined && value !== '' && quantity.fits(value),
};

const status: FieldRule = {
  fits: (value) => value === '0x0' || value === '0x1',
  minChars: NEVER,
  minZeroChars: NEVER,
};

/** A field that the object must not have. */
export const absent: FieldRule = {
  fits: (value) => value === undefined,
  minChars: NEVER,
  minZeroChars: NEVER,
};

type JsonObject = Record<string, unknown>;

/**
 * `completed`: valid after changes. `unusable`: it cannot be completed, and the call goes to another upstream.
 * `malformed`: the same, and the upstream is suspect, because no chain has such objects.
 */
export type ObjectStatus = 'fits' | 'completed' | 'not-found' | 'unusable' | 'malformed';

/** A rule of the spec beyond single fields. */
interface ObjectRule {
  /** An object fits if these fields fit. */
  readonly fields: Readonly<Record<string, FieldRule>>;
  /** Completes another object in place. */
  readonly complete: (object: JsonObject) => ObjectStatus;
}

/** Rules by type. */
export const objectRules: Readonly<Record<string, ObjectRule>> = {
  Uncle: {
    fields: { transactions: absent },
    complete: (uncle) => removeField(uncle, 'transactions'),
  },
  Transaction: {
    fields: { blockHash },
    complete: (transaction) => setFields(transaction, blockFields, null),
  },
  Receipt: {
    fields: { blockHash, blockNumber, status, root: absent },
    complete: (receipt) =>
      // In the spec, a pending transaction has no receipt. Old Parity returned one without a block, others a zero hash, an empty one, or no number.
      blockHash.fits(receipt['blockHash']) && receipt['blockNumber'] !== null && receipt['blockNumber'] !== ''
        ? keepStatusOrRoot(receipt)
        : 'not-found',
  },
};

export function applyObjectRule(type: string, object: JsonObject): ObjectStatus {
  const rule = objectRules[type];
  if (rule === undefined) return 'fits';
  for (const name in rule.fields) if (rule.fields[name]?.fits(object[name]) === false) return rule.complete(object);
  return 'fits';
}

/** Fields that are null for a pending transaction. */
const blockFields = ['blockHash', 'blockNumber', 'transactionIndex'] as const;

/** The spec requires exactly one of root and status. zkSync Era (2023), rskj and Lotus return both. */
function keepStatusOrRoot(receipt: JsonObject): ObjectStatus {
  const code = normaliseQuantity(receipt['status']);
  if (typeof code === 'string' && /^0x0*[01]$/.test(code) && receipt['status'] !== '0x') {
    const outcome = setFields(receipt, ['status'], code.endsWith('1') ? '0x1' : '0x0');
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
