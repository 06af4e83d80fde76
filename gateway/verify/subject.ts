import { isObject, type JsonObject } from '../collections/is-object.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import { differenceIn } from './evidence/compare-responses.ts';
import type { Evidence, Work } from './evidence/evidence.ts';
import { isAbsent, isQuantity, isSameQuantity } from './proofs/hex.ts';

/** A result that is checked. */
export interface Subject {
  readonly method: MethodSpec;
  /** Parameters, as sent to the upstream. */
  readonly params: readonly unknown[];
  /** Result, parsed and normalised. */
  readonly result: unknown;
  readonly work: Work;
  readonly evidence: Evidence;
}

/**
 * - `disproved`: the upstream's result is wrong, which is certain
 * - `other-branch`: it is of a block that the network does not follow; the upstream may be late
 * - `unknown`: nothing proves it, and nothing disproves it
 */
export type Finding =
  | { readonly kind: 'proven'; readonly proof: Proof }
  | { readonly kind: 'disproved'; readonly reason: string }
  | { readonly kind: 'other-branch' }
  | { readonly kind: 'unknown' };

export const unknown: Finding = { kind: 'unknown' };
export const otherBranch: Finding = { kind: 'other-branch' };

export function proven(proof: Proof): Finding {
  return { kind: 'proven', proof };
}

export function disproved(reason: string): Finding {
  return { kind: 'disproved', reason };
}

/**
 * The hash of the block that a parameter names: by itself, or by its number. Tags are replaced before a call is sent.
 * Undefined: it is a tag, or no two upstreams agree on the number.
 */
export async function blockOf(named: unknown, { evidence, work }: Subject): Promise<string | undefined> {
  const { blockHash, blockNumber = named }: JsonObject = isObject(named) ? named : {};
  const hash = blockHash ?? blockNumber;
  if (typeof hash !== 'string') return undefined;
  if (hash.length === 66) return hash.toLowerCase();
  const number = hash === 'earliest' ? '0x0' : hash;
  return number.startsWith('0x') ? evidence.canonicalHash(BigInt(number), work) : undefined;
}

/** The newest block that a call names by its number. Undefined: it names a hash, or a tag. */
export function numberNamed({ method, params }: Pick<Subject, 'method' | 'params'>): bigint | undefined {
  const { highest = -Infinity } = blocksNamedBy(method, params) ?? {};
  return Number.isFinite(highest) ? BigInt(highest) : undefined;
}

/** The proven header of the block that a parameter names. */
export async function headerOf(named: unknown, subject: Subject): Promise<JsonObject | undefined> {
  const { evidence, work } = subject;
  const hash = await blockOf(named, subject);
  return hash === undefined ? undefined : evidence.header(hash, work);
}

/** Whether a result has the values of a proven one. @param type of the objects, in schemas/types */
export function isLike(result: unknown, provenOne: unknown, type: string): boolean {
  return differenceIn(provenOne, result, type) === undefined;
}

/** Whether a transaction, receipt or log has the time of its block, if it has one. */
export function hasTimeOf(header: JsonObject, { blockTimestamp }: JsonObject): boolean {
  return isAbsent(blockTimestamp) || isSameQuantity(blockTimestamp, header['timestamp']);
}

/** Whether a log lacks nothing that callers rely on, and names its block. */
export function isWholeLog(log: JsonObject): boolean {
  return isQuantity(log['blockNumber']) && logMembers.every((name) => !isAbsent(log[name]));
}

const logMembers = ['address', 'topics', 'data', 'logIndex', 'transactionHash', 'transactionIndex', 'blockHash'];

/** The block that a transaction or receipt says it is in. Undefined: it is pending, or lacks a part of its place. */
export function placeOf(object: JsonObject): { readonly hash: string; readonly number: bigint } | undefined {
  const { blockHash, blockNumber, transactionIndex } = object;
  const isWhole = [blockHash, blockNumber, transactionIndex].every((member) => typeof member === 'string');
  if (!isWhole) return undefined;
  return { hash: String(blockHash).toLowerCase(), number: BigInt(String(blockNumber)) };
}
