import { RpcError } from '../jsonrpc/errors.ts';
import type { Differences } from '../observability/differences.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { parseResponse, type ErrorResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { compareResponses, isComparable, type ComparedResponse } from './evidence/compare-responses.ts';
import type { Work } from './evidence/evidence.ts';

/** A response that others confirm. */
export interface Claim {
  readonly method: MethodSpec;
  /** Parameters, as sent to the upstream. */
  readonly params: readonly unknown[];
  readonly response: UpstreamResponse;
  readonly work: Work;
}

/** Sends a call to an upstream that is none of these. Undefined: no other one has a response. */
export type SendToOther = (
  method: MethodSpec,
  params: readonly unknown[],
  work: Pick<Work, 'deadline' | 'caller'>,
  excluded: readonly Upstream[],
) => Promise<{ readonly upstream: Upstream; readonly response: UpstreamResponse } | undefined>;

/** Response, and the upstreams that returned it. */
interface SameResult {
  readonly response: ComparedResponse;
  readonly upstreams: Upstream[];
}

/**
 * Sends a call to other upstreams, one after the other, until those of enough groups returned the same.
 * @param count how many groups are enough
 * @param differences gets the first member that differs if not all returned the same
 * @returns those that returned what most did, and those that returned something else
 * @throws RpcError if no upstream is left before enough agree (rejects with it)
 */
export async function agreement(
  { method, params, response, work }: Claim,
  count: number,
  send: SendToOther,
  differences: Differences,
): Promise<{ readonly agreeing: readonly Upstream[]; readonly others: readonly Upstream[] }> {
  const first: SameResult = { response: parseResponse(response), upstreams: [work.upstream] };
  const results = [first];
  const tried = (): Upstream[] => results.flatMap(({ upstreams }) => upstreams);
  let agreeing: readonly Upstream[] | undefined;
  while (agreeing === undefined) {
    await work.charge(method.name, params);
    const other = await send(method, params, work, tried());
    if (other === undefined) break;
    const parsed = parseResponse(other.response);
    let same = results.find((one) => isSame(method, one.response, parsed));
    if (same === undefined) results.push((same = { response: parsed, upstreams: [] }));
    same.upstreams.push(other.upstream);
    if (new Set(same.upstreams.map(({ group }) => group)).size >= count) agreeing = same.upstreams;
  }
  const [, second] = results;
  if (second !== undefined) {
    const path = compareResponses(method, first.response, second.response);
    const values = results.flatMap(({ response: one, upstreams }) =>
      upstreams.map(({ name }) => ({ upstream: name, value: shownValueOf(one) })),
    );
    const reason = `agree: ${count} upstreams must return the same`;
    differences.add({ method, params, reason, path: typeof path === 'string' ? [] : path, values });
  }
  if (agreeing !== undefined) {
    const same = new Set(agreeing);
    return { agreeing, others: tried().filter((one) => !same.has(one)) };
  }
  const all = tried().length;
  const returned =
    all === 1
      ? 'only one upstream returned a result'
      : second === undefined
        ? `only ${all} upstreams returned a result`
        : `${all} upstreams returned ${results.length} results`;
  throw new RpcError('not-proven', `${returned}: ${count} groups must return the same, see \`verify.agree\``);
}

/** Value that is compared; of an error never its message, in which an upstream may repeat the call. */
function shownValueOf(response: ComparedResponse): unknown {
  if (response.kind === 'result') return response.result;
  return isComparable(response) ? response.data : `error ${response.code}`;
}

function isSame(method: MethodSpec, one: ComparedResponse, other: ComparedResponse): boolean {
  if (one.kind === 'result' && other.kind === 'result' && one.result === null && other.result === null) return true;
  if (isWithoutData(one) && isWithoutData(other)) return one.code === other.code;
  return compareResponses(method, one, other) === 'equal';
}

/** Whether a response is an error without a payload, which a revert has as none, or as `0x`. */
function isWithoutData(response: ComparedResponse): response is ErrorResponse {
  return response.kind === 'error' && (response.data === undefined || response.data === '0x');
}
