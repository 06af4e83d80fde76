import { RLP } from '@ethereumjs/rlp';
import { isObject, type JsonObject } from '../collections/is-object.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { checkPlace } from './check-block.ts';
import { isSigned, senderOf } from './check-transactions.ts';
import type { ProvenBlock, Work } from './evidence/evidence.ts';
import { encodeReceipt, optionalHashed } from './proofs/encode-receipt.ts';
import {
  ARBITRUM_INTERNAL,
  CELO_FEE_CURRENCY,
  effectiveGasPriceOf,
  hashedNames,
  OP_DEPOSIT,
} from './proofs/encode-transaction.ts';
import {
  hashOf,
  ifKnown,
  isAbsent,
  isSameHex,
  isSameQuantity,
  quantityOf,
  toBytes,
  toNumberBytes,
  typeOf,
  unknownForm,
} from './proofs/hex.ts';
import { rootOf } from './proofs/tree.ts';
import {
  blockOf,
  disproved,
  hasTimeOf,
  isLike,
  isWholeLog,
  placeOf,
  proven,
  unknown,
  type Subject,
  type Finding,
} from './subject.ts';

/** Version of ArbOS that collects all tips, and has no bit for it. */
const ARBOS_WITH_TIPS = 9n;

/** Checks all receipts of a block: they have the root of its header, and what else they have follows from the transactions. */
export async function checkReceipts(subject: Subject): Promise<Finding> {
  const { params, result, evidence, work } = subject;
  if (!Array.isArray(result)) return unknown;
  const receipts = result as readonly JsonObject[];
  const place = receipts[0] && placeOf(receipts[0]);
  if (place !== undefined && params[0] !== place.hash) {
    const finding = await checkPlace(place, subject);
    if (finding !== undefined) return finding;
  }
  const hash = place?.hash ?? (await blockOf(params[0], subject));
  const block = hash === undefined ? undefined : await evidence.block(hash, work);
  if (hash === undefined || block === undefined) return unknown;
  const matches = await haveRoot(receipts, block, work);
  if (matches === true) return receipts.every(isWhole) ? proven('root') : unknown;
  const trusted = work.isEvidence ? undefined : await evidence.receipts(hash, work);
  if (trusted === undefined) return unknown;
  const isSame = receipts.length === trusted.length;
  return isSame && receipts.every((receipt, at) => isSameReceipt(receipt, trusted[at] as JsonObject) !== false)
    ? unknown
    : disproved('other receipts');
}

/** Whether receipts have the root of the header; undefined: the form of one is not known. */
async function haveRoot(
  receipts: readonly JsonObject[],
  block: ProvenBlock,
  { owner }: Pick<Work, 'owner'>,
): Promise<boolean | undefined> {
  if (receipts.length !== block.transactions.length) return false;
  const steps = new OwnedSteps(owner);
  const encoded: Uint8Array[] = [];
  const sum = { gas: 0n, logs: 0 };
  try {
    for (const [index, receipt] of receipts.entries()) {
      encoded.push(encodeReceipt(receipt));
      if (!followsFrom(receipt, index, block, sum)) return false;
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
    }
    return isSameHex(await rootOf(encoded, steps), block.header['receiptsRoot']);
  } catch (error) {
    if (error === unknownForm) return undefined;
    throw error;
  } finally {
    steps.charge();
  }
}

/** Members that a receipt lacks are not compared, so that one which is proven has those that callers rely on. */
function isWhole({ gasUsed, logs }: JsonObject): boolean {
  return !isAbsent(gasUsed) && (logs as readonly JsonObject[]).every(isWholeLog);
}

/**
 * Whether the members that the root does not prove follow from the transaction and from the receipts before.
 * @param sum of the receipts before
 * @throws unknownForm if the address of a created contract, or the price, is not known
 */
function followsFrom(
  receipt: JsonObject,
  index: number,
  { header, transactions }: ProvenBlock,
  sum: { gas: bigint; logs: number },
): boolean {
  const { gasUsed, cumulativeGasUsed, effectiveGasPrice, contractAddress, blobGasUsed } = receipt;
  const transaction = transactions[index] as JsonObject;
  const total = BigInt(String(cumulativeGasUsed));
  const ownGas = total - sum.gas;
  sum.gas = total;
  const place = {
    ...{ transactionHash: transaction['hash'], transactionIndex: quantityOf(index) },
    ...{ blockHash: header['hash'], blockNumber: header['number'] },
  };
  const creates = isAbsent(transaction['to']);
  // A block does not prove the senders. To recover one takes 1.4 ms: only where the address of a contract depends on it.
  const sender = creates ? senderOf(transaction) : undefined;
  // There are no blobs: since Jovian, it is a footprint of data, which nothing proves.
  const isOpStack = typeOf(transactions[0] as JsonObject) === OP_DEPOSIT;
  const mayLackContract = !creates || Number(receipt['status']) !== 1;
  return (
    isLike(receipt, { ...place, from: sender, to: transaction['to'] }, 'Receipt') &&
    hasTimeOf(header, receipt) &&
    isAbsent(receipt['to']) === isAbsent(transaction['to']) &&
    typeOf(receipt) === typeOf(transaction) &&
    (isAbsent(gasUsed) || isSameQuantity(gasUsed, quantityOf(ownGas))) &&
    (isAbsent(effectiveGasPrice) || isPriceOf(receipt, transaction, header, transactions)) &&
    (isAbsent(blobGasUsed) || isOpStack || isSameQuantity(blobGasUsed, quantityOf(blobGasOf(transaction)))) &&
    (isAbsent(contractAddress)
      ? mayLackContract
      : sender !== undefined && isSameHex(contractAddress, contractOf(sender, nonceOf(transaction, receipt)))) &&
    (receipt['logs'] as readonly JsonObject[]).every((log) => {
      const logIndex = quantityOf(sum.logs++);
      return isLike(log, { ...place, logIndex }, 'Log') && hasTimeOf(header, log) && log['removed'] !== true;
    })
  );
}

/**
 * Whether a receipt has the price that its transaction pays. On Arbitrum, it is the base fee if the block collects no tips.
 * @throws unknownForm if it depends on an unknown base fee, or is what other software of Arbitrum may have
 */
function isPriceOf(
  { effectiveGasPrice, baseFee }: JsonObject,
  transaction: JsonObject,
  header: JsonObject,
  [first]: readonly JsonObject[],
): boolean {
  const { baseFeePerGas } = header;
  const price = effectiveGasPriceOf(transaction, typeOf(transaction) === CELO_FEE_CURRENCY ? baseFee : baseFeePerGas);
  if (price === undefined) throw unknownForm;
  const hasOwn = isSameQuantity(effectiveGasPrice, quantityOf(price));
  if (typeOf(first as JsonObject) !== ARBITRUM_INTERNAL) return hasOwn;
  const hasBaseFee = isSameQuantity(effectiveGasPrice, baseFeePerGas);
  if (collectsTips(header) ? hasOwn : hasBaseFee) return true;
  if (hasOwn || hasBaseFee) throw unknownForm;
  return false;
}

/** Whether a block of Arbitrum collects tips (OffchainLabs/go-ethereum, core/types/arb_types.go). */
function collectsTips({ mixHash }: JsonObject): boolean {
  const bytes = Buffer.from(toBytes(mixHash));
  return bytes.readBigUInt64BE(16) === ARBOS_WITH_TIPS || (bytes.readUInt8(25) & 1) === 1;
}

/** The nonce of a transaction that creates a contract. @throws unknownForm if it is not hashed */
function nonceOf(transaction: JsonObject, { depositNonce, depositReceiptVersion }: JsonObject): unknown {
  if (hashedNames(transaction).includes('r')) return transaction['nonce'];
  if (typeOf(transaction) !== OP_DEPOSIT || isAbsent(depositReceiptVersion)) throw unknownForm;
  return depositNonce;
}

/** EIP-4844. */
const GAS_PER_BLOB = 131_072n;

function blobGasOf({ blobVersionedHashes }: JsonObject): bigint {
  return Array.isArray(blobVersionedHashes) ? GAS_PER_BLOB * BigInt(blobVersionedHashes.length) : 0n;
}

/** The address of the contract that a transaction creates. */
function contractOf(sender: string, nonce: unknown): string {
  return `0x${hashOf(RLP.encode([toBytes(sender), toNumberBytes(nonce)])).slice(26)}`;
}

/** A receipt: it is that of its block. */
export async function checkReceipt(subject: Subject): Promise<Finding> {
  const { params, result, evidence, work } = subject;
  const place = isObject(result) ? placeOf(result) : undefined;
  if (!isObject(result) || place === undefined) return unknown;
  const finding = await checkPlace(place, subject);
  if (finding !== undefined) return finding;
  const receipts = await evidence.receipts(place.hash, work);
  const block = receipts && (await evidence.block(place.hash, work));
  if (receipts === undefined || block === undefined) return unknown;
  const index = Number(result['transactionIndex']);
  const [receipt, transaction] = [receipts[index], block.transactions[index]];
  if (receipt === undefined || transaction === undefined || !isSameHex(transaction['hash'], params[0]))
    return disproved('a receipt that its block does not have');
  const isSame = isSameReceipt(result, receipt);
  if (isSame === undefined) return unknown;
  if (!isSame) return disproved('an altered receipt');
  const isFromSender = isSigned({ ...transaction, from: result['from'] }, params[0]);
  if (isFromSender === undefined) return unknown;
  if (!isFromSender) return disproved('another sender');
  // The root proves no more of the trusted one.
  const logs = receipts.slice(0, index).reduce((sum, before) => sum + (before['logs'] as readonly unknown[]).length, 0);
  const sum = { gas: BigInt((receipts[index - 1]?.['cumulativeGasUsed'] ?? '0x0') as string), logs };
  const follows = ifKnown(() => followsFrom(result, index, block, sum));
  if (follows === false) return disproved('an altered receipt');
  return follows === true && isWhole(result) ? proven('root') : unknown;
}

/**
 * Whether a receipt has the members of a proven one; undefined: it lacks one that is hashed. Before Byzantium, some nodes have a
 * status in place of the state root.
 */
function isSameReceipt(receipt: JsonObject, trusted: JsonObject): boolean | undefined {
  if (!isLike(receipt, trusted, 'Receipt')) return false;
  const named = ['to', ...(Number(trusted['status']) === 1 ? ['contractAddress'] : [])];
  if (named.some((name) => isAbsent(receipt[name]) !== isAbsent(trusted[name]))) return false;
  if (optionalHashed.some((name) => !isLike(receipt[name], trusted[name], ''))) return false;
  const lacksHashed = optionalHashed.some((name) => isAbsent(receipt[name]) && !isAbsent(trusted[name]));
  if (lacksHashed || isAbsent(receipt['status']) !== isAbsent(trusted['status'])) return undefined;
  return ifKnown(() => Buffer.compare(encodeReceipt(receipt), encodeReceipt(trusted)) === 0);
}
