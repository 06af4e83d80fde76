import { clock } from '../clock/clock.ts';
import type { SeenHead } from '../chain/header.ts';
import { isRead } from '../spec/method-group.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import { MIN_ATTEMPT_MS } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { isAbsent } from './confirm.ts';
import { isMissing } from './exhausted.ts';
import { servedAs } from './monotonic-reads.ts';
import { takeRetry } from './select.ts';

/** An upstream that was polled this recently is not polled again for a call. */
const MIN_POLL_AGE_MS = 50;
/** Maximum time for which a call waits for these polls. */
const MAX_POLL_WAIT_MS = 1_000;
/** For an index that is late: one second in all. */
const INDEX_WAITS_MS = [100, 300, 600];

/** When no upstream is left: waits for those that lag, or that index blocks late. @returns whether one may have a response now */
export async function mayStillArrive(call: Call): Promise<boolean> {
  if (call.isEvidence || !call.hasAttempt) return false;
  return (await pollLagging(call)) || (await pollReplaced(call)) || (await awaitIndex(call));
}

/**
 * Polls the heads of the upstreams that lag, once per call, before the call fails because of them. Polls are a block time
 * apart, so an upstream may have the block by now, also one that failed before and is in its cooldown. Those that have
 * caught up count as untried.
 * @returns whether an upstream has caught up
 */
export async function pollLagging(call: Call): Promise<boolean> {
  const { router, method, deadline, tried, sentAt } = call;
  const { chain } = router;
  const upstreams = call.candidates ?? router.all;
  const now = clock.now();
  if (call.hasPolledHeads || !isRead(method) || deadline - now <= MIN_ATTEMPT_MS) return false;
  const isLagging = (upstream: Upstream): boolean => chain.view.isLagging(upstream, clock.now());
  const mayLag = (upstream: Upstream): boolean => isLagging(upstream) || upstream.isHeadUncertain;
  // The last attempt may have taken so long that others got the block since they were asked.
  const hasAdvanced = (upstream: Upstream): boolean =>
    chain.view.hasAdvancedSince(upstream, sentAt) && !mayLag(upstream);
  const advanced = call.failed.some(isMissing) ? tried.filter(hasAdvanced) : [];
  if (advanced.length > 0) {
    for (const upstream of advanced) forgetAttempt(call, upstream);
    return true;
  }
  call.hasPolledHeads = true;
  const lagging = upstreams.filter(
    (upstream) =>
      !upstream.isOnOtherChain &&
      upstream.drain === undefined &&
      (isLagging(upstream) || isUncertain(upstream, call)) &&
      !(method.isPassThrough === true && tried.includes(upstream)) &&
      (upstream.isHeadUncertain || !wasPolledSince(now - MIN_POLL_AGE_MS, chain.view.headOf(upstream))),
  );
  if (lagging.length === 0) return false;
  const polls = lagging.map(async (upstream) => {
    await chain.poll(upstream);
    if (mayLag(upstream)) throw new Error('the upstream still lags');
  });
  const waitMs = Math.min(deadline - now - MIN_ATTEMPT_MS, MAX_POLL_WAIT_MS);
  await withTimeout(Promise.any(polls), waitMs, () => new Error('no upstream has caught up in time')).catch(
    () => undefined, // upstreams without a response still lag
  );
  const caughtUp = lagging.filter((upstream) => !mayLag(upstream));
  if (caughtUp.length === 0) return false;
  // A null of an upstream at the head stays, for the case that those that have caught up fail.
  if (!call.isMissingAtHead) call.unconfirmed = undefined;
  call.pinned = undefined;
  for (const upstream of caughtUp) forgetAttempt(call, upstream);
  return true;
}

/**
 * When upstreams lack the block to which a tag is pinned, or returned a result of another branch than the followed one: blocks
 * may have been replaced, or the upstream that has the newest one has failed. Polls them, once per call; then the call is
 * pinned to the number of the newest block that an upstream has, or callers were served.
 * @returns whether the call can be sent again
 */
async function pollReplaced(call: Call): Promise<boolean> {
  const { pinned, tried, failed, deadline } = call;
  const { chain } = call.router;
  const waitMs = Math.min(deadline - clock.now() - MIN_ATTEMPT_MS, MAX_POLL_WAIT_MS);
  const isReplaced =
    (pinned !== undefined && failed.some(isMissing)) || failed.some((outcome) => outcome.isOnOtherBranch);
  if (call.verification === undefined || !isReplaced || !call.mayPinHead || waitMs <= 0) return false;
  if (!takeRetry(call, clock.now())) return false;
  const polls = Promise.allSettled(tried.map((upstream) => chain.poll(upstream)));
  await withTimeout(polls, waitMs, () => new Error('a poll is late')).catch(
    () => undefined, // the call is sent again all the same
  );
  call.mayPinHead = false;
  call.pinned = undefined;
  call.isMissingAtHead = false;
  for (const upstream of tried) forgetAttempt(call, upstream);
  return true;
}

/**
 * If an upstream at the head does not find a served object of one of the newest blocks, which it may index later: waits until
 * the call may be sent again. All upstreams count as untried then.
 */
async function awaitIndex(call: Call): Promise<boolean> {
  const { router, method, unconfirmed, deadline, waits } = call;
  if (unconfirmed === undefined || !isAbsent(method, unconfirmed) || router.options.isDevelopment) return false;
  // A failure of another upstream, which was asked to confirm it, changes nothing.
  if (!call.isMissingAtHead || servedAs(router.chain.view, call) !== 'canonical') return false;
  const now = clock.now();
  const waitMs = INDEX_WAITS_MS[waits];
  if (waitMs === undefined || deadline - now - waitMs <= MIN_ATTEMPT_MS || !takeRetry(call, now)) return false;
  call.waits++;
  await clock.sleep(waitMs);
  call.tried = [];
  return true;
}

function forgetAttempt(call: Call, upstream: Upstream): void {
  const at = call.tried.indexOf(upstream);
  if (at !== -1) call.tried = call.tried.toSpliced(at, 1);
}

/**
 * Whether the upstream failed since its last poll, and was skipped because of that, or returned what needs confirmation: after
 * a poll, its response may be evidence.
 */
function isUncertain(upstream: Upstream, { unconfirmed, tried, method, blocks }: Call): boolean {
  if (!upstream.isHeadUncertain) return false;
  if (unconfirmed !== undefined) return upstream.circuit.isClosed;
  return !tried.includes(upstream) && (blocks?.tag === 'latest' || method.resultIs === 'logs');
}

function wasPolledSince(time: number, head: SeenHead | undefined): boolean {
  return head?.header !== undefined && head.at >= time;
}
