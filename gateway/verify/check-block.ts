import { isObject, type JsonObject } from '../collections/is-object.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { checkHeader, hasHeader } from './proofs/check-header.ts';
import { encodeWithdrawal } from './proofs/encode-receipt.ts';
import { encodeTransaction, fixedMembers, hashedNames, OP_DEPOSIT } from './proofs/encode-transaction.ts';
import { hashOf, ifKnown, isAbsent, isSameHex, isSameQuantity, quantityOf, typeOf, unknownForm } from './proofs/hex.ts';
import { EMPTY_LIST, EMPTY_ROOT, rootOf } from './proofs/tree.ts';
import {
  blockOf,
  disproved,
  hasTimeOf,
  headerOf,
  isLike,
  otherBranch,
  proven,
  unknown,
  type Subject,
  type Finding,
} from './subject.ts';

/** A block, or its header alone: it has the requested or the canonical hash, and its lists have the roots of its header. */
export async function checkBlock(subject: Subject): Promise<Finding> {
  const { params, result, method } = subject;
  if (!isObject(result) || params[0] === 'pending') return unknown;
  const { hash, number } = result;
  if (typeof hash !== 'string' || typeof number !== 'string') return unknown;
  const place = { hash: hash.toLowerCase(), number: BigInt(number) };
  const header = await provenHeader(result, place, subject);
  if (header === 'differs') return disproved('a header that does not have its hash');
  const finding = method.looksUpHash === true ? undefined : await checkPlace(place, subject);
  if (finding !== undefined) return finding;
  if (header === 'unknown') return unknown;
  // As evidence, a block without its transactions is only a header.
  const isHeader = method.provenAs === 'header' || (subject.work.isEvidence && params[1] !== true);
  return isHeader ? proven('hash') : checkLists(result, header, subject);
}

/** Checks the place of a block; undefined: it is canonical. */
export async function checkPlace(
  { hash, number }: { readonly hash: string; readonly number: bigint },
  { evidence, work }: Subject,
): Promise<Finding | undefined> {
  const isCanonical = await evidence.isCanonical(number, hash, work);
  if (isCanonical === true) return undefined;
  return isCanonical === false ? otherBranch : unknown;
}

/** The header of a block: its own, or that of another upstream, from which it may differ. */
async function provenHeader(
  block: JsonObject,
  { hash }: { readonly hash: string },
  { evidence, work }: Subject,
): Promise<JsonObject | 'unknown' | 'differs'> {
  if (checkHeader(block) === 'verified') {
    evidence.recordHeader(block);
    return block;
  }
  const header = work.isEvidence ? undefined : await evidence.header(hash, work);
  if (header === undefined) return 'unknown';
  const matches = hasHeader(block, header);
  if (matches === undefined) return 'unknown';
  return matches ? header : 'differs';
}

async function checkLists(block: JsonObject, header: JsonObject, subject: Subject): Promise<Finding> {
  const { evidence, work } = subject;
  const steps = new OwnedSteps(work.owner);
  const lists = [
    await hasTransactions(block, header, steps),
    await hasWithdrawals(block, header, block['transactions'], steps),
    hasUncles(block, header),
  ];
  steps.charge();
  if (lists.every((matches) => matches === true)) return proven('root');
  // As evidence, a block is its header and its transactions: a check that needs its uncles requests them by `uncles`.
  if (work.isEvidence) return lists[0] === true && lists[1] === true ? proven('root') : unknown;
  const hash = String(block['hash']).toLowerCase();
  const uncles = await evidence.uncles(header, work);
  if (uncles === undefined) return unknown;
  const uncleHashes = uncles.map((uncle) => uncle['hash']);
  if (!isLike(block['uncles'], uncleHashes, '')) return disproved('other uncles');
  if (lists[0] === true && lists[1] === true) return proven('root');
  const trusted = await evidence.block(hash, work);
  if (trusted === undefined) return unknown;
  const { transactions } = block;
  const isDetailed = subject.params[1] === true;
  if (!Array.isArray(transactions) || transactions.length !== trusted.transactions.length)
    return disproved('another number of transactions');
  const isSame = (trustedOne: JsonObject, at: number): boolean =>
    isDetailed
      ? isSameTransaction(transactions[at], trustedOne, header)
      : isSameHex(transactions[at], trustedOne['hash']);
  if (!trusted.transactions.every(isSame)) return disproved('other transactions');
  if (!isLike(block['withdrawals'], trusted.header['withdrawals'], 'Withdrawal')) return disproved('other withdrawals');
  const isWhole = lists[1] === true || (await hasWithdrawals(block, header, trusted.transactions, steps)) === true;
  return lists[0] === false || !isWhole ? unknown : proven('root');
}

/** Whether the transactions have the root of the header; undefined: there are only hashes, or one has an unknown form. */
async function hasTransactions(block: JsonObject, header: JsonObject, steps: OwnedSteps): Promise<boolean | undefined> {
  const { transactions } = block;
  if (!Array.isArray(transactions)) return undefined;
  if (transactions.length === 0) return isSameHex(header['transactionsRoot'], EMPTY_ROOT);
  const encoded: Uint8Array[] = [];
  try {
    for (const [index, transaction] of transactions.entries()) {
      if (!isObject(transaction)) return undefined;
      const bytes = encodeTransaction(transaction);
      if (!isInPlace(transaction, bytes, index, block)) return false;
      encoded.push(bytes);
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
    }
  } catch (error) {
    if (error === unknownForm) return undefined;
    throw error;
  }
  return isSameHex(await rootOf(encoded, steps), header['transactionsRoot']);
}

/** Whether what a transaction object has beside its bytes is right: its hash and its place. */
function isInPlace(transaction: JsonObject, bytes: Uint8Array, index: number, block: JsonObject): boolean {
  const { hash, blockHash, blockNumber, transactionIndex } = transaction;
  return (
    isSameHex(hash, hashOf(bytes)) &&
    isSameHex(blockHash, block['hash']) &&
    isSameQuantity(blockNumber, block['number']) &&
    isSameQuantity(transactionIndex, quantityOf(index)) &&
    hasTimeOf(block, transaction) &&
    isLike(transaction, fixedMembers(transaction), '') &&
    hasMembersOfSignature(transaction)
  );
}

/** Whether the members of a signature agree. One is hashed: `yParity`, beside which `v` is the same; or `v` with the chain id (EIP-155). */
function hasMembersOfSignature({ type, v, yParity, chainId }: JsonObject): boolean {
  if (Number(type ?? 0) !== 0) return isAbsent(v) || isAbsent(yParity) || isSameQuantity(v, yParity);
  if (isAbsent(chainId) || isAbsent(v)) return true;
  const number = BigInt(String(v));
  return number < 35n || isSameQuantity(chainId, quantityOf((number - 35n) / 2n));
}

/** Whether a transaction object has the values of a proven one, which has no sender if it is signed. */
export function isSameTransaction(transaction: unknown, trusted: JsonObject, header: JsonObject): boolean {
  if (!isObject(transaction)) return false;
  // Correct nodes differ in some members, but not where they are hashed.
  const isSame = (name: string): boolean =>
    isLike(transaction[name], trusted[name], name === 'authorizationList' ? 'Authorization' : '');
  return (
    hasMembersOfSignature(transaction) &&
    hasTimeOf(header, transaction) &&
    isLike(transaction, trusted, 'Transaction') &&
    isLike(transaction, fixedMembers(trusted), '') &&
    isAbsent(transaction['to']) === isAbsent(trusted['to']) &&
    hashedNames(trusted).every(isSame)
  );
}

/**
 * Whether the withdrawals have the root of the header. In a block of the OP Stack, whose first transaction is a deposit, there are
 * none: since Isthmus, the header has the storage root of the message passer there. Undefined: they are missing, or of unknown form.
 * @param transactions transactions of the block. A caller that returns the finding `proven` has proven them before.
 */
async function hasWithdrawals(
  { withdrawals }: JsonObject,
  { withdrawalsRoot }: JsonObject,
  transactions: unknown,
  steps: OwnedSteps,
): Promise<boolean | undefined> {
  const isEmpty = Array.isArray(withdrawals) && withdrawals.length === 0;
  if (isAbsent(withdrawalsRoot)) return isAbsent(withdrawals) || isEmpty;
  if (!Array.isArray(withdrawals)) return undefined;
  const [first] = (transactions ?? []) as readonly unknown[];
  if (isObject(first) && ifKnown(() => typeOf(first)) === OP_DEPOSIT) return isEmpty;
  const encoded = ifKnown(() => (withdrawals as JsonObject[]).map(encodeWithdrawal));
  return encoded && isSameHex(await rootOf(encoded, steps), withdrawalsRoot);
}

/** Whether neither block nor header has uncles; undefined: there are some, which the header does not name. */
function hasUncles({ uncles }: JsonObject, header: JsonObject): boolean | undefined {
  if (!Array.isArray(uncles) || uncles.length > 0) return undefined;
  return isSameHex(header['sha3Uncles'], EMPTY_LIST) ? true : undefined;
}

/** The number of a block's transactions. */
export async function checkTransactionCount(subject: Subject): Promise<Finding> {
  const { params, result, evidence, work } = subject;
  const hash = await blockOf(params[0], subject);
  const block = hash === undefined ? undefined : await evidence.block(hash, work);
  if (block === undefined || typeof result !== 'string') return unknown;
  const isRight = Number(result) === block.transactions.length;
  return isRight ? proven('root') : disproved('another number of transactions');
}

/** The number of a block's uncles, or one of them. */
export async function checkUncle(subject: Subject): Promise<Finding> {
  const { method, params, result, evidence, work } = subject;
  const header = await headerOf(params[0], subject);
  const uncles = header && (await evidence.uncles(header, work));
  if (uncles === undefined) return unknown;
  if (method.provenAs === 'uncle-count')
    return Number(result) === uncles.length ? proven('root') : disproved('another number of uncles');
  const uncle = uncles[Number(params[1])];
  if (uncle === undefined) return result === null ? proven('root') : disproved('an uncle that its block does not have');
  const matches = isObject(result) && isSameHex(result['hash'], uncle['hash']) && hasHeader(result, uncle);
  if (matches === undefined) return unknown;
  return matches ? proven('hash') : disproved('an uncle that its block does not have');
}

/** The number of the newest block: a block of the network has it. */
export async function checkHeadNumber(subject: Subject): Promise<Finding> {
  const { result, evidence, work } = subject;
  if (typeof result !== 'string') return unknown;
  const number = BigInt(result);
  const known = evidence.view.witnessedHash(number);
  if (known !== undefined) return (await evidence.header(known, work)) === undefined ? unknown : proven('hash');
  const block = await evidence.blockAt(result, work);
  if (block === undefined || checkHeader(block) !== 'verified') return unknown;
  const place = { hash: String(block['hash']).toLowerCase(), number };
  return (await checkPlace(place, subject)) ?? proven('hash');
}
