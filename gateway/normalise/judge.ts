import type { MethodSpec } from '../spec/method-spec.ts';
import type { ErrorReply, FollowUp, LargeReply, Reply, Verdict } from '../upstream/reply.ts';
import { classify, isFinal } from './classify.ts';
import { layersOf, spokesman, type ErrorLayer } from './error-layers.ts';
import type { Meaning } from './error-rule.ts';
import { judgeBytes } from './judge-bytes.ts';
import { judgeResult } from './judge-result.ts';
import { retryHint } from './retry-hint.ts';
import { isPayload, reasonOf } from './revert-payload.ts';
import { guessedRevert, revertInResult, spokenRevert, unspokenRevert, type Revert } from './revert.ts';

/** Characters of a node's message that are passed on. */
const MESSAGE_MAX = 4 * 1024;

/**
 * Makes the spec's answer of what a node said, whatever software it runs. Pure but for completing the result in place.
 * The order matters: reverts come first because a revert's reason is a contract's text and may say anything
 * (`rate limit exceeded`, `header not found`).
 * @param params as they were sent
 */
export function judge(method: MethodSpec, params: readonly unknown[], reply: Reply): Verdict {
  if (reply.kind === 'large') return judgeLarge(method, params, reply);
  if (reply.kind === 'result') return judgeResult(method, params, reply);
  const layers = layersOf(reply);
  const revert = findRevert(method, layers);
  if (revert !== undefined && method.reverts) return revertVerdict(method, params, revert);
  const error = passedOn(layers);
  const means = revert === undefined ? classify(method, layers, reply.status ?? 200) : ofOtherMethod(method);
  if (means === 'final') return { final: true, reply: error };
  if (means === 'null') return { final: true, reply: { kind: 'result', result: null } };
  const guess = means === 'unknown' && revert === undefined ? guessedRevert(method.name, layers) : undefined;
  if (guess !== undefined) return guessVerdict(params, guess);
  const retryAfterMs = reply.retryAfterMs ?? (means === 'rate' ? retryHint(layers) : undefined);
  return { final: false, failure: means, reply: error, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** @throws UpstreamFailure where it turns out to be no reply */
function judgeLarge(method: MethodSpec, params: readonly unknown[], reply: LargeReply): Verdict {
  const parts = judgeBytes(method, params, reply.parts[0]);
  return parts === undefined ? judge(method, params, reply.parse()) : { final: true, reply: { ...reply, parts } };
}

function findRevert(method: MethodSpec, layers: readonly ErrorLayer[]): Revert | undefined {
  const spoken = spokenRevert(layers);
  return spoken !== undefined || !method.reverts || isFinal(method, layers) ? spoken : unspokenRevert(layers);
}

/**
 * A revert of a method that has none by the spec: a trace, or a dev node that has mined the transaction and must not
 * be asked to do so again elsewhere. The contract's words are in it, so that no rule may look at them.
 */
function ofOtherMethod(method: MethodSpec): Meaning {
  return method.sends === true ? 'final' : 'unknown';
}

function revertVerdict(method: MethodSpec, params: readonly unknown[], { payload, rebuilt }: Revert): Verdict {
  const verdict = { final: true, reply: revertReply(payload ?? rebuilt) } as const;
  if (payload !== undefined || method.name === 'eth_call') return verdict;
  return { ...verdict, followUp: askForPayload(params) };
}

/** Another upstream is asked, unless the same one has the payload, which proves the revert. The guess is what is left. */
function guessVerdict(params: readonly unknown[], { payload, rebuilt }: Revert): Verdict {
  const followUp = askForPayload(params);
  return { final: false, failure: 'unknown', reply: revertReply(payload ?? rebuilt), followUp };
}

/** Clients that lose a revert's payload in an estimate have it in eth_call: ganache-cli 6, parity, nethermind, ethermint. */
function askForPayload([call, block, ...overrides]: readonly unknown[]): FollowUp {
  return {
    method: 'eth_call',
    params: [call, block ?? 'latest', ...overrides],
    complete: (said) => {
      const revert = said.kind === 'error' ? spokenRevert(layersOf(said)) : revertInResult(said.result);
      return revert?.payload === undefined ? undefined : revertReply(revert.payload);
    },
  };
}

/** The spec's answer to a revert: code 3, the reason decoded from the payload in geth's words, the payload. */
function revertReply(payload: string): Reply {
  const reason = reasonOf(payload);
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`;
  return { kind: 'error', code: 3, message, data: payload };
}

/**
 * Code 3 stands for a revert, which this is not; zkSync Era and others use it, with data, for any failed transaction.
 * The spec: `error.data` is hexadecimal. Objects, texts and the nothing that nodes put there are dropped.
 */
function passedOn(layers: readonly ErrorLayer[]): ErrorReply {
  const { code, message, data } = spokesman(layers);
  const text = withoutAddresses(
    message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX).replace(/[\uD800-\uDBFF]$/, '')}…` : message,
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
