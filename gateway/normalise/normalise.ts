import type { MethodSpec } from '../spec/method-spec.ts';
import type { ErrorResponse, LargeResponse, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FollowUp, Outcome } from '../upstreams/outcome.ts';
import { classify, isFinal } from './errors/classify.ts';
import { nestedErrorsOf, mainError, type NestedError } from './errors/nested-errors.ts';
import type { Meaning } from './errors/error-rule.ts';
import { checkResultBytes } from './results/check-result-bytes.ts';
import { checkResult } from './results/check-result.ts';
import { retryHint } from './errors/retry-hint.ts';
import { isPayload, reasonOf } from './errors/revert-payload.ts';
import { guessedRevert, revertInResult, revertByMessage, revertByCode, type Revert } from './errors/revert.ts';

/** Characters of a node's message that are passed on. */
const MAX_MESSAGE_CHARS = 4 * 1024;

/**
 * Makes the spec's answer of what a node said, whatever software it runs. Pure but for completing the result in place.
 * The order matters: reverts come first because a revert's reason is a contract's text and may say anything
 * (`rate limit exceeded`, `header not found`).
 * @param params as they were sent
 */
export function normalise(method: MethodSpec, params: readonly unknown[], response: UpstreamResponse): Outcome {
  if (response.kind === 'large') return normaliseLarge(method, params, response);
  if (response.kind === 'result') return checkResult(method, params, response);
  const nestedErrors = nestedErrorsOf(response);
  const revert = findRevert(method, nestedErrors);
  if (revert !== undefined && method.reverts) return revertVerdict(method, params, revert);
  const error = passedError(nestedErrors);
  const means =
    revert === undefined ? classify(method, nestedErrors, response.status ?? 200) : meaningForOtherMethod(method);
  if (means === 'final') return { final: true, response: error };
  if (means === 'null') return { final: true, response: { kind: 'result', result: null } };
  const guess = means === 'unknown' && revert === undefined ? guessedRevert(method.name, nestedErrors) : undefined;
  if (guess !== undefined) return guessVerdict(params, guess);
  const retryAfterMs = response.retryAfterMs ?? (means === 'rate' ? retryHint(nestedErrors) : undefined);
  return { final: false, failure: means, response: error, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** @throws UpstreamFailure where it turns out to be no reply */
function normaliseLarge(method: MethodSpec, params: readonly unknown[], response: LargeResponse): Outcome {
  const parts = checkResultBytes(method, params, response.parts[0]);
  return parts === undefined
    ? normalise(method, params, response.parse())
    : { final: true, response: { ...response, parts } };
}

function findRevert(method: MethodSpec, nestedErrors: readonly NestedError[]): Revert | undefined {
  const spoken = revertByMessage(nestedErrors);
  return spoken !== undefined || !method.reverts || isFinal(method, nestedErrors) ? spoken : revertByCode(nestedErrors);
}

/**
 * A revert of a method that has none by the spec: a trace, or a dev node that has mined the transaction and must not
 * be asked to do so again elsewhere. The contract's words are in it, so that no rule may look at them.
 */
function meaningForOtherMethod(method: MethodSpec): Meaning {
  return method.sends === true ? 'final' : 'unknown';
}

function revertVerdict(method: MethodSpec, params: readonly unknown[], { payload, rebuilt }: Revert): Outcome {
  const verdict = { final: true, response: revertResponse(payload ?? rebuilt) } as const;
  if (payload !== undefined || method.name === 'eth_call') return verdict;
  return { ...verdict, followUp: revertPayloadFollowUp(params) };
}

/** Another upstream is asked, unless the same one has the payload, which proves the revert. The guess is what is left. */
function guessVerdict(params: readonly unknown[], { payload, rebuilt }: Revert): Outcome {
  const followUp = revertPayloadFollowUp(params);
  return { final: false, failure: 'unknown', response: revertResponse(payload ?? rebuilt), followUp };
}

/** Clients that lose a revert's payload in an estimate have it in eth_call: ganache-cli 6, parity, nethermind, ethermint. */
function revertPayloadFollowUp([call, block, ...overrides]: readonly unknown[]): FollowUp {
  return {
    method: 'eth_call',
    params: [call, block ?? 'latest', ...overrides],
    complete: (said) => {
      const revert = said.kind === 'error' ? revertByMessage(nestedErrorsOf(said)) : revertInResult(said.result);
      return revert?.payload === undefined ? undefined : revertResponse(revert.payload);
    },
  };
}

/** The spec's answer to a revert: code 3, the reason decoded from the payload in geth's words, the payload. */
function revertResponse(payload: string): UpstreamResponse {
  const reason = reasonOf(payload);
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
  return { kind: 'error', code: 3, message, data: payload };
}

/**
 * Code 3 stands for a revert, which this is not; zkSync Era and others use it, with data, for any failed transaction.
 * The spec: `error.data` is hexadecimal. Objects, texts and the nothing that nodes put there are dropped.
 */
function passedError(nestedErrors: readonly NestedError[]): ErrorResponse {
  const { code, message, data } = mainError(nestedErrors);
  const text = withoutAddresses(
    message.length > MAX_MESSAGE_CHARS
      ? `${message.slice(0, MAX_MESSAGE_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…`
      : message,
  );
  if (code >= 0) return { kind: 'error', code: -32000, message: text, data: undefined };
  return { kind: 'error', code, message: text, data: isPayload(data) && data !== '0x' ? data : undefined };
}

/** No caller is to learn what stands behind a node: Go's and Rust's HTTP clients name it in their errors. */
function withoutAddresses(message: string): string {
  return message
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>)\]}]+/gi, '<url>')
    .replace(/\b(dial tcp|lookup) [^\s:]+(:\d+)?/g, '$1 <address>')
    .replace(/\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g, '<address>');
}
