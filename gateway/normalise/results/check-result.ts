import { isBytes } from '../../collections/is-bytes.ts';
import { isObject } from '../../collections/is-object.ts';
import type { Identity, MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import { BYTES } from '../../spec/result-bounds.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import type { FailureClass, ResultResponse, UpstreamResponse } from '../../upstreams/transport/upstream-response.ts';
import { completeExactly, completeResult, padHex } from './complete-object.ts';
import { LogFilterCheck } from './log-filter-check.ts';
import type { ObjectStatus } from './object-rules.ts';
import { isPadded, withoutZeros } from './quantity.ts';
import type { ExpectedBytes } from './result-walk.ts';

type JsonObject = Record<string, unknown>;

/** A result is final if its type is right and it matches the parameters. Otherwise it is an upstream failure. */
export function checkResult(method: MethodSpec, params: readonly unknown[], response: ResultResponse): Outcome {
  const { nullable, resultKinds, shape } = method;
  const { result } = response;
  if (resultKinds === undefined) return { final: true, response };
  if (result === null) return nullable ? { final: true, response } : failOfNull(method, params);
  const kind = Array.isArray(result) ? 'array' : typeof result;
  if (!(resultKinds as readonly string[]).includes(kind)) return fail('malformed', result);
  if (typeof result === 'string') return checkText(method, result, response);
  if (kind === 'array') return shape === undefined ? { final: true, response } : checkList(method, params, response);
  if (kind !== 'object') return { final: true, response };
  // ganache-cli 6 returns `{}` for an uncle that does not exist.
  if (isEmptyObject(result as JsonObject) && method.resultIsMap !== true)
    return nullable ? final(null) : fail('malformed', result);
  return complete(method, response, (object) => checkObject(method, params, object as JsonObject));
}

function checkList(method: MethodSpec, params: readonly unknown[], response: ResultResponse): Outcome {
  const outcome = complete(method, response, (list) => {
    let all: ObjectStatus = 'fits';
    for (const element of list as unknown[]) {
      const status = isObject(element) ? checkObject(method, params, element) : 'malformed';
      if (status === 'completed') all = status;
      else if (status !== 'fits') return status;
    }
    return all;
  });
  const logs = LogFilterCheck.of(method, params);
  if (logs === undefined || !outcome.final) return outcome;
  const list = (outcome.response as ResultResponse).result as JsonObject[];
  return list.every((log) => logs.fits(log)) ? logs.settle(outcome) : fail('malformed', list);
}

/** Completes the objects of a result. @param check of the whole result, which it completes in place */
function complete(method: MethodSpec, response: ResultResponse, check: (result: unknown) => ObjectStatus): Outcome {
  const { shape } = method;
  if (shape === undefined) return outcomeOf(check(response.result), method, response);
  const { status, value, text } = completeExactly(response.result, response.text, shape, check);
  if (status === 'fits') return { final: true, response };
  return outcomeOf(status, method, { kind: 'result', result: value, ...(text !== undefined && { text }) });
}

function checkText(method: MethodSpec, text: string, response: ResultResponse): Outcome {
  const { resultIs, padResult, resultPattern, resultIsQuantity } = method;
  // Erigon returns 0x0 for a block that it does not have. No transaction needs zero gas.
  if (resultIs === 'gas-estimate' && /^0x0+$/.test(text)) return fail('node-state', text);
  const padded = padResult === undefined ? text : padHex(text, padResult);
  if (resultPattern !== undefined && !matches(resultPattern, padded)) return fail('malformed', text);
  if (resultIsQuantity === true && isPadded(text)) return final(withoutZeros(text));
  return padded === text ? { final: true, response } : final(padded);
}

/** Checks that the object is the requested one, and completes it in place by its shape. @throws roundedQuantity */
export function checkObject(method: MethodSpec, params: readonly unknown[], object: JsonObject): ObjectStatus {
  const { identity = none, details, shape } = method;
  for (const field of identity) if (!isExpected(object, params, field)) return 'malformed';
  if (details !== undefined && !hasDetails(object[details.field], params[details.param])) return 'malformed';
  return shape === undefined || isPendingBlock(shape, params) ? 'fits' : completeResult(object, shape);
}

/**
 * Pending blocks are passed on unchanged: go-ethereum, alloy, web3j and ethers reject them if number or logsBloom is
 * null.
 */
export function isPendingBlock({ type }: ObjectShape, [block]: readonly unknown[]): boolean {
  return type === 'Block' && block === 'pending';
}

/** Whether all elements are objects or all are hashes, by the caller's flag. Other rules check for a missing array. */
function hasDetails(elements: unknown, wantsObjects: unknown): boolean {
  if (elements === undefined || elements === null) return true;
  if (!Array.isArray(elements)) return false;
  const kind = wantsObjects === true ? 'object' : 'string';
  for (const element of elements as unknown[]) if (element === null || typeof element !== kind) return false;
  return true;
}

/** @param response completed, if it had to be */
export function outcomeOf(status: ObjectStatus, method: MethodSpec, response: UpstreamResponse): Outcome {
  if (status === 'fits' || status === 'completed') return { final: true, response };
  if (status === 'not-found' && method.nullable) return final(null);
  // `unusable` does not open the circuit: on some chains every receipt is unusable.
  return { final: false, failure: status === 'malformed' ? 'malformed' : 'node-state', response };
}

function isEmptyObject(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

function isExpected(object: JsonObject, params: readonly unknown[], identity: Identity): boolean {
  const actual = object[identity.field];
  const expected = expectedValue(identity, params);
  if (expected === undefined || actual === expected) return true;
  if (typeof actual !== 'string') return false;
  return identity.kind === 'hash'
    ? actual.toLowerCase() === expected.toLowerCase()
    : digitsOf(actual) === digitsOf(expected);
}

/** The fields of an object whose values parameters determine, as their usual bytes. */
export function expectedBytes({ identity = none }: MethodSpec, params: readonly unknown[]): readonly ExpectedBytes[] {
  return identity.flatMap((one) => {
    const value = expectedValue(one, params);
    return value === undefined ? [] : [{ name: one.field, value: Buffer.from(`"${value}"`) }];
  });
}

/** Expected value; undefined if the parameter is absent or a tag. */
function expectedValue({ param, kind }: Identity, params: readonly unknown[]): string | undefined {
  return kind === 'hash' ? hashIn(params[param]) : blockNumberIn(params[param]);
}

/** The block hash in a parameter: a string, or a member of an object. */
function hashIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.length === 66 ? param : undefined;
  const { blockHash } = (param ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

/** The block number in a parameter: a string, or a member of an object. Undefined for a tag. */
function blockNumberIn(param: unknown): string | undefined {
  if (typeof param === 'string') return param.startsWith('0x') && param.length < 66 ? param : undefined;
  const { blockNumber } = (param ?? {}) as { blockNumber?: unknown };
  return typeof blockNumber === 'string' ? blockNumber : undefined;
}

/** Digits without leading zeros, which some nodes write: equal for equal numbers. */
function digitsOf(quantity: string): string {
  return quantity.toLowerCase().replace(/^0x0*/, '');
}

const none: readonly Identity[] = [];

/** A repeated group may overflow the stack with megabytes, which only bytes have. */
function matches(pattern: string, text: string): boolean {
  return pattern === BYTES ? isBytes(text) : compilePattern(pattern).test(text);
}

const patterns = new Map<string, RegExp>();

/** Compiles each pattern of the spec once; there are few. */
function compilePattern(pattern: string): RegExp {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) patterns.set(pattern, (compiled = new RegExp(pattern)));
  return compiled;
}

function final(result: unknown): Outcome {
  return { final: true, response: { kind: 'result', result } };
}

/** Besu and old Erigon return null for the state at a block that they do not have; geth's error is in its place. */
function failOfNull({ blockAt }: MethodSpec, params: readonly unknown[]): Outcome {
  const block = blockAt?.readsState === true ? params[blockAt.param] : undefined;
  const namesBlock = typeof block === 'string' ? block.startsWith('0x') : typeof block === 'object' && block !== null;
  if (!namesBlock) return fail('node-state', null);
  const response = { kind: 'error', code: -32000, message: 'header not found', data: undefined } as const;
  return { final: false, failure: 'no-block', response };
}

function fail(failure: FailureClass, result: unknown): Outcome {
  return { final: false, failure, response: { kind: 'result', result } };
}
