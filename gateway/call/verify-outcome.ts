import type { Header } from '../chain/header.ts';
import { clock } from '../clock/clock.ts';
import { memoryReasons, RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { ProvenPart } from '../spec/method-spec.ts';
import { blockOfHash, blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { FinalOutcome, Outcome } from '../upstreams/outcome.ts';
import { Cancellation } from '../upstreams/transport/cancellation.ts';
import { UpstreamFailure, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Work } from '../verify/evidence/evidence.ts';
import { unknown } from '../verify/subject.ts';
import type { Call } from './call.ts';
import { limitRejection } from './charge.ts';
import { untilDeadline } from './in-time.ts';
import { isEnough, type CallVerification } from './verification.ts';

/** Those whose block is pinned before the call is sent, because the result does not name it. */
const pinnedParts: ReadonlySet<ProvenPart | undefined> = new Set([
  ...(['logs', 'balance', 'nonce', 'code', 'slot', 'account-proof'] as const),
  ...(['transaction-count', 'uncle', 'uncle-count'] as const),
]);

/**
 * Names the block of a tag in the parameters that are sent, so that the result can be proven or compared.
 * @throws RpcError if nothing can prove the result, and it must be proven
 */
export async function pinVerified(call: Call, verification: CallVerification): Promise<void> {
  const { isRequired, isWitnessed, agree } = verification;
  const { method, params, router } = call;
  const { provenAs, blockAt, hashParams, splits, resultIs } = method;
  const { chain } = router;
  if (isRequired && provenAs === undefined && agree === undefined)
    throw new RpcError('not-proven', `the result of ${method.name} cannot be proven: \`agree\` compares upstreams`);
  const mustBeWitnessed = isRequired && isWitnessed;
  if (mustBeWitnessed) await requireWitnesses(call);
  const blocks = blocksNamedBy(method, params);
  const given = blockAt && params[blockAt.param];
  const hasBlock = blockAt !== undefined || resultIs === 'head-number';
  const isNamed = agree !== undefined || pinnedParts.has(provenAs);
  const isPinned = hasBlock && (isNamed || (isWitnessed && chain.view.witnesses.needed > 1));
  const pinsTag = isPinned && call.pinned === undefined && blocks?.tag !== undefined && !isPending(given);
  // A proof needs a head, if only an old one.
  if (!pinsTag && (chain.view.head !== undefined || call.hasAwaitedHead)) return;
  const head = (await awaitHead(call, verification)) ?? (pinnedParts.has(provenAs) ? olderHead(call) : undefined);
  // Other groups may have more blocks than those that were known before the polls.
  if (mustBeWitnessed) await requireWitnesses(call);
  if (!pinsTag || head === undefined) return;
  const { verifier } = router.options;
  // Of the head, only the number may be known yet.
  const { number: headNumber = head.number, newestKnown, witnesses } = chain.view;
  const newest = newestFor(call, headNumber, verification, splits === undefined ? undefined : given);
  const isLatest = blocks.tag === 'latest' || given === undefined;
  // Without a witnessed block in place of it, the tag stays: upstreams that lag lack the block, and nothing would be proven.
  if (!isNamed && isLatest && newest > (witnesses.block?.number ?? -1n)) return;
  if (blockAt === undefined) {
    call.pinned = { number: newest, params, text: call.text };
    return;
  }
  const { param } = blockAt;
  const numberOf = async (tag: unknown): Promise<string> => {
    if (tag !== 'safe' && tag !== 'finalized') return `0x${newest.toString(16)}`;
    return (await verifier.numberOfTag(tag, workOf(call, router.all[0] as Upstream))) ?? tag;
  };
  let pinned: unknown;
  let number = newest;
  if (splits === undefined) {
    // A hash that the gateway has chosen proves nothing, unless it is that of a witnessed block.
    const isTrusted = provenAs === undefined || chain.view.witnessedHash(newest) === head.hash;
    const isHash = call.mayPinHead && hashParams.includes(param) && isLatest && newest === head.number && isTrusted;
    const quantity = isHash ? undefined : await numberOf(given);
    // No upstream has a block for the tag.
    if (quantity?.startsWith('0x') === false) return;
    if (quantity !== undefined) number = BigInt(quantity);
    pinned = quantity ?? { blockHash: head.hash };
  } else {
    const { fromBlock, toBlock } = given as { readonly fromBlock?: unknown; readonly toBlock?: unknown };
    const isTag = (block: unknown): boolean => typeof block !== 'string' || !/^0x|^earliest/.test(block);
    pinned = {
      ...(given as object),
      fromBlock: isTag(fromBlock) ? await numberOf(fromBlock) : fromBlock,
      toBlock: isTag(toBlock) ? await numberOf(toBlock) : toBlock,
    };
  }
  const sent = params.length > param ? params.with(param, pinned) : [...params, pinned];
  call.pinned = { number, params: sent, text: JSON.stringify(sent) };
  if (call.blocks === undefined) return;
  // Upstreams that do not have the newest block may get the call.
  const own = blocksNamedBy(method, sent) ?? blockOfHash(chain.view, method, sent);
  call.blocks = isWitnessed && isLatest && newest < newestKnown ? (own ?? blocks) : blocks;
}

/** @throws RpcError if too few groups have the newest blocks, or do not respond (rejects with it) */
async function requireWitnesses(call: Call): Promise<void> {
  const { chain } = call.router;
  const until = clock.now() + MAX_HEAD_WAIT_MS;
  let hasBegun = false;
  for (;;) {
    const { witnesses, witnessed } = chain.view;
    const { needed, present } = witnesses;
    if (needed <= 1 || witnessed !== undefined) return;
    if (!hasBegun) void chain.currentHead(MAX_HEAD_WAIT_MS);
    hasBegun = true;
    const polled = clock.now() < until ? chain.whenPolled() : undefined;
    if (polled === undefined)
      throw new RpcError('not-proven', `nothing can be proven: ${describeWitnesses(needed, present)}`);
    await untilDeadline(call, polled);
  }
}

function describeWitnesses(needed: number, present: number): string {
  if (present >= needed) return `no block is known that ${needed} groups of upstreams have`;
  return `${needed} groups of upstreams must have the newest blocks, and ${present} ${present === 1 ? 'has' : 'have'} them`;
}

/** The current head. A call waits for it once, however many attempts it has. @returns undefined if it is not known in time */
async function awaitHead(call: Call, { agree, isWitnessed }: CallVerification): Promise<Header | undefined> {
  const { chain } = call.router;
  const waitMs = call.hasAwaitedHead ? 0 : Math.min(MAX_HEAD_WAIT_MS, call.deadline - clock.now());
  call.hasAwaitedHead = true;
  const head = await chain.currentHead(waitMs);
  const needsOthers = agree !== undefined || (isWitnessed && chain.view.witnesses.needed > 1);
  if (head === undefined || !needsOthers || waitMs === 0) return head;
  // The newest block of several upstreams is known after more than the first poll.
  const polled = chain.whenPolled();
  if (polled !== undefined) await untilDeadline(call, polled);
  return chain.view.head;
}

/** The last known head, if it is not too old. */
function olderHead({ router }: Call): Header | undefined {
  const { head, seenAt } = router.chain.view;
  return clock.now() - seenAt <= MAX_HEAD_AGE_MS ? head : undefined;
}

/** The block in place of `latest`. @param range of blocks; undefined: the call has none */
function newestFor(call: Call, head: bigint, verification: CallVerification, range: unknown): bigint {
  const { isRequired, isWitnessed, agree } = verification;
  const { newestServed, witnessed, newestProvable, witnesses } = call.router.chain.view;
  const { fromBlock } = (range ?? {}) as { readonly fromBlock?: unknown };
  const provable = (isRequired ? witnessed : newestProvable) ?? head;
  const highest = isWitnessed ? provable : head;
  const reachable = call.mayPinHead && agree === undefined ? highest : newestReachable(call, highest, agree);
  // A range must not end before it begins.
  const isBefore = typeof fromBlock === 'string' && fromBlock.startsWith('0x') && reachable < BigInt(fromBlock);
  const newest = isBefore ? head : reachable;
  // Callers may have been served a block whose header is not followed yet, and which may not be witnessed.
  const isOwn = isWitnessed && (isRequired || witnesses.hold === 'no') && witnesses.needed > 1;
  return newestServed > newest && !isOwn ? newestServed : newest;
}

/**
 * The newest block that so many of the upstreams have that were polled lately and have not failed since, at most the head; the head
 * if they are too few. Several upstreams must not lag: the block would be too old.
 */
function newestReachable({ router, candidates = router.all }: Call, head: bigint, count = 1): bigint {
  const { chain, options } = router;
  const { view } = chain;
  const now = clock.now();
  const oldest = count === 1 ? 0n : head - BigInt(options.maxLagBlocks ?? view.maxLag);
  const numbers = candidates.flatMap((one) => {
    const known = one.isHeadUncertain ? undefined : view.headOf(one);
    return known !== undefined && chain.isRecent(known.at, now) ? known.number : [];
  });
  const newest = numbers.toSorted(descending)[count - 1];
  return newest === undefined || newest > head || newest < oldest ? head : newest;
}

function descending(one: bigint, other: bigint): number {
  return one > other ? -1 : one < other ? 1 : 0;
}

/** The poller has a head within this time after the first call, or the first one after a pause. */
const MAX_HEAD_WAIT_MS = 2_000;
/**
 * While polls of the head fail, tags are pinned to the last head for this time: a provider's rate limit or restart seldom takes
 * longer, and full nodes still have the state of that block. After it, a proven result would be too old for `latest`.
 */
const MAX_HEAD_AGE_MS = 60_000;

function isPending(block: unknown): boolean {
  if (typeof block !== 'object' || block === null) return block === 'pending';
  const { fromBlock, toBlock } = block as { readonly fromBlock?: unknown; readonly toBlock?: unknown };
  return fromBlock === 'pending' || toBlock === 'pending';
}

const unproven = { final: false, failure: 'unproven', response: undefined } as const;
const nothingShown = { finding: unknown, result: undefined };

/** A result that is disproved is an upstream failure; so is one that nothing proves, if it must be proven. */
export async function verifyOutcome(
  call: Call,
  upstream: Upstream,
  outcome: FinalOutcome,
  verification: CallVerification,
  cancellation: Cancellation | undefined,
): Promise<Outcome> {
  const { method, params, router, pinned } = call;
  const { isRequired, agree, evidenceFor } = verification;
  const isHead = method.resultIs === 'head-number' && pinned !== undefined && outcome.response.kind === 'result';
  const response: typeof outcome.response = isHead
    ? { kind: 'result', result: `0x${pinned.number.toString(16)}` }
    : outcome.response;
  if (response.kind === 'error' && agree === undefined) return outcome;
  if (evidenceFor !== undefined && response.kind === 'result' && response.result === null)
    return { final: false, failure: 'not-found', response: undefined };
  const memory = new CheckedBytes(call.context?.reservation);
  const work = workOf(call, upstream, memory, cancellation);
  const { finding, result } =
    response.kind === 'error'
      ? nothingShown
      : await router.options.verifier
          .check(method, pinned?.params ?? params, response, work)
          .catch((error: unknown) => {
            // Without memory for the evidence, nothing proves the result.
            if (isRequired || !(error instanceof RpcError) || !memoryReasons.has(error.reason)) throw error;
            return nothingShown;
          })
          .finally(() => {
            memory.release();
          });
  switch (finding.kind) {
    case 'proven': {
      const agreed = agree === undefined || isHead ? undefined : await agreeing(call, outcome, agree, work);
      if (agreed?.final === false) return { ...unproven, detail: 'others agree on another result' };
      // Evidence is parsed already.
      return withProof(outcome, evidenceFor === undefined ? response : { kind: 'result', result }, finding.proof);
    }
    case 'disproved':
      return { final: false, failure: 'disproved', response, detail: finding.reason };
    case 'other-branch':
      return { ...unproven, detail: 'of another branch', isOnOtherBranch: true };
    case 'unknown':
      if (agree !== undefined) return agreeing(call, outcome, agree, work);
      if (isRequired) return { ...unproven, detail: 'not proven' };
      return withProof(outcome, response, 'no');
  }
}

/** The outcome on which enough upstreams agree. @throws RpcError if they do not */
async function agreeing(call: Call, outcome: FinalOutcome, agree: number, work: Work): Promise<Outcome> {
  const { method, params, router, pinned } = call;
  const { response } = outcome;
  const subject = { method, params: pinned?.params ?? params, response, work };
  let isConfirmed: boolean;
  try {
    isConfirmed = await router.options.verifier.agree(subject, agree);
  } catch (error) {
    // One of the results has too many values to be compared.
    if (error instanceof UpstreamFailure) return { ...unproven, detail: error.message };
    throw error;
  }
  return isConfirmed
    ? withProof(outcome, response, `agreed:${agree}`)
    : { final: false, failure: 'disproved', response, detail: 'others agree on another result' };
}

function withProof(outcome: FinalOutcome, response: UpstreamResponse, proof: Proof): FinalOutcome {
  return { ...outcome, response: { ...response, proof } };
}

/** @throws RpcError if the result is not proven as the call requires */
export function requireProof(response: UpstreamResponse, verification: CallVerification): UpstreamResponse {
  // Null is no evidence.
  if (verification.evidenceFor !== undefined && response.kind === 'result' && response.result === null) return response;
  if (response.kind !== 'error' && !isEnough(response.proof, verification)) throw new RpcError('not-proven');
  return response;
}

/** Smaller results are checked when memory is high. */
const SMALL_BYTES = 65_536;

/** The bytes of a result that is checked, and of the evidence for it. */
class CheckedBytes {
  readonly #reservation: Reservation | undefined;
  #bytes = 0;
  #isReleased = false;

  /** @param reservation of the caller; undefined: they are not accounted */
  constructor(reservation: Reservation | undefined) {
    this.#reservation = reservation;
  }

  /** @throws RpcError memory-pressure, overloaded or memory-share; then nothing is taken */
  take(bytes: number): void {
    // Evidence may arrive for others after the check.
    if (this.#isReleased) return;
    if (bytes <= SMALL_BYTES) this.#reservation?.takeInProgress(bytes);
    else this.#reservation?.take(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#reservation?.giveBack(this.#bytes);
    this.#isReleased = true;
  }
}

/** @param memory of the check. Evidence is taken for the check that needs it, and a lookup that need not be proven takes none */
function workOf(
  call: Call,
  upstream: Upstream,
  memory?: CheckedBytes,
  cancellation: Cancellation | undefined = call.cancellation,
): Work {
  const { verification, deadline, context } = call;
  const evidenceFor = verification?.evidenceFor;
  return {
    ...{ deadline, upstream, owner: call.timeOwnerFor(upstream) },
    isEvidence: evidenceFor !== undefined,
    caller: cancellation ?? new Cancellation(call.owner),
    take:
      evidenceFor?.take ??
      ((bytes) => {
        memory?.take(bytes);
      }),
    charge:
      evidenceFor?.charge ?? ((method, params) => (context === undefined ? nothing : charge(call, method, params))),
  };
}

const nothing = Promise.resolve();

/** Charges the caller for a request that its call needs. @throws RpcError */
async function charge(call: Call, name: string, params: readonly unknown[]): Promise<void> {
  const { context } = call;
  const units = context?.network.methods.get(name)?.unitsOf(params) ?? 1;
  call.requestUnits = (call.requestUnits ?? 0) + units;
  const { limits } = context?.access ?? {};
  if (context === undefined || limits?.isCharged !== true) return;
  const { shortage } = await context.limiter.charge(limits, { units, byMethod: noMethods });
  if (shortage !== undefined) throw limitRejection([], shortage, context);
}

const noMethods: ReadonlyMap<string, number> = new Map();
