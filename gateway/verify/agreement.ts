import { RpcError } from '../jsonrpc/errors.ts';
import type { UpstreamValue } from '../observability/differences.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import {
  parseResponse,
  type ErrorResponse,
  type ResultResponse,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Work } from './evidence/evidence.ts';
import { compareResponses, isComparable } from './observe/compare-responses.ts';

/** A response that others confirm. */
export interface Claim {
  readonly method: MethodSpec;
  /** As sent to the upstream. */
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

/** What upstreams returned, and which. */
interface SameResult {
  readonly response: ResultResponse | ErrorResponse;
  readonly upstreams: Upstream[];
}

/**
 * Sends a call to other upstreams, one after the other, until those of enough groups returned the same.
 * @param count how many groups are enough
 * @param onDifference called with the first member that differs if not all returned the same, also before it throws
 * @returns those that returned what most did, and those that returned something else
 * @throws RpcError if no upstream is left before enough agree (rejects with it)
 */
export async function agreement(
  { method, params, response, work }: Claim,
  count: number,
  send: SendToOther,
  onDifference: (path: readonly string[], values: readonly UpstreamValue[]) => void,
): Promise<{ readonly agreeing: readonly Upstream[]; readonly others: readonly Upstream[] }> {
  const results: SameResult[] = [{ response: parseResponse(response), upstreams: [work.upstream] }];
  for (;;) {
    const tried = results.flatMap(({ upstreams }) => upstreams);
    await work.charge(method.name, params);
    const other = await send(method, params, work, tried);
    if (other === undefined) {
      reportDifference(method, results, onDifference);
      throw new RpcError('not-proven', `${describe(results)}: ${count} groups must return the same, see \`agree\``);
    }
    const parsed = parseResponse(other.response);
    let same = results.find((one) => isSame(method, one.response, parsed));
    if (same === undefined) results.push((same = { response: parsed, upstreams: [] }));
    same.upstreams.push(other.upstream);
    const agreeing = same.upstreams;
    if (new Set(agreeing.map(({ group }) => group)).size < count) continue;
    reportDifference(method, results, onDifference);
    return { agreeing, others: tried.filter((one) => !agreeing.includes(one)) };
  }
}

function reportDifference(
  method: MethodSpec,
  results: readonly SameResult[],
  onDifference: (path: readonly string[], values: readonly UpstreamValue[]) => void,
): void {
  const [first, second] = results;
  if (first === undefined || second === undefined) return;
  const compared = compareResponses(method, first.response, second.response);
  const values = results.flatMap(({ response, upstreams }) =>
    upstreams.map(({ name }) => ({ upstream: name, value: shownValueOf(response) })),
  );
  onDifference(typeof compared === 'string' ? [] : compared, values);
}

/** Of an error, what is compared: never its message, in which an upstream may repeat the call. */
function shownValueOf(response: SameResult['response']): unknown {
  if (response.kind === 'result') return response.result;
  return isComparable(response) ? response.data : `error ${response.code}`;
}

function isSame(method: MethodSpec, one: SameResult['response'], other: SameResult['response']): boolean {
  if (one.kind === 'result' && other.kind === 'result' && one.result === null && other.result === null) return true;
  if (one.kind === 'error' && other.kind === 'error' && isWithoutData(one) && isWithoutData(other))
    return one.code === other.code;
  return compareResponses(method, one, other) === 'equal';
}

/** A revert without a payload has none, or `0x`. */
function isWithoutData({ data }: ErrorResponse): boolean {
  return data === undefined || data === '0x';
}

function describe(results: readonly SameResult[]): string {
  const count = results.reduce((sum, { upstreams }) => sum + upstreams.length, 0);
  if (count === 1) return 'only one upstream returned a result';
  return results.length === 1
    ? `only ${count} upstreams returned a result`
    : `${count} upstreams returned ${results.length} results`;
}
