import type { CallNeeds, CandidateState, NetworkState } from './candidate.ts';
import { skipReasonOf, skipReasons, type SkipReason } from './skip-reasons.ts';

/** The position of a candidate that is not used even as a last resort. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** A candidate in the order of selection. */
export interface OrderedCandidate<Candidate> {
  readonly candidate: Candidate;
  /** Undefined: the call can be sent to it. */
  readonly skipReason: SkipReason | undefined;
  /** Whether it is selected if all candidates before it are tried. */
  readonly isUsable: boolean;
}

/**
 * The routing policy: orders the untried candidates of a call. The preferred one is first, then those without a skip reason,
 * then the last resorts. `UpstreamSelector` selects the first usable one, without judging those after it.
 * @param ranked by priority and latency score
 */
export function orderCandidates<Candidate extends CandidateState>(
  ranked: readonly Candidate[],
  needs: CallNeeds,
  network: NetworkState,
): OrderedCandidate<Candidate>[] {
  return ranked
    .filter(({ isTried }) => !isTried)
    .map((candidate) => {
      const skipReason = skipReasonOf(candidate, needs, network);
      const position =
        skipReason === undefined
          ? candidate.isPreferred
            ? -1
            : 0
          : lastResortOrder(skipReason, candidate, needs, network);
      return { candidate, skipReason, position };
    })
    .sort((one, other) => one.position - other.position)
    .map(({ candidate, skipReason, position }) => ({ candidate, skipReason, isUsable: position !== NEVER }));
}

/**
 * The position among the last resorts. For a tag or a pass-through method, the newest of several lagging heads is first. An
 * open circuit is never before `circuit-open`, whatever the skip reason.
 */
export function lastResortOrder(
  reason: SkipReason,
  candidate: CandidateState,
  needs: CallNeeds,
  network: NetworkState,
): number {
  const { circuit, head } = candidate;
  const { purpose, blocks, isPassThrough } = needs;
  const other =
    reason === 'circuit-open' ? skipReasonOf({ ...candidate, circuit: 'closed' }, needs, network) : undefined;
  if (other !== undefined) return lastResortOrder(other, candidate, needs, network);
  const { lastResort } = skipReasons[reason];
  if (lastResort === 'never' || purpose === 'hedge') return NEVER;
  const needsNewest = blocks?.tag !== undefined || isPassThrough;
  const isLagging = reason === 'behind' && needsNewest && head !== undefined && head < network.head;
  // Below 1, so that the rows of the table decide first.
  const order = isLagging ? lastResort + 1 - 1 / (1 + network.head - head) : lastResort;
  if (circuit === 'closed') return order;
  return purpose === 'closed-retry' ? NEVER : Math.max(order, skipReasons['circuit-open'].lastResort);
}
