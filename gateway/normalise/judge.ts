import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply, Verdict } from '../upstream/reply.ts';
import { classify } from './classify.ts';
import { judgeResult } from './judge-result.ts';
import { isPayload } from './revert-payload.ts';
import { asRevert } from './revert.ts';

type ErrorReply = Extract<Reply, { kind: 'error' }>;

/**
 * Makes the spec's answer of what a node said, whatever software it runs. Pure but for completing the result in place.
 * The order matters: reverts come first because a revert's reason is a contract's text and may say anything
 * (`rate limit exceeded`, `header not found`).
 * @param params as they were sent
 */
export function judge(method: MethodSpec, params: readonly unknown[], reply: Reply): Verdict {
  if (reply.kind === 'result') return judgeResult(method, params, reply.result);
  const revert = method.reverts ? asRevert(reply) : undefined;
  if (revert !== undefined) return { final: true, reply: revert };
  const error = withoutFalseRevert(reply);
  const kind = classify(method, reply.code, reply.message);
  if (kind === 'final') return { final: true, reply: error };
  if (kind === 'not-found') return { final: true, reply: { kind: 'result', result: null } };
  return { final: false, failure: kind, reply: error };
}

/**
 * Code 3 stands for a revert, which this is not; zkSync Era and others use it, with data, for any failed transaction.
 * The spec: `error.data` is hexadecimal. Objects and texts that nodes put there are dropped.
 */
function withoutFalseRevert({ code, message, data }: ErrorReply): ErrorReply {
  if (code > 0) return { kind: 'error', code: -32000, message, data: undefined };
  return { kind: 'error', code, message, data: isPayload(data) ? data : undefined };
}
