import { isBytes } from '../../collections/is-bytes.ts';
import { isObject } from '../../collections/is-object.ts';
import type { Identity, MethodSpec, ObjectShape } from '../../spec/method-spec.ts';
import { BYTES } from '../../spec/result-bounds.ts';
import type { Outcome } from '../../upstreams/outcome.ts';
import type { FailureClass, ResultResponse } from '../../upstreams/transport/upstream-response.ts';
import { completeResult, padHex, withQuantities } from './complete-object.ts';
import type { LogFilterCheck } from './log-filter-check.ts';
import type { ObjectStatus } from './object-rules.ts';
import { isPadded, withAllDigits, withHexNumbers, withoutZeros } from './quantity.ts';

/** Larger lists come in parts. */
const MAX_PARSED_AGAIN_CHARS = 262_144;

type JsonObject = Record<string, unknown>;

/**
 * A result is final if its type is right and it matches the parameters. Otherwise it is an upstream failure.
 * @param logs if they are logs of a filter
 */
export function checkResult(
  method: MethodSpec,
  params: readonly unknown[],
  response: ResultResponse,
  logs?: LogFilterCheck,
): Outcome {
  const check = (given: ResultResponse): Outcome => checkParsed(method, params, given, logs);
  const outcome = withQuantities((areExact) =>
    withDigits(method, response, check(areExact ? withExactQuantities(method, response) : response), check),
  );
  return outcome ?? fail('malformed', response.result);
}

/** A completed result with its JSON text, if it has numbers that lose digits when they are parsed. */
function withDigits(
  method: MethodSpec,
  given: ResultResponse,
  outcome: Outcome,
  check: (response: ResultResponse) => Outcome,
): Outcome {
  const source = given.text ?? given.envelope;
  if (!outcome.final || outcome.response === given || method.shape === undefined) return outcome;
  // More would be parsed again in one step.
  if (source === undefined || source.length > MAX_PARSED_AGAIN_CHARS) return outcome;
  const { response } = outcome;
  if (response.kind !== 'result' || typeof response.result !== 'object' || response.result === null) return outcome;
  const text = withAllDigits(source, quantityNames(method), (value) => {
    const result = given.text === undefined ? (value as { readonly result: unknown }).result : value;
    const { response: checked } = check({ kind: 'result', result });
    return checked?.kind === 'result' ? checked.result : response.result;
  });
  return text === undefined ? outcome : { final: true, response: { ...response, text } };
}

/** @throws `roundedQuantity` */
function checkParsed(
  method: MethodSpec,
  params: readonly unknown[],
  response: ResultResponse,
  logs: LogFilterCheck | undefined,
): Outcome {
  const { resultKinds } = method;
  const { result } = response;
  if (resultKinds === undefined) return { final: true, response };
  if (result === null) return method.nullable ? { final: true, response } : failOfNull(method, params);
  const kind = Array.isArray(result) ? 'array' : typeof result;
  if (!(resultKinds as readonly string[]).includes(kind)) return fail('malformed', result);
  switch (kind) {
    case 'string':
      return checkText(method, result as string, response);
    case 'object':
      return checkObject(method, params, result as JsonObject, response);
    case 'array':
      return checkArray(method, params, result as unknown[], response, logs);
    default:
      return { final: true, response };
  }
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

function checkObject(
  method: MethodSpec,
  params: readonly unknown[],
  object: JsonObject,
  response: ResultResponse,
): Outcome {
  // ganache-cli 6 returns `{}` for an uncle that does not exist.
  if (isEmptyObject(object) && method.resultIsMap !== true)
    return method.nullable ? final(null) : fail('malformed', object);
  return outcomeOf(checkObjectFields(method, params, object), method, response);
}

function checkArray(
  method: MethodSpec,
  params: readonly unknown[],
  array: readonly unknown[],
  response: ResultResponse,
  logs: LogFilterCheck | undefined,
): Outcome {
  if (method.shape === undefined) return { final: true, response };
  logs?.restart();
  let all: ObjectStatus = 'fits';
  for (const element of array) {
    const status = isObject(element) ? checkObjectFields(method, params, element) : 'malformed';
    if (status === 'completed') all = status;
    else if (status !== 'fits') return outcomeOf(status, method, response);
    if (logs?.fits(element as JsonObject) === false) return fail('malformed', array);
  }
  return outcomeOf(all, method, response);
}

/** Checks that the object is the requested one, and completes it in place by its shape. */
function checkObjectFields(method: MethodSpec, params: readonly unknown[], object: JsonObject): ObjectStatus {
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

function outcomeOf(status: ObjectStatus, method: MethodSpec, response: ResultResponse): Outcome {
  if (status === 'fits') return { final: true, response };
  if (status === 'completed') return final(response.result);
  if (status === 'not-found' && method.nullable) return final(null);
  // `unusable` does not open the circuit: on some chains every receipt is unusable.
  return fail(status === 'malformed' ? 'malformed' : 'node-state', response.result);
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

/** The fields of the result whose values parameters determine. */
export function expectedIdentities(
  { identity }: MethodSpec,
  params: readonly unknown[],
): { readonly field: string; readonly value: string }[] {
  return (identity ?? []).flatMap((one) => {
    const value = expectedValue(one, params);
    return value === undefined ? [] : [{ field: one.field, value }];
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

/** Reads the result again, because JSON.parse has rounded a quantity of it. */
function withExactQuantities(method: MethodSpec, { result, text, envelope }: ResultResponse): ResultResponse {
  const json = text ?? envelope ?? JSON.stringify(result);
  const parsed = JSON.parse(withHexNumbers(json, quantityNames(method))) as unknown;
  const isEnvelope = text === undefined && envelope !== undefined;
  return { kind: 'result', result: isEnvelope ? (parsed as { readonly result: unknown }).result : parsed };
}

function quantityNames({ shape }: MethodSpec): ReadonlySet<string> {
  return new Set(shape === undefined ? [] : quantitiesIn(shape));
}

export function quantitiesIn({ quantities, nested }: ObjectShape): string[] {
  return [...quantities, ...Object.values(nested).flatMap(quantitiesIn)];
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
