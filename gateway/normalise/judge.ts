import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply, Verdict } from '../upstream/reply.ts';
import { classify } from './classify.ts';
import { judgeResult } from './judge-result.ts';
import { asRevert } from './revert.ts';

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
  const error = { ...reply, code: trueCode(reply.code), data: hexData(reply.data) };
  const kind = classify(method, reply.code, reply.message);
  if (kind === 'final') return { final: true, reply: error };
  if (kind === 'not-found') return { final: true, reply: { kind: 'result', result: null } };
  return { final: false, failure: kind, reply: error };
}

/** Code 3 stands for a revert, which this is not; zkSync Era and others use it for any failed transaction. */
function trueCode(code: number): number {
  return code > 0 ? -32000 : code;
}

/** The spec: `error.data` is hexadecimal. Objects that nodes put there are dropped. */
function hexData(data: unknown): string | undefined {
  return typeof data === 'string' && /^0x([0-9a-f]{2})*$/i.test(data) ? data : undefined;
}
