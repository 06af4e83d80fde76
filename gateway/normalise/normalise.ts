import { isBytes } from '../collections/is-bytes.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import {
  UpstreamFailure,
  type ErrorResponse,
  type LargeResponse,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { FollowUp, Outcome } from '../upstreams/outcome.ts';
import { classify, executesNothing, isFinal } from './errors/classify.ts';
import { nestedErrorsOf, mainError, type NestedError } from './errors/nested-errors.ts';
import type { Meaning } from './errors/error-rule.ts';
import { checkResultBytes } from './results/check-result-bytes.ts';
import { checkResult } from './results/check-result.ts';
import { findRetryHint } from './errors/retry-hint.ts';
import { decodeReason } from './errors/revert-payload.ts';
import {
  findRevertByCode,
  findRevertByMessage,
  findRevertInResult,
  guessRevert,
  type Revert,
} from './errors/revert.ts';

/** Longer messages of nodes are truncated. */
const MAX_MESSAGE_CHARS = 4 * 1024;

const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;

/**
 * Turns an upstream response into the response of the spec, for all node software. It has no side effects, except that
 * it completes the result in place. Reverts are checked first, because a revert's reason is a text of the contract,
 * which may look like any error (`rate limit exceeded`, `header not found`).
 * @param params as sent to the upstream
 */
export function normalise(method: MethodSpec, params: readonly unknown[], response: UpstreamResponse): Outcome {
  if (response.kind === 'large') return normaliseLarge(method, params, response);
  if (response.kind === 'result') return checkResult(method, params, response);
  const nestedErrors = nestedErrorsOf(response);
  const revert = findRevert(method, nestedErrors);
  if (revert !== undefined && method.reverts) return revertOutcome(method, params, revert);
  const error = sanitiseError(method, nestedErrors);
  const meaning =
    revert === undefined ? classify(method, nestedErrors, response.status ?? 200) : meaningWithoutReverts(method);
  if (meaning === 'final') return { final: true, response: error };
  if (meaning === 'null') return { final: true, response: { kind: 'result', result: null } };
  const guess = meaning === 'unknown' && revert === undefined ? guessRevert(method, nestedErrors) : undefined;
  if (guess !== undefined) return guessOutcome(params, guess);
  const hasHint = meaning === 'rate' && executesNothing(method);
  const retryAfterMs = response.retryAfterMs ?? (hasHint ? findRetryHint(nestedErrors) : undefined);
  return { final: false, failure: meaning, response: error, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** @throws UpstreamFailure if parsing shows that it is not a response to the call */
function normaliseLarge(method: MethodSpec, params: readonly unknown[], response: LargeResponse): Outcome {
  const [bytes] = response.parts;
  const kind = bytes[0] === OPEN_BRACE ? 'object' : bytes[0] === OPEN_BRACKET ? 'array' : undefined;
  if (kind !== undefined && method.resultKinds?.includes(kind) === false && !bytes.includes('"error"'))
    throw new UpstreamFailure('malformed', `the result is an ${kind}`);
  return checkResultBytes(method, params, response) ?? normalise(method, params, response.parse());
}

function findRevert(method: MethodSpec, nestedErrors: readonly NestedError[]): Revert | undefined {
  const revert = findRevertByMessage(nestedErrors);
  if (revert !== undefined || !method.reverts || isFinal(method, nestedErrors)) return revert;
  return findRevertByCode(nestedErrors);
}

/**
 * Meaning of a revert of a method without reverts in the spec. Such a method is a trace, or a send to a development node,
 * which has mined the transaction: it must not be sent again. Rules do not apply, because the message has the
 * contract's text.
 */
function meaningWithoutReverts(method: MethodSpec): Meaning {
  return method.sends === true ? 'final' : 'unknown';
}

function revertOutcome(method: MethodSpec, params: readonly unknown[], revert: Revert): Outcome {
  const outcome = { final: true, response: revertResponse(revert) } as const;
  if (revert.payload !== undefined || method.omitsPayload !== true) return outcome;
  return { ...outcome, followUp: revertPayloadFollowUp(params) };
}

/** The payload in the follow-up proves the revert. Otherwise another upstream gets the call; the guess is a fallback. */
function guessOutcome(params: readonly unknown[], revert: Revert): Outcome {
  const followUp = revertPayloadFollowUp(params);
  return { final: false, failure: 'unknown', response: revertResponse(revert), followUp };
}

/** Some nodes omit the payload in an estimate, but not in eth_call: ganache-cli 6, parity, nethermind, ethermint. */
function revertPayloadFollowUp([call, block, ...overrides]: readonly unknown[]): FollowUp {
  return {
    method: nodeMethods.call,
    params: [call, block ?? 'latest', ...overrides],
    complete: (response) => {
      const revert =
        response.kind === 'error' ? findRevertByMessage(nestedErrorsOf(response)) : findRevertInResult(response.result);
      return revert?.payload === undefined ? undefined : revertResponse(revert);
    },
  };
}

/**
 * The spec's error for a revert: code 3, geth's message with the reason decoded from the payload, and the payload. Only the
 * node can know the name of a custom error.
 */
function revertResponse({ payload: given, rebuilt, customError }: Revert): UpstreamResponse {
  const payload = given ?? rebuilt;
  const reason = decodeReason(payload) ?? customError;
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
  return { kind: 'error', code: 3, message, data: payload };
}

/**
 * An error as callers get it. Code 3 is replaced, because it means a revert, and zkSync Era and others use it for any
 * failed transaction. `error.data` is hexadecimal in the spec: objects, texts and empty data are removed, but of bundlers.
 */
function sanitiseError({ hasErrorData }: MethodSpec, nestedErrors: readonly NestedError[]): ErrorResponse {
  const { code, message, data } = mainError(nestedErrors);
  const text = withoutInternals(
    message.length > MAX_MESSAGE_CHARS
      ? `${message.slice(0, MAX_MESSAGE_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…`
      : message,
  );
  if (code >= 0) return { kind: 'error', code: -32000, message: text, data: undefined };
  const isKept = hasErrorData === true || (isBytes(data) && data !== '0x');
  return { kind: 'error', code, message: text, data: isKept ? dataWithoutInternals(data) : undefined };
}

function dataWithoutInternals(data: unknown): unknown {
  if (typeof data !== 'object') return typeof data === 'string' ? withoutInternals(data) : data;
  const json = JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'string' ? withoutInternals(value) : value,
  );
  return json.length > MAX_MESSAGE_CHARS ? undefined : (JSON.parse(json) as unknown);
}

/** Removes addresses behind a node, as the errors of Go's and Rust's HTTP clients contain them, and stacks of Node. */
function withoutInternals(message: string): string {
  return (
    message
      .replace(/\n[ \t]+at [^]*$/, '')
      // The lookbehind makes it linear: a scheme is searched for once in each word, not at each of its hyphens.
      .replace(/(?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s"'`<>)\]}]+/gi, '<url>')
      .replace(/\b(dial tcp|lookup) [^\s:]+(:\d+)?/g, '$1 <address>')
      .replace(/\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g, '<address>')
  );
}
