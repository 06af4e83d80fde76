import { selectHead } from './select-head.ts';
import type { HeadFollower, HeadSource } from './head-follower.ts';
import type { PolledHead } from './polled-head.ts';

/** A lower head is confirmed after this many polls of each upstream at or below it. */
const CONFIRMING_POLLS = 3;

/** The head that was selected from those of the usable upstreams, compared with the network's head before. */
export interface HeadCandidate {
  readonly head: PolledHead;
  /** The upstream that reported it. */
  readonly source: HeadSource;
  readonly isBelow: boolean;
  /** A lower head: by repeated polls. Any other: all usable upstreams report the same block. */
  readonly isConfirmed: boolean;
}

/**
 * Selects the head, and decides whether a lower one is confirmed.
 * @param updated the follower with a new poll, whose polls below the head are counted
 * @param previous the network's head until now
 * @param blockMs time between blocks, if known
 */
export function confirmHead(
  followers: readonly HeadFollower[],
  updated: HeadFollower | undefined,
  previous: PolledHead | undefined,
  blockMs: number | undefined,
): HeadCandidate | undefined {
  const usable = followers.filter(({ isUsable }) => isUsable);
  const polledHeads = usable.flatMap(({ latest }) => latest ?? []);
  const head = selectHead(polledHeads, previous, blockMs);
  const follower = usable.find(({ latest }) => latest === head);
  if (head === undefined || follower === undefined) return undefined;
  const { source } = follower;
  const isBelow = previous !== undefined && head.number < previous.number;
  if (!isBelow) {
    const isConfirmed = usable.every(({ latest }) => latest?.header?.hash === head.header?.hash);
    return { head, source, isBelow, isConfirmed };
  }
  if (updated !== undefined && updated.latest !== undefined) updated.pollsBelow++;
  const deciding = usable.filter(({ latest }) => latest !== undefined && latest.number <= head.number);
  return { head, source, isBelow, isConfirmed: deciding.every(({ pollsBelow }) => pollsBelow >= CONFIRMING_POLLS) };
}
