import type { MethodSpec } from '../spec/method-spec.ts';
import type { FailureClass, Verdict } from '../upstream/reply.ts';
import { completeObject, padHex } from './complete-object.ts';
import { objectRules } from './object-rules.ts';

type JsonObject = Record<string, unknown>;

/** A result is trusted when its kind fits and it is what was asked for; else the upstream is at fault. */
export function judgeResult(method: MethodSpec, params: readonly unknown[], result: unknown): Verdict {
  if (result === null) return method.nullable ? final(null) : elsewhere('node-state', result);
  switch (method.resultKind) {
    case 'string':
      return judgeHex(method, result);
    case 'object':
      return judgeObject(method, params, result);
    case 'array':
      return Array.isArray(result) ? final(result) : elsewhere('malformed', result);
    case 'boolean':
      return typeof result === 'boolean' ? final(result) : elsewhere('malformed', result);
  }
}

function judgeHex(method: MethodSpec, result: unknown): Verdict {
  if (typeof result !== 'string' || !/^0x[0-9a-fA-F]*$/.test(result)) return elsewhere('malformed', result);
  // Erigon estimates 0x0 for a block that it does not have. A transaction without gas is impossible.
  if (method.name === 'eth_estimateGas' && /^0x0+$/.test(result)) return elsewhere('node-state', result);
  if (method.padResult === undefined) return result === '0x' ? elsewhere('malformed', result) : final(result);
  const padded = padHex(result, method.padResult);
  return padded.length === 2 + 2 * method.padResult ? final(padded) : elsewhere('malformed', result);
}

function judgeObject(method: MethodSpec, params: readonly unknown[], result: unknown): Verdict {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return elsewhere('malformed', result);
  // ganache-cli 6 answers `{}` for an uncle that does not exist.
  if (Object.keys(result).length === 0) return method.nullable ? final(null) : elsewhere('malformed', result);
  const object = result as JsonObject;
  if (method.identity !== undefined && !isWhatWasAskedFor(object[method.identity], params[0])) {
    return elsewhere('malformed', result);
  }
  if (method.shape !== undefined) completeObject(object, method.shape);
  const outcome = objectRules[method.name]?.(object, params) ?? 'fits';
  if (outcome === 'not-found') return final(null);
  // Not the upstream's fault: on some chains every receipt is so.
  return outcome === 'fits' ? final(object) : elsewhere('node-state', result);
}

function isWhatWasAskedFor(given: unknown, asked: unknown): boolean {
  return given === asked || (typeof given === 'string' && given.toLowerCase() === asked);
}

function final(result: unknown): Verdict {
  return { final: true, reply: { kind: 'result', result } };
}

function elsewhere(failure: FailureClass, result: unknown): Verdict {
  return { final: false, failure, reply: { kind: 'result', result } };
}
