type JsonObject = Record<string, unknown>;

type ObjectRule = (object: JsonObject, params: readonly unknown[]) => 'fits' | 'not-found' | 'unusable';

/**
 * What the spec says of an object beyond its fields, by method. Objects are mended in place.
 * `unusable`: nothing can make it right, another upstream is asked.
 */
export const objectRules: Readonly<Record<string, ObjectRule>> = {
  eth_getUncleByBlockHashAndIndex(uncle) {
    delete uncle['transactions'];
    return 'fits';
  },

  eth_getBlockByHash: mendBlock,

  eth_getBlockByNumber(block, [number]) {
    // Hardhat 3, ganache 6 and 7 give the pending block the number and hash of a block that may never be.
    if (number === 'pending') for (const name of unknownWhilePending) block[name] = null;
    return mendBlock(block);
  },

  eth_getTransactionByHash(transaction) {
    clearPlace(transaction);
    return 'fits';
  },

  eth_getTransactionReceipt(receipt) {
    // The spec: a pending transaction has no receipt. Old Parity gave one without a block, others with a zero hash.
    return isAbsent(receipt['blockHash']) || isZeroHash(receipt['blockHash']) ? 'not-found' : keepStatusOrRoot(receipt);
  },
};

/** The spec's table of a block's fields: "null when its pending block". */
const unknownWhilePending = ['number', 'hash', 'nonce', 'logsBloom'] as const;

function mendBlock({ transactions }: JsonObject): 'fits' {
  if (Array.isArray(transactions)) {
    for (const transaction of transactions as unknown[]) {
      if (typeof transaction === 'object' && transaction !== null) clearPlace(transaction as JsonObject);
    }
  }
  return 'fits';
}

/** A transaction without a block is pending, whatever else the node says of its place. */
function clearPlace(transaction: JsonObject): void {
  if (isAbsent(transaction['blockHash']) || isZeroHash(transaction['blockHash'])) {
    transaction['blockHash'] = transaction['blockNumber'] = transaction['transactionIndex'] = null;
  }
}

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
