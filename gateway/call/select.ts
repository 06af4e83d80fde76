import { clock } from '../clock/clock.ts';
import type { CallNeeds, CandidateState, NetworkState } from '../routing-policy/candidate.ts';
import { selectCandidate, type Selected } from '../routing-policy/select-candidate.ts';
import { skipReasonOf, type SkipReason } from '../routing-policy/skip-reasons.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { MIN_ATTEMPT_MS } from '../upstreams/transport/upstream-response.ts';
import { asFollowed } from '../chain/view.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { Call } from './call.ts';
import { canRepeat } from './confirm.ts';
import { budgetExceeded, skipped } from './events.ts';
import type { Router } from './router.ts';

type Purpose = CallNeeds['purpose'];

/** An unknown error is retried once, at another upstream. The second unknown error is the response. */
const MAX_UNKNOWN_ERRORS = 2;

/** Selects the upstream of the next attempt. Undefined: no further attempt is made. */
export function selectUpstream(call: Call, now: number): Upstream | undefined {
  return selectNext(call, now) ?? (canRepeat(call) ? selectAgain(call, now) : undefined);
}

/** The next upstream while there is time, while another attempt may change the outcome, and within the retry budget. */
function selectNext(call: Call, now: number): Upstream | undefined {
  const { tried, failed, deadline, method, unconfirmed, router } = call;
  const isFirst = tried.length === 0;
  if (isFirst) router.budget.countCall(now);
  if (deadline - now <= (isFirst ? 0 : MIN_ATTEMPT_MS) || (!isFirst && !call.hasAttempt)) return undefined;
  // A result that is proven may come from any upstream, after lists of logs that are not in order, too.
  const errors = call.verification === undefined ? failed : failed.filter(({ isIrregular }) => isIrregular !== true);
  if (failed.length > 1 && errors.filter(isUnknownError).length >= MAX_UNKNOWN_ERRORS) return undefined;
  // A response is confirmed at closed circuits only.
  const upstream = select(call, now, unconfirmed === undefined ? 'attempt' : 'closed-retry');
  // A range that is too large for one upstream is no failure.
  if (isFirst || upstream === undefined || isRefusedRange(call)) return upstream;
  if (upstream.circuit.isClosed || method.sends === true) {
    // An upstream without the method executed nothing.
    if (failed.at(-1)?.failure !== 'unsupported') router.budget.countExtra();
    return upstream;
  }
  if (router.budget.takeExtra(now)) return upstream;
  budgetExceeded(call, 'retry');
  // An upstream with a closed circuit may come later in the order, despite a skip reason.
  return select(call, now, 'closed-retry');
}

/** The only upstream that was tried, once more. */
function selectAgain(call: Call, now: number): Upstream | undefined {
  const [upstream, other] = call.tried;
  if (!call.hasAttempt || upstream === undefined || other !== undefined) return undefined;
  if (call.deadline - now <= MIN_ATTEMPT_MS) return undefined;
  if (!upstream.circuit.isClosed || upstream.limits?.mayAdmit() === false) return undefined;
  return takeRetry(call, now) ? upstream : undefined;
}

/** Selects the upstream of a hedged request. */
export function selectHedge(call: Call, now: number): Upstream | undefined {
  return call.hasAttempt ? select(call, now, 'hedge') : undefined;
}

/** Counts a hedged request that its upstream has admitted. @returns whether the budget permits it; else it is given back */
export function takeHedge(call: Call, upstream: Upstream, now: number): boolean {
  if (!call.router.budget.takeExtra(now)) {
    budgetExceeded(call, 'hedge');
    upstream.limits?.giveBack();
    return false;
  }
  call.tried = [...call.tried, upstream];
  call.attempts++;
  return true;
}

/** The upstreams that get a call at once: the candidates without a skip reason, or else the best last resort. */
export function selectAll(call: Call, now: number): readonly Upstream[] {
  const { router, tried } = call;
  if (tried.length === 0) router.budget.countCall(now);
  const reasons = new Map(skippedFor(call, now));
  const usable = [...router.ranking.order(call.method.group, now)].filter(
    (one) => !reasons.has(one) && !tried.includes(one),
  );
  if (usable.length === 0) {
    const lastResort = select(call, now);
    return lastResort === undefined ? [] : [lastResort];
  }
  for (const [upstream, reason] of reasons) skipped(call, upstream, reason, tried.length === 0);
  return usable;
}

/** Takes one retry from the budget. @returns whether there was one */
export function takeRetry(call: Call, now: number): boolean {
  const hasTaken = call.router.budget.takeExtra(now);
  if (!hasTaken) budgetExceeded(call, 'retry', false);
  return hasTaken;
}

/** The upstreams that all calls skip now. */
export function skipReasons(router: Router, now: number): Map<Upstream, SkipReason> {
  return new Map(skippedFor(headPoll(router), now));
}

/** The upstreams without a skip reason for a range of blocks, of the first priority that has one, as ranked. */
export function usableForRange(router: Router, method: MethodSpec, lowest: number, highest: number): Upstream[] {
  const now = clock.now();
  const call = new Call(router, method, [], Infinity, '');
  call.blocks = { lowest, highest, readsState: method.blockAt?.readsState === true };
  call.candidates = router.options.permitted.candidatesOf(method.name);
  const { needs, network, stateOf } = policyInput(call, now, 'attempt');
  const order = [...router.ranking.order(call.method.group, now)];
  const usable = order.filter((upstream) => skipReasonOf(stateOf(upstream), needs, network) === undefined);
  return usable.filter(({ config }) => config.priority === usable[0]?.config.priority);
}

const head: MethodSpec = {
  name: nodeMethods.blockByNumber,
  namespace: 'eth',
  group: 'lookup',
  nullable: true,
  reverts: false,
  hashParams: [],
};

/** A call for the newest block, to the upstreams whose heads may be polled. */
export function headPoll(router: Router): Call {
  const call = new Call(router, head, ['latest', false], Infinity, '["latest",false]');
  call.candidates = router.headSources;
  return call;
}

/** Selects by the policy. An upstream without a skip reason whose circuit is not closed gets the call as a trial. */
export function select(call: Call, now: number, purpose: Purpose = 'attempt'): Upstream | undefined {
  const { router, tried, range, record } = call;
  const isFirst = purpose === 'attempt' && tried.length === 0;
  const reportsAll = isFirst && record?.needsAllSkipReasons === true;
  if (reportsAll) for (const [upstream, reason] of skippedFor(call, now)) skipped(call, upstream, reason, false);
  const preferred = purpose === 'attempt' ? (call.preferred ?? range?.first) : undefined;
  const ranked = router.ranking.order(call.method.group, now);
  const { needs, network, stateOf } = policyInput(call, now, purpose);
  // Member by member: V8 creates slow objects from a spread with further members.
  const selected: Selected<Upstream> | undefined = selectCandidate({
    needs,
    network,
    stateOf,
    ranked: tried.length === 0 ? ranked : ranked.filter((upstream) => !tried.includes(upstream)),
    preferred: preferred === undefined || tried.includes(preferred) ? undefined : preferred,
    allowsRange: range === undefined ? undefined : (upstream) => range.allows(upstream),
    onSkipped:
      purpose !== 'attempt'
        ? undefined
        : (upstream, reason) => {
            if (reportsAll) upstream.metrics.skipped(reason);
            else skipped(call, upstream, reason, isFirst);
          },
  });
  if (selected === undefined || selected.skipReason !== undefined) return selected?.upstream;
  const { upstream } = selected;
  if (!upstream.circuit.isClosed) upstream.circuit.tryBeginTrial(now);
  router.ranking.take(upstream, call.method.group);
  return upstream;
}

/** The untried upstreams with a skip reason for an attempt. */
function skippedFor(call: Call, now: number): [Upstream, SkipReason][] {
  const { needs, network, stateOf } = policyInput(call, now, 'attempt');
  return call.router.ranking.order(call.method.group, now).flatMap((upstream): [Upstream, SkipReason][] => {
    const reason = call.tried.includes(upstream) ? undefined : skipReasonOf(stateOf(upstream), needs, network);
    return reason === undefined ? [] : [[upstream, reason]];
  });
}

/** Plain values, because the policy reads no state. With one upstream, blocks and heads are not compared. */
function policyInput(call: Call, now: number, purpose: Purpose) {
  const { router, method, blocks } = call;
  const { isAlone } = router;
  return {
    needs: {
      blocks,
      listsLogs: method.resultIs === 'logs',
      isHeadNumber: method.resultIs === 'head-number',
      isPassThrough: method.isPassThrough === true,
      sends: method.sends === true,
      purpose,
    },
    network: isAlone ? unknownHeads : networkStateOf(router),
    stateOf: (upstream: Upstream): CandidateState => readState(upstream, call, now, purpose, isAlone),
  };
}

const unknownHeads: NetworkState = { head: 0, newestServed: 0, maxLag: 0, hasArchives: false, isAlone: true };

function networkStateOf({ chain, options, hasArchives }: Router): NetworkState {
  const { number, newestServed, maxLag } = chain.view;
  return {
    head: number === undefined ? 0 : Number(number),
    newestServed: Number(newestServed),
    maxLag: options.maxLagBlocks ?? maxLag,
    hasArchives,
  };
}

function readState(
  upstream: Upstream,
  { router, method, blocks, preferred, candidates, cancellation }: Call,
  now: number,
  purpose: Purpose,
  isAlone: boolean,
): CandidateState {
  const { circuit, limits, methods, isOnOtherChain } = upstream;
  const view = isAlone ? undefined : router.chain.view;
  const tag = blocks?.tag;
  const polled = view?.headOf(upstream);
  const { leftAt, hasLost = false, aheadOf } = view?.standingOf(upstream) ?? asFollowed;
  return {
    isDrained: upstream.drain !== undefined,
    isExcluded: candidates?.includes(upstream) === false,
    isPreferred: upstream === preferred && purpose === 'attempt',
    hasCapacity: limits?.mayAdmit() !== false && circuit.pauseMs(now, cancellation?.owner) === undefined,
    isMethodMarked: methods.isSkipped(method.name),
    circuit: circuit.isClosed ? 'closed' : circuit.isCooldownOver(now) ? 'trial-due' : 'open',
    isOnOtherChain,
    head: polled === undefined ? undefined : Number(polled.number),
    leftAt: leftAt === undefined ? undefined : Number(leftAt),
    hasLost,
    aheadOf: aheadOf === undefined ? undefined : Number(aheadOf),
    isHeadUncertain: !isAlone && upstream.isHeadUncertain,
    lag: view?.lagOf(upstream, now) ?? 0,
    isArchive: !isAlone && upstream.blocks.isArchive,
    lacksBlocks: !isAlone && blocks !== undefined && upstream.blocks.isMissing(method.name, blocks, now),
    isTagOlder: tag !== undefined && tag !== 'latest' && view?.isTagOlder(upstream, tag, now) === true,
  };
}

function isRefusedRange({ range, failed }: Call): boolean {
  return range !== undefined && failed.at(-1)?.failure === 'too-large';
}

/** A guessed revert (code 3) does not count: it is passed on only if no upstream has a usable response. */
function isUnknownError({ failure, response }: FailedOutcome): boolean {
  return failure === 'unknown' && !(response?.kind === 'error' && response.code === 3);
}
