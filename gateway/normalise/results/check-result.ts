import type { Identity, MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import type { FailureClass, ResultResponse } from '../../upstreams/transport/upstream-response.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import { expectedValue } from './expected-identity.ts';
import { completeResult, padHex } from './complete-object.ts';
import type { ObjectStatus } from './object-rules.ts';
import { isPadded, withoutZeros } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/** A result is trusted when its kind fits and it is what was asked for; else the upstream is at fault. */
export function checkResult(method: MethodSpec, params: readonly unknown[], response: ResultResponse): Outcome {
  const { resultKinds } = method;
  const { result } = response;
  if (resultKinds === undefined) return { final: true, response };
  if (result === null) return method.nullable ? { final: true, response } : failElsewhere('node-state', result);
  const kind = Array.isArray(result) ? 'array' : typeof result;
  if (!(resultKinds as readonly string[]).includes(kind)) return failElsewhere('malformed', result);
  switch (kind) {
    case 'string':
      return checkText(method, result as string, response);
    case 'object':
      return checkObject(method, params, result as JsonObject, response);
    case 'array':
      return checkArray(method, params, result as unknown[], response);
    default:
      return { final: true, response };
  }
}

function checkText(method: MethodSpec, text: string, response: ResultResponse): Outcome {
  const { name, padResult, resultPattern, resultIsQuantity } = method;
  // Erigon estimates 0x0 for a block that it does not have. A transaction without gas is impossible.
  if (name === 'eth_estimateGas' && /^0x0+$/.test(text)) return failElsewhere('node-state', text);
  const padded = padResult === undefined ? text : padHex(text, padResult);
  if (resultPattern !== undefined && !compiled(resultPattern).test(padded)) return failElsewhere('malformed', text);
  if (resultIsQuantity === true && isPadded(text)) return final(withoutZeros(text));
  return padded === text ? { final: true, response } : final(padded);
}

function checkObject(
  method: MethodSpec,
  params: readonly unknown[],
  object: JsonObject,
  response: ResultResponse,
): Outcome {
  // ganache-cli 6 answers `{}` for an uncle that does not exist.
  if (isEmptyObject(object)) return method.nullable ? final(null) : failElsewhere('malformed', object);
  return verdict(checkIdentityAndRules(method, params, object), method, response);
}

function checkArray(
  method: MethodSpec,
  params: readonly unknown[],
  array: readonly unknown[],
  response: ResultResponse,
): Outcome {
  if (method.shape === undefined) return { final: true, response };
  let all: ObjectStatus = 'fits';
  for (const element of array) {
    const isObject = typeof element === 'object' && element !== null && !Array.isArray(element);
    const outcome = isObject ? checkIdentityAndRules(method, params, element as JsonObject) : 'malformed';
    if (outcome === 'completed') all = outcome;
    else if (outcome !== 'fits') return verdict(outcome, method, response);
  }
  return verdict(all, method, response);
}

/** Makes of an upstream's object, in place, what the spec promises, unless it is another than was asked for. */
function checkIdentityAndRules(method: MethodSpec, params: readonly unknown[], object: JsonObject): ObjectStatus {
  const { identity = none, details, shape } = method;
  for (const one of identity) if (!isExpected(object, params, one)) return 'malformed';
  if (details !== undefined && !hasDetails(object[details.field], params[details.param])) return 'malformed';
  return shape === undefined || isPendingBlock(shape, params) ? 'fits' : completeResult(object, shape);
}

/**
 * go-ethereum, alloy, web3j and ethers reject a pending block whose number or logsBloom is null, so that it is passed on
 * as the upstream gave it.
 */
export function isPendingBlock({ type }: ObjectShape, [block]: readonly unknown[]): boolean {
  return type === 'Block' && block === 'pending';
}

/** Whether all elements are objects, or none is, as the flag asked. A missing array is another rule's. */
function hasDetails(elements: unknown, isComplete: unknown): boolean {
  if (elements === undefined || elements === null) return true;
  if (!Array.isArray(elements)) return false;
  const kind = isComplete === true ? 'object' : 'string';
  for (const element of elements as unknown[]) if (element === null || typeof element !== kind) return false;
  return true;
}

function verdict(outcome: ObjectStatus, method: MethodSpec, response: ResultResponse): Outcome {
  if (outcome === 'fits') return { final: true, response };
  if (outcome === 'completed') return final(response.result);
  if (outcome === 'not-found' && method.nullable) return final(null);
  // Unusable is not the upstream's fault: on some chains every receipt is so.
  return failElsewhere(outcome === 'malformed' ? 'malformed' : 'node-state', response.result);
}

function isEmptyObject(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

function isExpected(object: JsonObject, params: readonly unknown[], identity: Identity): boolean {
  const given = object[identity.field];
  const expected = expectedValue(identity, params);
  if (expected === undefined || given === expected) return true;
  if (typeof given !== 'string') return false;
  return identity.kind === 'hash'
    ? given.toLowerCase() === expected.toLowerCase()
    : digitsOf(given) === digitsOf(expected);
}

/** Without leading zeros, which some write: equal where the numbers are. */
function digitsOf(quantity: string): string {
  return quantity.toLowerCase().replace(/^0x0*/, '');
}

const none: readonly Identity[] = [];

const patterns = new Map<string, RegExp>();

/** Patterns are the spec's, a handful. */
function compiled(pattern: string): RegExp {
  let found = patterns.get(pattern);
  if (found === undefined) patterns.set(pattern, (found = new RegExp(pattern)));
  return found;
}

function final(result: unknown): Outcome {
  return { final: true, response: { kind: 'result', result } };
}

function failElsewhere(failure: FailureClass, result: unknown): Outcome {
  return { final: false, failure, response: { kind: 'result', result } };
}
