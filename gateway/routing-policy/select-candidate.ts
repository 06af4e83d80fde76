import type { CallNeeds, CandidateState, NetworkState } from './candidate.ts';
import { skipReasonOf, skipReasons, type SkipReason } from './skip-reasons.ts';

/** The position of a candidate that is not used even as a last resort. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Candidates from which a selection is made. */
export interface Candidates<Upstream> {
  /** The untried upstreams, by priority and latency score. */
  readonly ranked: readonly Upstream[];
  readonly stateOf: (upstream: Upstream) => CandidateState;
  readonly needs: CallNeeds;
  readonly network: NetworkState;
  /** Upstream that is selected before the others, unless it has a skip reason. */
  readonly preferred?: Upstream | undefined;
  /** Whether a range has a size that the upstream allows. */
  readonly allowsRange?: ((upstream: Upstream) => boolean) | undefined;
  readonly onSkipped?: ((upstream: Upstream, reason: SkipReason) => void) | undefined;
}

/** A selected upstream. `skipReason`: it is a last resort. */
export interface Selected<Upstream> {
  readonly upstream: Upstream;
  readonly skipReason: SkipReason | undefined;
}

/** The routing policy: selects the first upstream without a skip reason, or else the best last resort. */
export function selectCandidate<Upstream>(candidates: Candidates<Upstream>): Selected<Upstream> | undefined {
  const { ranked, stateOf, needs, network, preferred, allowsRange, onSkipped } = candidates;
  if (preferred !== undefined && skipReasonOf(stateOf(preferred), needs, network) === undefined)
    return { upstream: preferred, skipReason: undefined };
  let lastResort: Selected<Upstream> | undefined;
  let lowest = NEVER;
  for (const upstream of ranked) {
    const state = stateOf(upstream);
    const skipReason = skipReasonOf(state, needs, network);
    if (skipReason !== 'excluded' && allowsRange?.(upstream) === false) continue;
    if (skipReason === undefined) return { upstream, skipReason };
    onSkipped?.(upstream, skipReason);
    const position = lastResortOrder(skipReason, state, needs, network);
    if (position >= lowest) continue;
    lastResort = { upstream, skipReason };
    lowest = position;
  }
  return lastResort;
}

/**
 * The position among the last resorts. For a tag or a pass-through method, the newest of several lagging heads is first. An
 * open circuit is never before `circuit-open`, whatever the skip reason.
 */
function lastResortOrder(
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
