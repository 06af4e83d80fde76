import { maxLagOf } from './block-times.ts';
import type { Header } from './header.ts';
import type { Headers } from './header-ring.ts';
import { groupsOf, groupsWith, isNearHead, newestWitness, type Selection } from './select-head.ts';
import type { UpstreamReport } from './upstream-blocks.ts';

/**
 * Where the network's head is held at the newest witnessed block: `near`, while that is near the highest head; `always`; or
 * nowhere.
 */
export type Hold = 'no' | 'near' | 'always';

/** How many groups must have a block on which proofs rest. */
export interface WitnessRule {
  /** Number of witnesses; undefined: more than half of the groups. */
  readonly count: number | undefined;
  /** Whether the head is held at the newest such block. */
  readonly hold: Hold;
}

/** A block is witnessed if upstreams of several groups have it, as their head or as an ancestor of it. */
export interface Witnesses {
  /** The groups that must have a block; 1: any upstream is enough. */
  readonly needed: number;
  /** The groups with an upstream that responds, is on the followed branch, and is not behind. */
  readonly present: number;
  /** The newest witnessed block. Its groups may be unavailable since. Undefined: not known. */
  readonly block: { readonly number: bigint; readonly hash: string } | undefined;
  readonly hold: Hold;
  /** Time since which new blocks are not witnessed in time; undefined: they are. */
  readonly missingSince: number | undefined;
}

const majority: WitnessRule = { count: undefined, hold: 'no' };
/** One upstream is enough. */
const noWitnesses: Witnesses = { needed: 1, present: 0, block: undefined, hold: 'no', missingSince: undefined };

/** What the upstreams of a network have at one moment. */
interface Reported<U> {
  readonly reports: readonly UpstreamReport<U>[];
  readonly selection: Selection<UpstreamReport<U>>;
  readonly followed: Headers;
  readonly blockMs: number | undefined;
  /** Number of groups with an upstream whose head is known, usable or not. */
  readonly polledGroups: number;
}

/** Finds the newest witnessed block of a network, and holds its head there if the rule says so. */
export class WitnessTracker<U> {
  /** Witnesses: another object after each change. */
  known = noWitnesses;
  /** The upstream that has the newest witnessed block as its head; undefined: none has. */
  #witness: UpstreamReport<U> | undefined;

  /** What fewer groups had than are needed now is not witnessed. @param groups of all upstreams */
  replaceRule({ count, hold } = majority, groups: number): void {
    const needed = count ?? Math.floor(groups / 2) + 1;
    if (needed > this.known.needed) this.forget();
    this.known = { ...this.known, needed, hold };
  }

  forget(): void {
    this.known = { ...this.known, block: undefined, present: 0, missingSince: undefined };
  }

  /** The ancestors of a witnessed block are witnessed, too. @param removed by a reorg, newest first */
  removed(removed: readonly Header[]): void {
    const fork = removed.at(-1);
    if (fork !== undefined && removed.some(({ hash }) => hash === this.known.block?.hash))
      this.known = { ...this.known, block: { number: fork.number - 1n, hash: fork.parentHash } };
  }

  /** Upstreams that are not polled any more are no missing witnesses. */
  unfollowed(): void {
    this.known = { ...this.known, missingSince: undefined };
  }

  /** @returns the upstreams of the followed branch, if their heads are to be compared because no witnessed block is near the head */
  update(
    { reports, selection, followed, blockMs, polledGroups }: Reported<U>,
    at: number,
  ): readonly UpstreamReport<U>[] {
    const { needed, hold, block: before, missingSince } = this.known;
    const { head, leaves } = selection;
    this.#witness = undefined;
    if (needed <= 1 || head === undefined) return [];
    const { number } = head.head;
    const onBranch = reports.filter(({ known }) => known.standing?.leftAt === undefined);
    this.#witness = newestWitness(onBranch, reports, followed, needed);
    const found = this.#witness?.head.header;
    const isReplaced = before !== undefined && (followed.at(before.number)?.hash ?? before.hash) !== before.hash;
    // Of a branch that is left, what the other branch has of it stays witnessed.
    const kept = leaves === undefined ? before : newestOn(onBranch, followed, before?.number);
    const isNewer = found !== undefined && (kept === undefined || found.number >= kept.number);
    const block = isNewer || isReplaced ? found && { number: found.number, hash: found.hash } : kept;
    const lowest = number - BigInt(maxLagOf(blockMs));
    const present = groupsOf(onBranch.filter((one) => one.head.number >= lowest));
    const isNear = block !== undefined && isNearHead(block.number, number, blockMs);
    // Upstreams that are not polled say nothing where no proof depends on them.
    const isFollowed = hold !== 'no' || polledGroups >= needed;
    const isEnough = hold === 'near' ? isNear : block !== undefined && block.number >= lowest && present >= needed;
    const isMissing = isFollowed && !isEnough;
    this.known = { needed, hold, block, present, missingSince: isMissing ? (missingSince ?? at) : undefined };
    return hold !== 'no' && !isNear ? onBranch : [];
  }

  /**
   * The head to follow in place of a selected one: the newest witnessed one if the head is held there. Undefined: the head before stays.
   * @param lowest the head before, if only a newer one replaces it
   */
  headToFollow(head: UpstreamReport<U>, lowest: bigint, blockMs: number | undefined): UpstreamReport<U> | undefined {
    const { needed, hold, block } = this.known;
    const { number } = head.head;
    // All upstreams are below the head: polls decide.
    if (hold === 'no' || needed <= 1 || number < lowest) return head;
    const isHeld = (held: bigint | undefined): boolean =>
      hold === 'always' || (held !== undefined && isNearHead(held, number, blockMs));
    const found = isHeld(this.#witness?.head.number) ? this.#witness : isHeld(block?.number) ? undefined : head;
    // After a branch was left, the witness may lag behind the newest witnessed block, which both branches have.
    if (found === undefined || found.head.number < lowest) return undefined;
    return found === this.#witness && found.head.number < (block?.number ?? 0n) ? undefined : found;
  }
}

/** The newest followed block up to this number that one of the upstreams has. */
function newestOn<U>(upstreams: readonly UpstreamReport<U>[], followed: Headers, highest = -1n): Witnesses['block'] {
  const block = followed.list.findLast(
    ({ number, hash }) => number <= highest && groupsWith(upstreams, number, hash, followed) > 0,
  );
  return block && { number: block.number, hash: block.hash };
}
