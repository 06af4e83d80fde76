import type { Header } from '../../chain/header.ts';
import type { FinalTag } from '../../chain/served-tags.ts';
import { clock } from '../../clock/clock.ts';
import { isObject } from '../../collections/is-object.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { ProvenPart } from '../../spec/method-spec.ts';
import { blockOfHash, blocksNamedBy } from '../../upstreams/available-blocks.ts';
import { isPending, withBlock } from '../../verify/pin-call.ts';
import { quantityOf } from '../../verify/proofs/hex.ts';
import type { Call } from '../call.ts';
import { untilDeadline } from '../in-time.ts';
import { describeWitnesses, type CallVerification } from '../verification.ts';

/** The poller has a head within this time after the first call, or the first one after a pause. */
const MAX_HEAD_WAIT_MS = 2_000;
/**
 * Time for which tags are pinned to the last head while its polls fail: a provider's rate limit or restart seldom takes
 * longer, and full nodes still have the state of that block. After it, a proven result would be too old for `latest`.
 */
const MAX_HEAD_AGE_MS = 60_000;

/** Parts whose block is pinned before the call is sent, because the result does not name it. */
const pinnedParts: ReadonlySet<ProvenPart | undefined> = new Set([
  ...(['logs', 'balance', 'nonce', 'code', 'slot', 'account-proof'] as const),
  ...(['transaction-count', 'uncle', 'uncle-count'] as const),
]);

/**
 * Names the block of a tag in the parameters that are sent, so that the result can be proven or compared.
 * @param numberOf the number of the block of `safe` or `finalized`; undefined: too few upstreams have one
 * @throws RpcError if too few groups have the newest blocks, and the result must be proven (rejects with it)
 */
export async function pinTag(
  call: Call,
  verification: CallVerification,
  numberOf: (tag: FinalTag) => Promise<string | undefined>,
): Promise<void> {
  const { isRequired, isWitnessed, agree } = verification;
  const { method, params, router } = call;
  const { provenAs, blockAt, splits, resultIs } = method;
  const { chain } = router;
  const blocks = blocksNamedBy(method, params);
  const given = blockAt && params[blockAt.param];
  // Other results name their block, which only must be one that enough groups have.
  const mustName = agree !== undefined || pinnedParts.has(provenAs);
  const canName = blockAt !== undefined || resultIs === 'head-number';
  const mayPin = canName && (mustName || (isWitnessed && chain.view.witnesses.needed > 1));
  const isTag = mayPin && call.pinned === undefined && blocks?.tag !== undefined && !isPending(given);
  // A proof needs a head, if only an old one.
  const needsHead = isTag || (chain.view.head === undefined && !call.hasAwaitedHead);
  const current = needsHead ? await awaitHead(call, verification) : undefined;
  if (isRequired && isWitnessed) await requireWitnesses(call);
  const head = current ?? (pinnedParts.has(provenAs) ? olderHead(call) : undefined);
  if (!isTag || head === undefined) return;
  const { view } = chain;
  const newest = newestFor(call, verification, head.number);
  const isLatest = blocks.tag === 'latest' || given === undefined;
  // Without a witnessed block in place of it, the tag stays: upstreams that lag lack the block, and nothing would be proven.
  if (!mustName && isLatest && newest > (view.witnesses.block?.number ?? -1n)) return;
  if (blockAt === undefined) {
    call.pinned = { number: newest, params, text: call.text };
    return;
  }
  const nameOf = async (block: unknown): Promise<unknown> => {
    if (typeof block === 'string' && /^0x|^earliest/.test(block)) return block;
    return isFinalTag(block) ? ((await numberOf(block)) ?? block) : quantityOf(newest);
  };
  const { fromBlock, toBlock } = (given ?? {}) as { readonly fromBlock?: unknown; readonly toBlock?: unknown };
  const block =
    splits !== undefined
      ? { ...(given as object), fromBlock: await nameOf(fromBlock), toBlock: await nameOf(toBlock) }
      : isLatest && mayNameHash(call, head, newest)
        ? { blockHash: head.hash }
        : await nameOf(given);
  // No upstream has a block for the tag.
  if (isFinalTag(block)) return;
  const sent = withBlock(method, params, block);
  const number = typeof block === 'string' ? BigInt(block) : newest;
  call.pinned = { number, params: sent, text: JSON.stringify(sent) };
  if (call.blocks === undefined) return;
  // Upstreams that do not have the newest block may get the call.
  const own = blocksNamedBy(method, sent) ?? blockOfHash(chain.view, method, sent);
  call.blocks = isWitnessed && isLatest && newest < view.newestKnown ? (own ?? blocks) : blocks;
}

function isFinalTag(block: unknown): block is FinalTag {
  return block === 'safe' || block === 'finalized';
}

/** A hash that the gateway has chosen proves nothing, unless it is that of a witnessed block. */
function mayNameHash({ method, router, mayPinHead }: Call, head: Header, newest: bigint): boolean {
  const { provenAs, blockAt, hashParams } = method;
  const isTrusted = provenAs === undefined || router.chain.view.witnessedHash(newest) === head.hash;
  return (
    mayPinHead && blockAt !== undefined && hashParams.includes(blockAt.param) && newest === head.number && isTrusted
  );
}

/** @throws RpcError if too few groups have the newest blocks, or do not respond (rejects with it) */
async function requireWitnesses(call: Call): Promise<void> {
  const { chain } = call.router;
  const until = clock.now() + MAX_HEAD_WAIT_MS;
  const isMissing = (): boolean => chain.view.witnesses.needed > 1 && chain.view.witnessed === undefined;
  if (isMissing()) void chain.currentHead(MAX_HEAD_WAIT_MS);
  while (isMissing()) {
    const polled = clock.now() < until ? chain.whenPolled() : undefined;
    if (polled === undefined) {
      const { needed, present } = chain.view.witnesses;
      const missing =
        present >= needed
          ? `no block is known that ${needed} groups of upstreams have`
          : describeWitnesses(chain.view.witnesses);
      throw new RpcError('not-proven', `nothing can be proven: ${missing}`);
    }
    await untilDeadline(call, polled);
  }
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

/** The block in place of `latest`. @param headNumber of the head whose header is known */
function newestFor(call: Call, { isRequired, isWitnessed, agree }: CallVerification, headNumber: bigint): bigint {
  const { method, params, mayPinHead, router } = call;
  // Of the head, only the number may be known yet.
  const { number: head = headNumber, newestServed, witnessed, newestProvable, witnesses } = router.chain.view;
  const provable = (isRequired ? witnessed : newestProvable) ?? head;
  const highest = isWitnessed ? provable : head;
  const reachable = mayPinHead && agree === undefined ? highest : newestReachable(call, highest, agree);
  const range = method.splits === undefined ? undefined : params[method.splits];
  const from = isObject(range) ? range['fromBlock'] : undefined;
  // A range must not end before it begins.
  const isBefore = typeof from === 'string' && from.startsWith('0x') && reachable < BigInt(from);
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
  const newest = numbers.toSorted((one, other) => (one > other ? -1 : 1))[count - 1];
  return newest === undefined || newest > head || newest < oldest ? head : newest;
}
