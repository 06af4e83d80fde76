import { RpcError } from '../jsonrpc/errors.ts';
import { namedBlocks } from './blocks-held.ts';
import type { Asking } from './asking.ts';
import type { ErrorReply, Failed, Reply } from './reply.ts';
import type { ServedBlocks } from './served-blocks.ts';
import type { Upstream } from './upstream.ts';

/** What was seen of heads; made elsewhere (`heads/`). */
interface HeadsSeen {
  lookOf(upstream: Upstream): { readonly number: bigint } | undefined;
}

/** Whether an upstream at the head was asked for a block above the newest that any upstream was seen to have. */
export function isAboveHead(
  asking: Asking,
  upstream: Upstream,
  all: readonly Upstream[],
  heads: HeadsSeen,
  served: ServedBlocks<Upstream>,
): boolean {
  const highest = highestOf(asking);
  if (highest === undefined || heads.lookOf(upstream) === undefined || served.lags(upstream)) return false;
  const looks = all.map((one) => heads.lookOf(one)?.number ?? -1n);
  return highest > Number(served.latest) && looks.every((number) => highest > Number(number));
}

/** Whether all that were asked said that there is no such block. One that was down before does not count. */
export function allLackBlock(failed: readonly Failed[]): ErrorReply | undefined {
  let said: ErrorReply | undefined;
  for (const { failure, reply, wasDown } of failed) {
    if (failure === 'no-block' && reply?.kind === 'error') said ??= reply;
    else if (failure !== 'not-found' && wasDown !== true) return undefined;
  }
  return said;
}

/**
 * The response to a call for a block that there is not: the upstream's own error, by which clients decide whether they
 * retry; null for a lookup.
 * @throws RpcError where a lookup names a block that callers were told of
 */
export function noSuchBlock(asking: Asking, said: Reply, latest: bigint): Reply {
  if (!asking.method.nullable) return said;
  const highest = highestOf(asking);
  if (highest !== undefined && highest >= 0 && highest <= Number(latest)) throw new RpcError('no-upstream');
  return { kind: 'result', result: null };
}

/** Where there is one upstream only, no blocks were read off the call before. */
function highestOf({ method, params, blocks }: Asking): number | undefined {
  return (blocks ?? namedBlocks(method, params))?.highest;
}
