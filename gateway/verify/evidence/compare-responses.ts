import { isObject } from '../../collections/is-object.ts';
import { blockInResult } from '../../cache/block-in-result.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { comparedFields } from '../../spec/methods.generated.ts';
import type { ErrorResponse, ResultResponse } from '../../upstreams/transport/upstream-response.ts';
import { isAbsent, isSameHex } from '../proofs/hex.ts';

/**
 * `incomparable`: the responses are about different blocks, or one of them shows nothing. A list: they differ, first in the
 * member with this path; it is empty if they are no objects or lists.
 */
export type Comparison = 'equal' | 'incomparable' | readonly string[];

/** A parsed and normalised response. */
export type ComparedResponse = ResultResponse | ErrorResponse;

/** The code of a revert (docs/errors.md). */
const REVERT = 3;
const NO_DATA = '0x';

/** The result, or the data of a revert. */
export function valueOf(response: ComparedResponse | undefined): unknown {
  return response?.kind === 'error' ? response.data : response?.result;
}

/** Whether a response can be compared: a result that is not null, or a revert with its payload. */
export function isComparable(response: ComparedResponse): boolean {
  if (response.kind === 'result') return response.result !== null;
  return response.code === REVERT && typeof response.data === 'string' && response.data !== NO_DATA;
}

/** Compares what two upstreams returned for one call. A field that one of them lacks, or has as null, is not compared. */
export function compareResponses(method: MethodSpec, one: ComparedResponse, other: ComparedResponse): Comparison {
  if (!isComparable(one) || !isComparable(other)) return 'incomparable';
  if (one.kind === 'error' || other.kind === 'error') {
    // The gas caps of nodes differ, so that one may revert where another does not.
    if (one.kind !== other.kind) return 'incomparable';
    return isSameHex((one as ErrorResponse).data, (other as ErrorResponse).data) ? 'equal' : [];
  }
  if (isAboutOtherBlock(method, one, other)) return 'incomparable';
  // Values in objects without rules of normalisation may have leading zeros.
  const isLoose = method.shape === undefined && typeof one.result === 'object';
  return differenceIn(one.result, other.result, method.resultType ?? '', isLoose) ?? 'equal';
}

/** Whether the results name different blocks. The first log of a list says nothing about the list. */
function isAboutOtherBlock({ resultIs }: MethodSpec, one: ResultResponse, other: ResultResponse): boolean {
  if (resultIs === 'logs') return false;
  const [ofOne, ofOther] = [blockInResult(one)?.hash, blockInResult(other)?.hash];
  if (ofOne !== undefined && ofOther !== undefined) return ofOne !== ofOther;
  // A pending object has no block yet.
  return ofOne !== ofOther;
}

/**
 * Compares two values. Members that one of them lacks are not compared, nor are those in which correct nodes differ.
 * @param type of objects in the value, in schemas/types @param isLoose leading zeros do not matter
 * @returns the path to the first member in which the values differ; undefined: they are the same
 */
export function differenceIn(
  one: unknown,
  other: unknown,
  type: string,
  isLoose = false,
): readonly string[] | undefined {
  if (one === other || isAbsent(one) || isAbsent(other)) return undefined;
  if (typeof one === 'string' && typeof other === 'string') {
    const isSame = isSameHex(one, other) || (isLoose && isSameHex(withoutZeros(one), withoutZeros(other)));
    return isSame ? undefined : [];
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    if (one.length !== other.length) return [];
    for (const [at, element] of one.entries()) {
      const isLacking = isAbsent(element) !== isAbsent(other[at]);
      const path = isLacking ? [] : differenceIn(element, other[at], type, isLoose);
      if (path !== undefined) return [String(at), ...path];
    }
    return undefined;
  }
  if (!isObject(one) || !isObject(other)) return [];
  const fields = comparedFields[type];
  for (const name of Object.keys(fields ?? one)) {
    const path = differenceIn(one[name], other[name], fields?.[name] ?? '', isLoose);
    if (path !== undefined) return [name, ...path];
  }
  return undefined;
}

/** The text without leading zeros after `0x`. */
function withoutZeros(text: string): string {
  return text.replace(/^0x0*/i, '');
}
