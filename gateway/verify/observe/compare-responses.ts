import { isObject } from '../../collections/is-object.ts';
import { blockInResult } from '../../cache/block-in-result.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { comparedFields } from '../../spec/methods.generated.ts';
import type { ErrorResponse, ResultResponse } from '../../upstreams/transport/upstream-response.ts';

/** `incomparable`: the responses are about different blocks, or one of them shows nothing. */
export type Comparison = 'equal' | 'different' | 'incomparable';

/** A parsed and normalised response. */
export type AuditedResponse = ResultResponse | ErrorResponse;

/** The code of a revert (docs/errors.md). */
const REVERT = 3;
const NO_DATA = '0x';

/** The result, or the data of a revert. */
export function valueOf(response: AuditedResponse | undefined): unknown {
  return response?.kind === 'error' ? response.data : response?.result;
}

/** Whether a response can be compared: a result that is not null, or a revert with its payload. */
export function isComparable(response: AuditedResponse): boolean {
  if (response.kind === 'result') return response.result !== null;
  return response.code === REVERT && typeof response.data === 'string' && response.data !== NO_DATA;
}

/** Compares what two upstreams returned for one call. A field that one of them lacks, or has as null, is not compared. */
export function compareResponses(method: MethodSpec, one: AuditedResponse, other: AuditedResponse): Comparison {
  if (!isComparable(one) || !isComparable(other)) return 'incomparable';
  if (one.kind === 'error' || other.kind === 'error') {
    // The gas caps of nodes differ, so that one may revert where another does not.
    if (one.kind !== other.kind) return 'incomparable';
    return isSameText(String((one as ErrorResponse).data), String((other as ErrorResponse).data), false)
      ? 'equal'
      : 'different';
  }
  if (isAboutOtherBlock(method, one, other)) return 'incomparable';
  // Values in objects without rules of normalisation may have leading zeros.
  const isLoose = method.shape === undefined && typeof one.result === 'object';
  return isSame(one.result, other.result, method.resultType ?? '', isLoose) ? 'equal' : 'different';
}

/** Whether the results name different blocks. The first log of a list says nothing about the list. */
function isAboutOtherBlock({ resultIs }: MethodSpec, one: ResultResponse, other: ResultResponse): boolean {
  if (resultIs === 'logs') return false;
  const [ofOne, ofOther] = [blockInResult(one)?.hash, blockInResult(other)?.hash];
  if (ofOne !== undefined && ofOther !== undefined) return ofOne !== ofOther;
  // A pending object has no block yet.
  return ofOne !== ofOther;
}

/** @param type of objects in the value, in schemas/types @param isLoose leading zeros do not matter */
function isSame(one: unknown, other: unknown, type: string, isLoose: boolean): boolean {
  if (one === other || isMissing(one) || isMissing(other)) return true;
  if (typeof one === 'string' && typeof other === 'string') return isSameText(one, other, isLoose);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((element, at) => isSame(element, other[at], type, isLoose));
  if (!isObject(one) || !isObject(other)) return false;
  const fields = comparedFields[type];
  const names = fields === undefined ? Object.keys(one) : Object.keys(fields);
  return names.every((name) => isSame(one[name], other[name], fields?.[name] ?? '', isLoose));
}

function isSameText(one: string, other: string, isLoose: boolean): boolean {
  const [first, second] = [one.toLowerCase(), other.toLowerCase()];
  return first === second || (isLoose && withoutZeros(first) === withoutZeros(second));
}

/** The text without leading zeros after `0x`. */
export function withoutZeros(text: string): string {
  return text.replace(/^0x0*/, '');
}

export function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}
