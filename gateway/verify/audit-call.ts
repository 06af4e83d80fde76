import { hash } from 'node:crypto';
import type { ChainView } from '../chain/view.ts';
import { clock } from '../clock/clock.ts';
import type { AuditOutcome } from '../metrics/series.ts';
import type { AuditReport } from '../observability/call-record.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { AuditRequests } from './evidence/audit-requests.ts';
import { compareResponses, valueOf, type ComparedResponse } from './evidence/compare-responses.ts';
import type { HeaderChecks } from './header-checks.ts';
import { pinCall, withBlock, withGas, type PinnedCall } from './pin-call.ts';

/** A node may index a new block a little later than it returns its header. */
const SETTLE_MS = 1_000;

/** Why an audit has its outcome, for the log and for explanations. */
const reasons = {
  same: 'the upstreams returned the same',
  'header-only': 'the hash of the header is right; no other upstream is available now',
  'wrong-hash': 'the hash of a block is not that of its header',
  'wrong-parent': 'the parent of a block is not its parent in the followed chain',
  'two-to-one': 'an upstream differs from two others',
  undecided: 'two upstreams differ, and no third one decides',
  'no-upstream': 'no other upstream is available now, or none has the block',
  'no-answer': 'an upstream returned nothing that can be compared',
  'other-block': 'the upstreams have different blocks',
  unsteady: 'an upstream returned something else when the call was repeated',
} as const;

/** A read, and what the first upstream returned for it. */
export interface AuditedCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  readonly first: Upstream;
  readonly response: ComparedResponse;
  /** Deadline, by clock.now(). */
  readonly deadline: number;
}

export interface AuditParts {
  readonly requests: AuditRequests;
  readonly headers: HeaderChecks;
  readonly chain: { readonly view: ChainView<Upstream> };
}

/** An upstream, its outcome, and what it returned; undefined: nothing that can be compared. */
type Answer = readonly [upstream: Upstream, outcome: AuditOutcome, response: ComparedResponse | undefined];

/** Finding of an audit. Without answers, nothing was compared. */
export interface AuditFinding {
  readonly reason: keyof typeof reasons;
  readonly answers: readonly Answer[];
  /** Parameters of the repeated call; undefined: as in the call. */
  readonly params?: readonly unknown[];
  /** Path to the first member in which results differ; undefined: they are not compared with one another. */
  readonly path?: readonly string[];
}

/** Repeats a read on another upstream, at the same block, and compares. A difference is confirmed before it counts. */
export async function auditCall(call: AuditedCall, parts: AuditParts): Promise<AuditFinding> {
  const { method, first, response, deadline } = call;
  const { requests, headers } = parts;
  const header = headers.check(response);
  if (isWrong(header)) return { reason: header, answers: [[first, 'differs', response]] };
  const others = requests.others(first, method);
  const selected = selectSecond(call, others, parts);
  if (selected === undefined)
    return header === 'verified'
      ? { reason: 'header-only', answers: [[first, 'agrees', response]] }
      : { reason: 'no-upstream', answers: [] };
  const { second, pinned } = selected;
  const params = await paramsOf(pinned, second, call, parts);
  const repeated = params && (await requests.send(second, method, params, deadline));
  const both = (reason: AuditFinding['reason'], outcome: AuditOutcome): AuditFinding => {
    return { reason, answers: [answer(first, outcome, response), answer(second, outcome, repeated)] };
  };
  if (params === undefined || repeated === undefined) return both('no-answer', 'cannot-tell');
  // The header of the second upstream may be the first one of the network that could be verified.
  for (const [upstream, given] of [[second, repeated] as const, [first, response] as const]) {
    const checked = headers.check(given);
    if (isWrong(checked)) return { reason: checked, answers: [[upstream, 'differs', given]] };
  }
  const compared = compareResponses(method, response, repeated);
  if (compared === 'equal') return both('same', 'agrees');
  if (compared === 'incomparable') return both('other-block', 'cannot-tell');
  return confirmDifference(call, second, others, { ...pinned, params }, parts);
}

/** Sends the pinned call to both again, because the first one may have used another block, and to a third one to decide. */
async function confirmDifference(
  { method, params: callParams, first, deadline }: AuditedCall,
  second: Upstream,
  others: readonly Upstream[],
  pinned: PinnedCall,
  { requests, chain }: AuditParts,
): Promise<AuditFinding> {
  const { params } = pinned;
  await clock.sleep(SETTLE_MS, { ref: false });
  const send = (upstream: Upstream): Promise<ComparedResponse | undefined> =>
    requests.send(upstream, method, withGas(method, params), deadline);
  const [ofFirst, ofSecond] = await Promise.all([send(first), send(second)]);
  const both = (reason: AuditFinding['reason'], outcome: AuditOutcome): AuditFinding => {
    return { reason, params, answers: [answer(first, outcome, ofFirst), answer(second, outcome, ofSecond)] };
  };
  if (ofFirst === undefined || ofSecond === undefined) return both('no-answer', 'cannot-tell');
  const compared = compareResponses(method, ofFirst, ofSecond);
  if (compared === 'equal') {
    // For a tag, the first response was about another block.
    const isTagged = blocksNamedBy(method, callParams)?.tag !== undefined;
    return isTagged ? both('same', 'agrees') : both('unsteady', 'cannot-tell');
  }
  const hasSameBlock = async (other: Upstream): Promise<boolean> => {
    if (pinned.kind !== 'by-number') return true;
    const hashes = [first, other].map((upstream) => requests.blockHash(upstream, pinned.number, deadline));
    const [hash, another] = await Promise.all(hashes);
    return hash !== undefined && hash === another;
  };
  if (compared === 'incomparable' || !(await hasSameBlock(second))) return both('other-block', 'cannot-tell');
  const undecided: AuditFinding = { ...both('undecided', 'differs'), path: compared };
  const third = others.find((other) => other !== second && hasBlock(other, pinned, chain.view));
  const ofThird = third && (await send(third));
  if (third === undefined || ofThird === undefined || !(await hasSameBlock(third))) return undecided;
  const [isLikeFirst, isLikeSecond] = [ofFirst, ofSecond].map(
    (one) => compareResponses(method, one, ofThird) === 'equal',
  );
  if (isLikeFirst === isLikeSecond) return undecided;
  const outcomeOf = (isLikeThird = false): AuditOutcome => (isLikeThird ? 'agrees' : 'differs');
  const answers: Answer[] = [
    [first, outcomeOf(isLikeFirst), ofFirst],
    [second, outcomeOf(isLikeSecond), ofSecond],
    [third, 'agrees', ofThird],
  ];
  return { ...undecided, reason: 'two-to-one', answers };
}

/** The first of the other upstreams that has the block, and the call for it. */
function selectSecond(
  { method, params, first, response }: AuditedCall,
  others: readonly Upstream[],
  { chain: { view } }: AuditParts,
): { second: Upstream; pinned: PinnedCall } | undefined {
  for (const second of others) {
    // The newest block that the network and both upstreams have.
    let newest = view.head?.number;
    for (const one of [first, second]) {
      const number = view.headOf(one)?.number;
      if (newest !== undefined && number !== undefined && number < newest) newest = number;
    }
    const pinned = pinCall(method, params, response, newest);
    if (pinned !== undefined && hasBlock(second, pinned, view)) return { second, pinned };
  }
  return undefined;
}

/** The parameters to send. Undefined: the block of the number has no known hash. */
async function paramsOf(
  pinned: PinnedCall,
  second: Upstream,
  { method, deadline }: AuditedCall,
  { chain, requests }: AuditParts,
): Promise<readonly unknown[] | undefined> {
  const { kind, params } = pinned;
  if (kind !== 'by-hash') return params;
  const { number } = pinned;
  const blockHash = chain.view.at(number)?.hash ?? (await requests.blockHash(second, number, deadline));
  return blockHash === undefined ? undefined : withBlock(method, params, { blockHash });
}

/** Whether the upstream is not known to lack the block. */
function hasBlock(upstream: Upstream, pinned: PinnedCall, view: ChainView<Upstream>): boolean {
  const head = view.headOf(upstream)?.number;
  return pinned.kind === 'exact' || head === undefined || head >= pinned.number;
}

function isWrong(header: string): header is 'wrong-hash' | 'wrong-parent' {
  return header === 'wrong-hash' || header === 'wrong-parent';
}

function answer(...one: Answer): Answer {
  return one;
}

/** The finding for explanations and the log: with hashes in place of contents, which are the same for equal results. */
export function reportOf(method: MethodSpec, { reason, answers }: AuditFinding): AuditReport {
  const compared = answers.flatMap(([, , response]) => response ?? []);
  const sha256Of = (response: ComparedResponse): string => {
    const like = compared.find((one) => compareResponses(method, one, response) === 'equal') ?? response;
    return hash('sha256', JSON.stringify(valueOf(like)), 'hex');
  };
  const outcomes = answers.map(([, outcome]) => outcome);
  return {
    outcome: (['differs', 'cannot-tell', 'agrees'] as const).find((one) => outcomes.includes(one)) ?? 'not-audited',
    reason: reasons[reason],
    answers: answers.map(([{ name: upstream }, outcome, response]) => {
      return { upstream, outcome, ...(response !== undefined && { sha256: sha256Of(response) }) };
    }),
  };
}
