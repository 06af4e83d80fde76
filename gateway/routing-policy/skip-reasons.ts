import {
  isBelowHead,
  isBelowServed,
  isOld,
  type CallNeeds,
  type CandidateState,
  type NetworkState,
} from './candidate.ts';

interface SkipReasonRow {
  /** A row of docs/routing.md. */
  readonly meaning: string;
  readonly applies: (candidate: CandidateState, needs: CallNeeds, network: NetworkState) => boolean;
  /** Rank of the last resort: if all are skipped, the lowest number is used; of equal ones, the first of the ranking. */
  readonly lastResort: number | 'never';
  /** The reason compares blocks with those of other upstreams, so that it does not apply to the only one of a network. */
  readonly comparesBlocks?: true;
}

/** Why an upstream is skipped for a call. The first row that applies is the reason. */
export const skipReasons = {
  excluded: {
    meaning:
      'The network file excludes it for the method: `methods` of the upstream, or `route` of the network. It never gets the call.',
    applies: ({ isExcluded }) => isExcluded,
    lastResort: 'never',
  },
  drained: {
    meaning: 'An operator has drained it: `gatehouse upstreams drain`. It gets no calls, polls or probes.',
    applies: ({ isDrained }) => isDrained,
    lastResort: 'never',
  },
  'at-limit': {
    meaning:
      'Its `limits` are used up, or it requested a pause with `Retry-After`. If that is true of all upstreams, the response is 503 `overloaded` with `Retry-After`.',
    applies: ({ hasCapacity }) => !hasCapacity,
    lastResort: 'never',
  },
  'other-chain': {
    // After the cooldown, the upstream checks its chain id again before it sends a call.
    meaning: 'It returned another chain id when last checked, and its circuit is open.',
    applies: ({ isOnOtherChain, circuit }) => isOnOtherChain && circuit === 'open',
    lastResort: 'never',
  },
  'circuit-open': {
    // A transaction is no trial, because the upstream may hang.
    meaning: 'Its circuit is open, or half-open and no trial is due. Transactions and hedged requests are no trials.',
    applies: ({ circuit }, { sends, purpose }) =>
      circuit !== 'closed' && (circuit === 'open' || sends || purpose !== 'attempt'),
    lastResort: 2,
  },
  // Before the rows with a last resort: a marked upstream that lags would be used otherwise.
  stale: {
    meaning:
      'Its head is below the newest served block, for a read at `latest`, or below the end of the range, for logs; or it failed since its last poll, and may have lost blocks. Its response would be older than served ones, or a list with gaps. Its head is polled again before such a call fails with 503.',
    applies: (candidate, needs, network) => !candidate.isPreferred && isStale(candidate, needs, network),
    lastResort: 'never',
    comparesBlocks: true,
  },
  'other-branch': {
    meaning:
      'Most groups of upstreams have other blocks than it, at the block of the call or below. For a tag, also an implied one, or a pass-through method: at any block.',
    applies: ({ leftAt, hasLost, isPreferred }, needs) =>
      !isPreferred && hasLost && leftAt !== undefined && (needs.isPassThrough || readsFrom(leftAt, needs)),
    lastResort: 'never',
    comparesBlocks: true,
  },
  disputed: {
    meaning:
      'It has other blocks than the network follows, at the block of the call or below, and no branch has a majority. For a tag, also an implied one: at any block.',
    applies: ({ leftAt, hasLost, isPreferred }, needs) =>
      !isPreferred && !hasLost && leftAt !== undefined && readsFrom(leftAt, needs),
    // Before upstreams that lack the block: if the followed branch does not grow, no upstream of it has the block.
    lastResort: 2,
    comparesBlocks: true,
  },
  ahead: {
    meaning:
      'Its head is more than one block above the heads of all other groups of upstreams, and the call is for a tag, or for a block above those and above the newest served block.',
    applies: ({ aheadOf, isPreferred }, needs, { newestServed }) =>
      !isPreferred && aheadOf !== undefined && readsFrom(Math.max(aheadOf, newestServed) + 1, needs),
    lastResort: 4,
    comparesBlocks: true,
  },
  'unsupported-method': {
    meaning:
      'It is marked for the method: it returned that it does not support it (for 10 min), returned an impossible result, or timed out three times in a row (for 30 s).',
    applies: ({ isMethodMarked, isPreferred }) => isMethodMarked && !isPreferred,
    lastResort: 1,
  },
  'missing-block': {
    meaning:
      'Its head is below the block of the call, or it recently returned that it does not have this block, or a block at least as old. For state older than 128 blocks: it is not an `archive`, and another upstream is.',
    applies: (candidate, { blocks }, network) =>
      blocks !== undefined && !candidate.isPreferred && isMissing(candidate, blocks, network),
    lastResort: 3,
    comparesBlocks: true,
  },
  behind: {
    meaning:
      'It is more than 8 blocks behind the head (or the blocks of 16 s, or `maxLagBlocks`). For a tag, also an implied one, or a pass-through method: it is below the head.',
    applies: (candidate, { blocks, isPassThrough }, network) =>
      !candidate.isPreferred &&
      (candidate.lag > network.maxLag ||
        (blocks?.tag !== undefined && candidate.isTagOlder) ||
        ((blocks?.tag !== undefined || isPassThrough) && isBelowHead(candidate, network))),
    lastResort: 1,
    comparesBlocks: true,
  },
} as const satisfies Readonly<Record<string, SkipReasonRow>>;

export type SkipReason = keyof typeof skipReasons;

export const skipReasonNames = Object.keys(skipReasons) as readonly SkipReason[];

const checks = skipReasonNames.map((reason) => {
  const { applies, comparesBlocks }: SkipReasonRow = skipReasons[reason];
  return { reason, applies, comparesBlocks };
});
const checksOfOnlyUpstream = checks.filter(({ comparesBlocks }) => comparesBlocks !== true);

/** The first reason to skip a candidate; undefined: the call can be sent to it. */
export function skipReasonOf(
  candidate: CandidateState,
  needs: CallNeeds,
  network: NetworkState,
): SkipReason | undefined {
  for (const check of network.isAlone === true ? checksOfOnlyUpstream : checks)
    if (check.applies(candidate, needs, network)) return check.reason;
  return undefined;
}

function isStale(
  { head, isHeadUncertain }: CandidateState,
  { blocks, listsLogs, isHeadNumber }: CallNeeds,
  network: NetworkState,
): boolean {
  if (blocks === undefined) return false;
  // It may have lost blocks up to the newest served one, so that its known head shows nothing.
  const mayHaveLost = isHeadUncertain && head !== undefined && network.newestServed > 0;
  // The number of the head is raised to the newest served block.
  if (blocks.tag === 'latest') return !isHeadNumber && (mayHaveLost || isBelowServed(head, network.newestServed));
  if (!listsLogs) return false;
  if (mayHaveLost && !isOld(blocks.highest, network.head)) return true;
  // An upper end above the newest known block means that block.
  return head !== undefined && head < Math.min(blocks.highest, newestKnown(network));
}

/** Whether a call reads blocks from this number on. */
function readsFrom(number: number, { blocks }: CallNeeds): boolean {
  return blocks !== undefined && (blocks.tag !== undefined || blocks.highest >= number);
}

function newestKnown({ head, newestServed }: NetworkState): number {
  return Math.max(head, newestServed);
}

function isMissing(
  { head, isArchive, lacksBlocks }: CandidateState,
  { lowest, highest, readsState }: NonNullable<CallNeeds['blocks']>,
  network: NetworkState,
): boolean {
  // A block above the newest known one may be new at any upstream.
  if (head !== undefined && head < highest && highest <= newestKnown(network)) return true;
  if (isArchive) return false;
  return lacksBlocks || (network.hasArchives && readsState && isOld(lowest, network.head));
}
