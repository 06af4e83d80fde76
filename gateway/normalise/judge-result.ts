import type { Identity, MethodSpec, ObjectShape } from '../spec/method-spec.ts';
import type { FailureClass, ResultReply, Verdict } from '../upstream/reply.ts';
import { askedBy } from './asked-for.ts';
import { mend, padHex } from './complete-object.ts';
import type { Outcome } from './object-rules.ts';
import { isPadded, withoutZeros } from './quantity.ts';

type JsonObject = Record<string, unknown>;

/** A result is trusted when its kind fits and it is what was asked for; else the upstream is at fault. */
export function judgeResult(method: MethodSpec, params: readonly unknown[], reply: ResultReply): Verdict {
  const { resultKinds } = method;
  const { result } = reply;
  if (resultKinds === undefined) return { final: true, reply };
  if (result === null) return method.nullable ? { final: true, reply } : elsewhere('node-state', result);
  const kind = Array.isArray(result) ? 'array' : typeof result;
  if (!(resultKinds as readonly string[]).includes(kind)) return elsewhere('malformed', result);
  switch (kind) {
    case 'string':
      return judgeText(method, result as string, reply);
    case 'object':
      return judgeObject(method, params, result as JsonObject, reply);
    case 'array':
      return judgeArray(method, params, result as unknown[], reply);
    default:
      return { final: true, reply };
  }
}

function judgeText(method: MethodSpec, text: string, reply: ResultReply): Verdict {
  const { name, padResult, resultPattern, resultIsQuantity } = method;
  // Erigon estimates 0x0 for a block that it does not have. A transaction without gas is impossible.
  if (name === 'eth_estimateGas' && /^0x0+$/.test(text)) return elsewhere('node-state', text);
  const padded = padResult === undefined ? text : padHex(text, padResult);
  if (resultPattern !== undefined && !compiled(resultPattern).test(padded)) return elsewhere('malformed', text);
  if (resultIsQuantity === true && isPadded(text)) return final(withoutZeros(text));
  return padded === text ? { final: true, reply } : final(padded);
}

function judgeObject(method: MethodSpec, params: readonly unknown[], object: JsonObject, reply: ResultReply): Verdict {
  // ganache-cli 6 answers `{}` for an uncle that does not exist.
  if (isEmpty(object)) return method.nullable ? final(null) : elsewhere('malformed', object);
  return verdict(settle(method, params, object), method, reply);
}

function judgeArray(
  method: MethodSpec,
  params: readonly unknown[],
  array: readonly unknown[],
  reply: ResultReply,
): Verdict {
  if (method.shape === undefined) return { final: true, reply };
  let all: Outcome = 'fits';
  for (const element of array) {
    const isObject = typeof element === 'object' && element !== null && !Array.isArray(element);
    const outcome = isObject ? settle(method, params, element as JsonObject) : 'malformed';
    if (outcome === 'mended') all = outcome;
    else if (outcome !== 'fits') return verdict(outcome, method, reply);
  }
  return verdict(all, method, reply);
}

/** Makes of an upstream's object, in place, what the spec promises, unless it is another than was asked for. */
function settle(method: MethodSpec, params: readonly unknown[], object: JsonObject): Outcome {
  const { identity = none, details, shape } = method;
  for (const one of identity) if (!isAskedFor(object, params, one)) return 'malformed';
  if (details !== undefined && !hasDetails(object[details.field], params[details.param])) return 'malformed';
  return shape === undefined || isPendingBlock(shape, params) ? 'fits' : mend(object, shape);
}

/**
 * go-ethereum, alloy, web3j and ethers reject a pending block whose number or logsBloom is null, so that it is passed on
 * as the upstream gave it.
 */
export function isPendingBlock({ type }: ObjectShape, [block]: readonly unknown[]): boolean {
  return type === 'Block' && block === 'pending';
}

/** Whether all elements are objects, or none is, as the flag asked. A missing array is another rule's. */
function hasDetails(elements: unknown, isWhole: unknown): boolean {
  if (elements === undefined || elements === null) return true;
  if (!Array.isArray(elements)) return false;
  const kind = isWhole === true ? 'object' : 'string';
  for (const element of elements as unknown[]) if (element === null || typeof element !== kind) return false;
  return true;
}

function verdict(outcome: Outcome, method: MethodSpec, reply: ResultReply): Verdict {
  if (outcome === 'fits') return { final: true, reply };
  if (outcome === 'mended') return final(reply.result);
  if (outcome === 'not-found' && method.nullable) return final(null);
  // Unusable is not the upstream's fault: on some chains every receipt is so.
  return elsewhere(outcome === 'malformed' ? 'malformed' : 'node-state', reply.result);
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

function isAskedFor(object: JsonObject, params: readonly unknown[], identity: Identity): boolean {
  const given = object[identity.field];
  const asked = askedBy(identity, params);
  if (asked === undefined || given === asked) return true;
  if (typeof given !== 'string') return false;
  return identity.kind === 'hash' ? given.toLowerCase() === asked.toLowerCase() : digitsOf(given) === digitsOf(asked);
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

function final(result: unknown): Verdict {
  return { final: true, reply: { kind: 'result', result } };
}

function elsewhere(failure: FailureClass, result: unknown): Verdict {
  return { final: false, failure, reply: { kind: 'result', result } };
}
