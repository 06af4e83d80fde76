import { clock } from '../../clock/clock.ts';
import type { ChainView } from '../../chain/view.ts';
import type { AuditOutcome } from '../../metrics/audit-metrics.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { blocksNamedBy } from '../../upstreams/available-blocks.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { AuditFinding, AuditReason, UpstreamOutcome } from './audit-finding.ts';
import type { AuditRequests } from './audit-requests.ts';
import { compareResponses, type AuditedResponse } from './compare-responses.ts';
import type { HeaderChecks } from './header-checks.ts';
import { pinCall, withBlockHash, withGas, type PinnedCall } from './pin-call.ts';

/** A node may index a new block a little later than it returns its header. */
const SETTLE_MS = 1_000;

/** A read, and what the first upstream returned for it. */
export interface AuditedCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  readonly first: Upstream;
  readonly response: AuditedResponse;
  /** By clock.now(). */
  readonly deadline: number;
}

export interface AuditParts {
  readonly requests: AuditRequests;
  readonly headers: HeaderChecks;
  readonly chain: { readonly view: ChainView<Upstream> };
}

/** The repeated call. */
interface Repetition {
  readonly pinned: PinnedCall;
  readonly params: readonly unknown[];
}

/** Repeats a read on another upstream, at the same block, and compares. A difference is confirmed before it counts. */
export async function auditCall(call: AuditedCall, parts: AuditParts): Promise<AuditFinding> {
  const { method, first, response, deadline } = call;
  const { headers, requests } = parts;
  const header = headers.check(response);
  if (isWrong(header)) return { reason: header, outcomes: [one(first, 'differs', response)] };
  const others = requests.others(method, first);
  const selected = selectSecond(call, others, parts);
  if (selected === undefined) {
    if (header !== 'verified') return { reason: 'no-upstream', outcomes: [] };
    return { reason: 'header-only', outcomes: [one(first, 'agrees', response)] };
  }
  const { second, pinned } = selected;
  const params = await paramsOf(pinned, second, call, parts);
  const answer = params && (await requests.send(second, method, params, deadline));
  const both = (reason: AuditReason, outcome: AuditOutcome): AuditFinding => {
    return { reason, outcomes: [one(first, outcome, response), one(second, outcome, answer)] };
  };
  if (params === undefined || answer === undefined) return both('no-answer', 'cannot-tell');
  const headerOfSecond = headers.check(answer);
  if (isWrong(headerOfSecond)) return { reason: headerOfSecond, outcomes: [one(second, 'differs', answer)] };
  // That of the second upstream may be the first header of the network that could be verified.
  const headerAgain = headers.check(response);
  if (isWrong(headerAgain)) return { reason: headerAgain, outcomes: [one(first, 'differs', response)] };
  const compared = compareResponses(method, response, answer);
  if (compared === 'equal') return both('same', 'agrees');
  if (compared === 'incomparable') return both('other-block', 'cannot-tell');
  return confirmDifference(call, second, others, { pinned, params }, parts);
}

/** Sends the pinned call to both again, because the first one may have used another block, and to a third one to decide. */
async function confirmDifference(
  { method, params: callParams, first, deadline }: AuditedCall,
  second: Upstream,
  others: readonly Upstream[],
  { pinned, params }: Repetition,
  { requests, chain }: AuditParts,
): Promise<AuditFinding> {
  await clock.sleep(SETTLE_MS, { ref: false });
  const repeated = withGas(method, params);
  const send = (upstream: Upstream): Promise<AuditedResponse | undefined> =>
    requests.send(upstream, method, repeated, deadline);
  const [ofFirst, ofSecond] = await Promise.all([send(first), send(second)]);
  const both = (reason: AuditReason, outcome: AuditOutcome): AuditFinding => {
    return { reason, params, outcomes: [one(first, outcome, ofFirst), one(second, outcome, ofSecond)] };
  };
  if (ofFirst === undefined || ofSecond === undefined) return both('no-answer', 'cannot-tell');
  const compared = compareResponses(method, ofFirst, ofSecond);
  if (compared === 'equal') {
    // For a tag, the first response was about another block.
    const isTagged = blocksNamedBy(method, callParams)?.tag !== undefined;
    return isTagged ? both('same', 'agrees') : both('unsteady', 'cannot-tell');
  }
  const undecided: AuditFinding = {
    ...both('undecided', 'differs'),
    path: compared === 'incomparable' ? [] : compared,
  };
  const haveSameBlock = async (upstreams: readonly Upstream[]): Promise<boolean> => {
    if (pinned.kind !== 'by-number') return true;
    const hashes = upstreams.map((upstream) => requests.blockHash(upstream, pinned.number, deadline));
    const [hash, ...more] = await Promise.all(hashes);
    return hash !== undefined && more.every((another) => another === hash);
  };
  if (compared === 'incomparable' || !(await haveSameBlock([first, second]))) return both('other-block', 'cannot-tell');
  const third = others.find((other) => other !== second && hasBlock(other, pinned, chain.view));
  const ofThird = third && (await send(third));
  if (third === undefined || ofThird === undefined || !(await haveSameBlock([first, third]))) return undecided;
  const isLikeFirst = compareResponses(method, ofFirst, ofThird) === 'equal';
  const isLikeSecond = compareResponses(method, ofSecond, ofThird) === 'equal';
  if (isLikeFirst === isLikeSecond) return undecided;
  return {
    ...undecided,
    reason: 'two-to-one',
    outcomes: [
      one(first, isLikeFirst ? 'agrees' : 'differs', ofFirst),
      one(second, isLikeSecond ? 'agrees' : 'differs', ofSecond),
      one(third, 'agrees', ofThird),
    ],
  };
}

/** The first of the other upstreams that has the block, and the call for it. */
function selectSecond(
  { method, params, first, response }: AuditedCall,
  others: readonly Upstream[],
  { chain }: AuditParts,
): { second: Upstream; pinned: PinnedCall } | undefined {
  for (const second of others) {
    const pinned = pinCall(method, params, response, newestOf([first, second], chain.view));
    if (pinned !== undefined && hasBlock(second, pinned, chain.view)) return { second, pinned };
  }
  return undefined;
}

/** The parameters to send. Undefined: the block of the number has no known hash. */
async function paramsOf(
  pinned: PinnedCall,
  second: Upstream,
  { deadline }: AuditedCall,
  { chain, requests }: AuditParts,
): Promise<readonly unknown[] | undefined> {
  if (pinned.kind !== 'by-hash') return pinned.params;
  const hash = chain.view.at(pinned.number)?.hash ?? (await requests.blockHash(second, pinned.number, deadline));
  return hash === undefined ? undefined : withBlockHash(pinned, hash);
}

/** The number of the newest block that the network and all these upstreams have; undefined: not known. */
function newestOf(upstreams: readonly Upstream[], view: ChainView<Upstream>): bigint | undefined {
  let newest = view.head?.number;
  for (const upstream of upstreams) {
    const number = view.headOf(upstream)?.number;
    if (newest !== undefined && number !== undefined && number < newest) newest = number;
  }
  return newest;
}

/** Whether the upstream is not known to lack the block. */
function hasBlock(upstream: Upstream, pinned: PinnedCall, view: ChainView<Upstream>): boolean {
  const head = view.headOf(upstream)?.number;
  return pinned.kind === 'exact' || head === undefined || head >= pinned.number;
}

function isWrong(header: string): header is 'wrong-hash' | 'wrong-parent' {
  return header === 'wrong-hash' || header === 'wrong-parent';
}

function one(upstream: Upstream, outcome: AuditOutcome, answer: AuditedResponse | undefined): UpstreamOutcome {
  return { upstream, outcome, answer };
}
