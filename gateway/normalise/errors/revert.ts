import type { NestedError } from './nested-errors.ts';
import { findPayload } from './find-payload.ts';
import { encodePanic, encodeReason, isPayload, reasonOf } from './revert-payload.ts';
import { bareReason, revertRules, type RevertRule } from './revert-rules.ts';

/** What is known of a revert. */
export interface Revert {
  /** The bytes that the EVM returned, where the node gave them. */
  readonly payload: string | undefined;
  /** What stands in for them otherwise, made of the node's words. */
  readonly rebuilt: string;
}

/** A selector: what a custom error has at the least. */
const SELECTOR_BYTES = 4;

/** A revert by the client's own words for one. */
export function revertByMessage(nestedErrors: readonly NestedError[]): Revert | undefined {
  for (const { code, data, texts } of nestedErrors) {
    for (const rule of revertRules) {
      const match = matchOf(rule, code, texts);
      if (match !== undefined) return revertOf(nestedErrors, match);
    }
    // The client says the contract's reason and nothing else, but the payload proves it to be one.
    const payload = findPayload(data);
    const reason = payload === undefined ? undefined : reasonOf(payload);
    if (reason !== undefined && texts.includes(reason)) return { payload, rebuilt: '0x' };
  }
  return undefined;
}

/** A revert by what comes with the error, when neither a revert rule nor a halt rule knows its words. */
export function revertByCode(nestedErrors: readonly NestedError[]): Revert | undefined {
  for (const { code, message, data } of nestedErrors) {
    const payload = findPayload(data);
    // No error but a revert has bytes that decode, and code 3 with a selector is one by EIP-1474's successor.
    const proves = payload !== undefined && (reasonOf(payload) !== undefined || (code === 3 && isCustom(payload)));
    if (proves) return { payload, rebuilt: '0x' };
    const match = matchOf(bareReason, code, [message]);
    if (match === undefined) continue;
    const revert = revertOf(nestedErrors, match);
    if (revert.payload !== undefined && isCustom(revert.payload)) return revert;
  }
  return undefined;
}

/** What may be a revert: by its code something was executed, and its text is one that no rule knows. */
export function guessedRevert(method: string, nestedErrors: readonly NestedError[]): Revert | undefined {
  if (method !== bareReason.of) return undefined;
  for (const { code, message } of nestedErrors) {
    const match = matchOf(bareReason, code, [message]);
    if (match !== undefined) return revertOf(nestedErrors, match);
  }
  return undefined;
}

/** A revert that a node gave as a result: geth to 1.9.13 and DeFiChain do so in eth_call. */
export function revertInResult(result: unknown): Revert | undefined {
  return isPayload(result) && reasonOf(result) !== undefined ? { payload: result, rebuilt: '0x' } : undefined;
}

function matchOf({ text: pattern, codes }: RevertRule, code: number, texts: readonly string[]) {
  if (codes?.includes(code) === false) return undefined;
  for (const text of texts) {
    const match = pattern.exec(text);
    if (match !== null) return match.groups ?? {};
  }
  return undefined;
}

function revertOf(
  nestedErrors: readonly NestedError[],
  captured: Readonly<Record<string, string | undefined>>,
): Revert {
  const { reason, panic, payload: told } = captured;
  const rebuilt = panic === undefined ? encodeReason(reason) : encodePanic(panic);
  const found = firstPayload(nestedErrors) ?? told;
  // No bytes, but a reason: the client has lost them.
  const isLost = found === '0x' && rebuilt !== '0x' && reason !== '';
  return { payload: isLost ? undefined : found, rebuilt };
}

function firstPayload(nestedErrors: readonly NestedError[]): string | undefined {
  for (const { data } of nestedErrors) {
    const payload = findPayload(data);
    if (payload !== undefined) return payload;
  }
  return undefined;
}

function isCustom(payload: string): boolean {
  return payload.length >= 2 + 2 * SELECTOR_BYTES;
}
