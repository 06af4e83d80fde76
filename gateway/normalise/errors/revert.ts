import { isBytes } from '../../collections/is-bytes.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { NestedError } from './nested-errors.ts';
import { decodeReason, encodePanic, encodeReason, hasSelector, isCustomError } from './revert-payload.ts';
import { bareReason, revertRules, type RevertRule } from './revert-rules.ts';
import { isObject } from '../../collections/is-object.ts';

/** A revert, with the data that the node returned. */
export interface Revert {
  /** The bytes that the EVM returned; undefined if the node omits them. */
  readonly payload: string | undefined;
  /** Replacement for a missing payload, encoded from the node's message. */
  readonly rebuilt: string;
  /** The custom error of the payload with its arguments, if the node decoded it: `Unauthorized(7)`. */
  readonly customError?: string | undefined;
}

/** Pattern of an error as Solidity names it. Other texts beside a custom error are no decoded name: `custom error 0xd3c6b2b7`. */
const DECODED_ERROR = /^[a-z_$][\w$]*(?:\([^]*\))?$/i;

/** Finds a revert by the texts of node software. */
export function findRevertByMessage(nestedErrors: readonly NestedError[]): Revert | undefined {
  for (const { code, data, texts } of nestedErrors) {
    for (const rule of revertRules) {
      const match = matchRule(rule, code, texts);
      if (match !== undefined) return makeRevert(nestedErrors, match);
    }
    // The whole message is the contract's reason: the payload proves it.
    const payload = findPayload(data);
    const reason = payload === undefined ? undefined : decodeReason(payload);
    if (reason !== undefined && texts.includes(reason)) return { payload, rebuilt: '0x' };
  }
  return undefined;
}

/** Finds a revert by payload and code, for errors that match no revert rule and no halt rule. */
export function findRevertByCode(nestedErrors: readonly NestedError[]): Revert | undefined {
  for (const { code, message, data } of nestedErrors) {
    const payload = findPayload(data);
    // Only reverts have a payload with a reason. Code 3 with a selector is a revert in the successor of EIP-1474.
    const isRevert =
      payload !== undefined && (decodeReason(payload) !== undefined || (code === 3 && hasSelector(payload)));
    if (isRevert) return { payload, rebuilt: '0x' };
    const match = matchRule(bareReason, code, [message]);
    if (match === undefined) continue;
    const revert = makeRevert(nestedErrors, match);
    if (revert.payload !== undefined && hasSelector(revert.payload)) return revert;
  }
  return undefined;
}

/** Guesses a revert in a gas estimate, from an error with an execution code and a text without a rule. */
export function guessRevert(method: MethodSpec, nestedErrors: readonly NestedError[]): Revert | undefined {
  if (method.resultIs !== 'gas-estimate') return undefined;
  for (const { code, message } of nestedErrors) {
    const match = matchRule(bareReason, code, [message]);
    if (match !== undefined) return makeRevert(nestedErrors, match);
  }
  return undefined;
}

/** Finds a revert in a result: geth up to 1.9.13 and DeFiChain return it so in eth_call. */
export function findRevertInResult(result: unknown): Revert | undefined {
  return isBytes(result) && decodeReason(result) !== undefined ? { payload: result, rebuilt: '0x' } : undefined;
}

function matchRule({ text: pattern, codes }: RevertRule, code: number, texts: readonly string[]) {
  if (codes?.includes(code) === false) return undefined;
  for (const text of texts) {
    const match = pattern.exec(text);
    if (match !== null) return match.groups ?? {};
  }
  return undefined;
}

function makeRevert(
  nestedErrors: readonly NestedError[],
  captured: Readonly<Record<string, string | undefined>>,
): Revert {
  const { reason, panic, custom = reason } = captured;
  const rebuilt = panic === undefined ? encodeReason(reason) : encodePanic(panic);
  const payload = findFirstPayload(nestedErrors) ?? captured['payload'];
  // An empty payload beside a reason: the client omits the bytes.
  const isOmitted = payload === '0x' && rebuilt !== '0x' && reason !== '';
  const isDecoded = payload !== undefined && isCustomError(payload) && DECODED_ERROR.test(custom ?? '');
  return { payload: isOmitted ? undefined : payload, rebuilt, customError: isDecoded ? custom : undefined };
}

function findFirstPayload(nestedErrors: readonly NestedError[]): string | undefined {
  for (const { data } of nestedErrors) {
    const payload = findPayload(data);
    if (payload !== undefined) return payload;
  }
  return undefined;
}

/**
 * Members of `error.data` that may have a revert's payload, in the order of the search: `data` itself (geth and most),
 * `Reverted 0x…` (parity, nethermind), `data.data` (Hardhat 2, wallets, proxies), `data.result` (ganache 7),
 * `data["0x<transaction hash>"].return` (ganache-cli 6), `data.originalError.data` (wallets).
 */
const places = ['data', 'result', 'return', 'output', 'originalError', 'error', 'cause'] as const;

/** Nodes nest up to three levels; the limit is for malicious responses. */
const MAX_DEPTH = 5;

/** Returns the first payload, or undefined. An empty payload is `0x`. */
function findPayload(data: unknown, depth = 0): string | undefined {
  if (typeof data === 'string') return payloadIn(data);
  if (depth === MAX_DEPTH || !isObject(data)) return undefined;
  for (const place of places) {
    const found = data[place] === undefined ? undefined : findPayload(data[place], depth + 1);
    if (found !== undefined) return found;
  }
  for (const name of Object.keys(data).slice(0, 4)) {
    const found = /^0x[\da-f]{64}$/i.test(name) ? findPayload(data[name], depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function payloadIn(text: string): string | undefined {
  // parity and nethermind write `Reverted`. java-tron and others omit 0x: then only Solidity's own selectors count.
  const bare = /^(?:08c379a0|4e487b71)/i.test(text) ? `0x${text}` : text.replace(/^Reverted (?=0x)/, '');
  return isBytes(bare) ? bare : undefined;
}
