import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Asking } from './asking.ts';
import { allLackBlock, noSuchBlock } from './no-such-block.ts';
import type { UpstreamLimits } from './upstream-limits.ts';
import type { ErrorReply, FailureClass, Reply } from './reply.ts';

/** What says most about the call itself, first. */
const telling: readonly FailureClass[] = ['unknown', 'too-large', 'node-state', 'no-block'];

/**
 * The answer when every upstream was tried: the class of what they said decides.
 * @param unasked all of them, for where nobody was asked
 * @param latest the newest block that callers were told of
 * @throws RpcError where there is nothing to pass on
 */
export function exhausted(
  asking: Asking,
  unasked: readonly { readonly limits: UpstreamLimits | undefined }[],
  latest: bigint,
  now: number,
): Reply {
  const { method, failed } = asking;
  if (failed.length === 0) throw nobodyLeft(unasked, now);
  const classes = new Set(failed.map(({ failure }) => failure));
  if (classes.size === 1 && classes.has('unsupported')) return unsupported(method);
  const lacksBlock = allLackBlock(failed);
  if (lacksBlock !== undefined) return noSuchBlock(asking, lacksBlock, latest);
  for (const failure of telling) {
    const reply = failed.findLast((verdict) => verdict.failure === failure)?.reply;
    if (reply?.kind === 'error') return passOn(failure, reply);
  }
  // HTTP 413, which comes without a node's words.
  if (classes.has('too-large')) throw new RpcError('request-too-large');
  // Nobody lacks a part of the chain: who could answer says that there is no such thing.
  if (classes.has('not-found')) return { kind: 'result', result: null };
  throw new RpcError('no-upstream');
}

/** Why nobody is asked: those who could be are at their limits, or there are none. */
export function nobodyLeft(unasked: readonly { readonly limits: UpstreamLimits | undefined }[], now: number): RpcError {
  const waits = unasked.flatMap(({ limits }) => (limits?.hasRoom(now) === false ? limits.waitMs(now) : []));
  return waits.length > 0 ? atLimits(Math.min(...waits)) : new RpcError('no-upstream');
}

/** The answer where nobody has the method. @throws RpcError method-not-found */
export function unsupported(method: MethodSpec): Reply {
  if (method.nullWhenUnsupported === true) return { kind: 'result', result: null };
  throw methodNotFound(method.name);
}

function atLimits(waitMs: number): RpcError {
  const retryAfterS = Math.ceil(waitMs / 1_000);
  return new RpcError('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
}

function passOn(failure: FailureClass, reply: ErrorReply): Reply {
  if (failure === 'too-large') throw new RpcError('request-too-large', reply.message);
  if (failure === 'node-state' || failure === 'no-block')
    throw new RpcError('node-state', `no upstream could answer: ${reply.message}`);
  return reply;
}
