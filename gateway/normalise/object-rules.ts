type JsonObject = Record<string, unknown>;

/** `unusable`: nothing can make it right, another upstream is asked. */
export type Outcome = 'fits' | 'not-found' | 'unusable';

type ObjectRule = (object: JsonObject, params: readonly unknown[]) => Outcome;

/** What the spec says of an object beyond its fields, by type. Objects are mended in place. */
export const objectRules: Readonly<Record<string, ObjectRule>> = {
  Block(block, [asked]) {
    // Hardhat 3, ganache 6 and 7 give the pending block the number and hash of a block that may never be.
    if (asked === 'pending') for (const name of unknownWhilePending) block[name] = null;
    return 'fits';
  },

  Uncle(uncle) {
    delete uncle['transactions'];
    return 'fits';
  },

  Transaction(transaction) {
    if (isAbsent(transaction['blockHash']) || isZeroHash(transaction['blockHash'])) {
      transaction['blockHash'] = transaction['blockNumber'] = transaction['transactionIndex'] = null;
    }
    return 'fits';
  },

  Receipt(receipt) {
    // The spec: a pending transaction has no receipt. Old Parity gave one without a block, others with a zero hash.
    if (isAbsent(receipt['blockHash']) || isZeroHash(receipt['blockHash'])) return 'not-found';
    return keepStatusOrRoot(receipt);
  },
};

/** The spec's table of a block's fields: "null when its pending block". */
const unknownWhilePending = ['number', 'hash', 'nonce', 'logsBloom'] as const;

/** Exactly one of root and status is present. zkSync Era (2023), rskj and Lotus give both. */
function keepStatusOrRoot(receipt: JsonObject): 'fits' | 'unusable' {
  const status = receipt['status'];
  if (typeof status === 'string' && /^0x0*[01]$/.test(status)) {
    receipt['status'] = status.endsWith('1') ? '0x1' : '0x0';
    delete receipt['root'];
    return 'fits';
  }
  if (typeof receipt['root'] !== 'string') return 'unusable';
  delete receipt['status'];
  return 'fits';
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

function isZeroHash(value: unknown): boolean {
  return typeof value === 'string' && /^0x0{64}$/.test(value);
}
