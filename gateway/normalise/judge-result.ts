import type { Identity, MethodSpec } from '../spec/method-spec.ts';
import type { FailureClass, ResultReply, Verdict } from '../upstream/reply.ts';
import { askedBy } from './asked-for.ts';
import { mend, padHex } from './complete-object.ts';
import type { Outcome } from './object-rules.ts';

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

function judgeText({ name, padResult, resultPattern }: MethodSpec, text: string, reply: ResultReply): Verdict {
  // Erigon estimates 0x0 for a block that it does not have. A transaction without gas is impossible.
  if (name === 'eth_estimateGas' && /^0x0+$/.test(text)) return elsewhere('node-state', text);
  const padded = padResult === undefined ? text : padHex(text, padResult);
  if (resultPattern !== undefined && !compiled(resultPattern).test(padded)) return elsewhere('malformed', text);
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
    const outcome = isObject ? settle(method, params, element as JsonObject) : 'other';
    if (outcome === 'mended') all = outcome;
    else if (outcome !== 'fits') return verdict(outcome, method, reply);
  }
  return verdict(all, method, reply);
}

/** Makes of a node's object, in place, what the spec promises, unless it is another than was asked for. */
function settle(method: MethodSpec, params: readonly unknown[], object: JsonObject): Outcome | 'other' {
  for (const identity of method.identity ?? none) if (!isAskedFor(object, params, identity)) return 'other';
  return method.shape === undefined ? 'fits' : mend(object, method.shape, params);
}

function verdict(outcome: Outcome | 'other', method: MethodSpec, reply: ResultReply): Verdict {
  if (outcome === 'fits') return { final: true, reply };
  if (outcome === 'mended') return final(reply.result);
  if (outcome === 'not-found' && method.nullable) return final(null);
  // Unusable is not the upstream's fault: on some chains every receipt is so.
  return elsewhere(outcome === 'other' ? 'malformed' : 'node-state', reply.result);
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
