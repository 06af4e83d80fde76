import { clock } from '../clock/clock.ts';
import type { SeenHead } from '../chain/header.ts';
import { isRead } from '../spec/method-group.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import { MIN_ATTEMPT_MS } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { isAbsent, isBehind, isMissing } from './confirm.ts';
import { servedAs } from './monotonic-reads.ts';
import { takeRetry } from './select.ts';

/** An upstream that was polled this recently is not polled again for a call. */
const MIN_POLL_AGE_MS = 50;
/** Maximum time for which a call waits for these polls. */
const MAX_POLL_WAIT_MS = 1_000;
/** Waits for an index that is late: one second in all. */
const INDEX_WAITS_MS = [100, 300, 600];

/** The waits of each call that had no upstream left: one that was ended is not repeated. */
const waits = new WeakMap<Call, AsyncGenerator<undefined, undefined>>();

/** When no upstream is left: waits until one may have a newer response. Those count as untried then. @returns whether there is one */
export async function awaitNewer(call: Call): Promise<boolean> {
  if (call.unconfirmed?.isEvidence === true || !call.hasAttempt || leftMs(call) <= 0) return false;
  let wait = waits.get(call);
  if (wait === undefined) waits.set(call, (wait = waitsOf(call)));
  return (await wait.next()).done !== true;
}

/** Yields when an upstream may have a newer response. */
async function* waitsOf(call: Call): AsyncGenerator<undefined, undefined> {
  if (isRead(call.method)) {
    while (forgetAdvanced(call)) yield;
    if (await pollLagging(call)) yield;
  }
  let indexWaits = 0;
  while ((await pollReplaced(call)) || (await awaitIndex(call, INDEX_WAITS_MS[indexWaits++]))) yield;
}

/** The last attempt may have taken so long that others got the block since they were asked. @returns whether one did */
function forgetAdvanced(call: Call): boolean {
  const { router, tried, failed, sentAt } = call;
  if (!failed.some(isMissing)) return false;
  const { view } = router.chain;
  const advanced = tried.filter((one) => view.hasAdvancedSince(one, sentAt) && !isBehind(router, one));
  forgetAttempts(call, advanced);
  return advanced.length > 0;
}

/**
 * Polls the heads of the upstreams that lag, before the call fails because of them. Polls are a block time apart, so an upstream
 * may have the block by now, also one that failed before and is in its cooldown.
 * @returns whether an upstream has caught up
 */
async function pollLagging(call: Call): Promise<boolean> {
  const { router, method, tried, candidates = router.all } = call;
  const { view } = router.chain;
  const now = clock.now();
  const lagging = candidates.filter(
    (upstream) =>
      !upstream.isOnOtherChain &&
      upstream.drain === undefined &&
      (view.isLagging(upstream, now) || isUncertain(upstream, call)) &&
      !(method.isPassThrough === true && tried.includes(upstream)) &&
      (upstream.isHeadUncertain || !wasPolledSince(now - MIN_POLL_AGE_MS, view.headOf(upstream))),
  );
  const hasCaughtUp = (upstream: Upstream): boolean => !isBehind(router, upstream);
  await poll(call, lagging, hasCaughtUp);
  const caughtUp = lagging.filter(hasCaughtUp);
  if (caughtUp.length === 0) return false;
  // A null of an upstream at the head stays, for the case that those that have caught up fail.
  if (!call.isMissingAtHead) call.unconfirmed = undefined;
  call.pinned = undefined;
  forgetAttempts(call, caughtUp);
  return true;
}

/**
 * When upstreams lack the block to which a tag is pinned, or returned a result of another branch than the followed one: blocks
 * may have been replaced, or the upstream that has the newest one has failed. Polls them, once per call; then the call is
 * pinned to the number of the newest block that an upstream has, or callers were served.
 * @returns whether the call can be sent again
 */
async function pollReplaced(call: Call): Promise<boolean> {
  const { pinned, tried, failed } = call;
  const isReplaced =
    (pinned !== undefined && failed.some(isMissing)) || failed.some((outcome) => outcome.isOnOtherBranch);
  if (call.verification === undefined || !isReplaced || !call.mayPinHead || leftMs(call) <= 0) return false;
  if (!takeRetry(call, clock.now())) return false;
  await poll(call, tried, () => false);
  call.mayPinHead = false;
  call.pinned = undefined;
  call.isMissingAtHead = false;
  forgetAttempts(call, tried);
  return true;
}

/**
 * Waits, if an upstream at the head does not find a served object of one of the newest blocks, which it may index later, until
 * the call may be sent again, to all upstreams.
 * @param waitMs undefined: it has waited long enough
 */
async function awaitIndex(call: Call, waitMs: number | undefined): Promise<boolean> {
  const { router, method, unconfirmed } = call;
  if (unconfirmed === undefined || !isAbsent(method, unconfirmed.response) || router.options.isDevelopment)
    return false;
  // A failure of another upstream, which was asked to confirm it, changes nothing.
  if (!call.isMissingAtHead || servedAs(router.chain.view, call) !== 'canonical') return false;
  if (waitMs === undefined || leftMs(call) <= waitMs || !takeRetry(call, clock.now())) return false;
  await clock.sleep(waitMs);
  call.tried = [];
  return true;
}

/** Polls upstreams until one of them has what the call needs, for a second at most. */
async function poll(call: Call, upstreams: readonly Upstream[], isEnough: (one: Upstream) => boolean): Promise<void> {
  if (upstreams.length === 0) return;
  const polls = upstreams.map(async (upstream) => {
    await call.router.chain.poll(upstream);
    if (!isEnough(upstream)) throw new Error('the upstream still lags');
  });
  const waitMs = Math.min(leftMs(call), MAX_POLL_WAIT_MS);
  await withTimeout(Promise.any(polls), waitMs, () => new Error('no upstream has caught up in time')).catch(
    () => undefined, // upstreams without a response still lag
  );
}

/** The time in which a further attempt can begin. */
function leftMs({ deadline }: Call): number {
  return deadline - clock.now() - MIN_ATTEMPT_MS;
}

function forgetAttempts(call: Call, upstreams: readonly Upstream[]): void {
  for (const upstream of upstreams) {
    const at = call.tried.indexOf(upstream);
    if (at !== -1) call.tried = call.tried.toSpliced(at, 1);
  }
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
