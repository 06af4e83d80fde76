import { isObject, type JsonObject } from '../collections/is-object.ts';
import { decodeTransaction } from '../upstreams/transactions/decode-transaction.ts';
import { checkPlace, isSameTransaction } from './check-block.ts';
import { encodeTransaction, fixedMembers, hashedNames } from './proofs/encode-transaction.ts';
import { hashOf, ifKnown, isSameHex, toHex } from './proofs/hex.ts';
import { blockOf, disproved, placeOf, proven, unknown, type Subject, type Finding } from './subject.ts';

/** A transaction: it is in its block, and its sender signed it. That one is pending cannot be proven. */
export async function checkTransaction(subject: Subject): Promise<Finding> {
  const { method, params, result, evidence, work } = subject;
  if (result === null) return method.looksUpHash === true && params.length === 1 ? unknown : checkAbsent(subject);
  if (!isObject(result)) return unknown;
  const place = placeOf(result);
  if (place === undefined) return unknown;
  const finding = await checkPlace(place, subject);
  if (finding !== undefined && !isSameHex(params[0], place.hash)) return finding;
  const block = await evidence.block(place.hash, work);
  if (block === undefined) return unknown;
  const transaction = block.transactions[Number(result['transactionIndex'])];
  if (transaction === undefined) return disproved('a transaction that its block does not have');
  const isRequested =
    params.length === 1
      ? isSameHex(transaction['hash'], params[0])
      : Number(params[1]) === Number(result['transactionIndex']);
  if (!isRequested) return disproved('another transaction');
  if (!isSameTransaction(result, transaction, block.header)) return disproved('an altered transaction');
  const isFromSender = isSigned({ ...transaction, from: result['from'] }, transaction['hash']);
  if (isFromSender === false) return disproved('another sender');
  // Members that it lacks are not compared, but hashed.
  return isFromSender === true && isSigned(result, transaction['hash']) === true ? proven('root') : unknown;
}

/** A null for a place in a block. */
async function checkAbsent(subject: Subject): Promise<Finding> {
  const { params, evidence, work } = subject;
  const hash = await blockOf(params[0], subject);
  const block = hash === undefined ? undefined : await evidence.block(hash, work);
  if (block === undefined) return unknown;
  return block.transactions.length <= Number(params[1]) ? proven('root') : disproved('no transaction');
}

/** Whether a transaction has this hash, and is from its sender. Undefined: its form, or its signature, is not known. */
export function isSigned(transaction: JsonObject, hash: unknown): boolean | undefined {
  return ifKnown(() => {
    if (!isSameHex(hashOf(encodeTransaction(transaction)), hash)) return false;
    const sender = senderOf(transaction);
    return sender === undefined ? undefined : isSameHex(sender, transaction['from']);
  });
}

/** Sender of a transaction: its signer, or `from` of one without a signature. Undefined: its signature is malformed. @throws unknownForm */
export function senderOf(transaction: JsonObject): string | undefined {
  const { from = transaction['from'] } = fixedMembers(transaction);
  if (!hashedNames(transaction).includes('r')) return String(from);
  return decodeTransaction(toHex(encodeTransaction(transaction)))?.sender();
}
