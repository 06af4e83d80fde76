import { BranchMarks, type BranchMark } from './branch-marks.ts';
import type { Block, Header, SeenHead } from './header.ts';
import type { Report, Standing } from './select-head.ts';

/** Time within which a head falls and rises again if several nodes probably share the URL. */
const RISE_MS = 15_000;
/** Time for which the upstream then counts as alternating. */
const ALTERNATION_MS = 60_000;

/** Hashes of the newest blocks of an upstream that are retained, which covers 16 polls of a fast network. */
const MAX_HASHES = 32;

/** What a view has of one upstream. */
export interface ViewedUpstream extends Readonly<
  Pick<UpstreamBlocks<unknown>, 'head' | 'advancedAt' | 'alternatedAt' | 'isSubscribed' | 'standing'>
> {
  /** Mark of the upstream; undefined: it is not marked as being on another branch. */
  readonly mark: BranchMark | undefined;
}

/** What is known of the blocks of one upstream. */
export class UpstreamBlocks<U> {
  readonly upstream: U;
  /** Newest known block of the upstream; undefined: not known. The upstream then counts as having every block. */
  head: SeenHead | undefined;
  /** The newest block with a header that it reported: its head, or an older one while only the number of that is known. */
  header: Header | undefined;
  /** When its newest block became known in place of another one. */
  advancedAt = -Infinity;
  /** When its head last rose to a block that it had not reported before. */
  roseAt = -Infinity;
  /** When it last reported a block that it had not reported before. */
  movedAt = -Infinity;
  /** The hashes of its newest blocks by number, newest first, as far as it reported them. */
  hashes: ReadonlyMap<bigint, string> = new Map();
  /** Number from which on the hashes are those of ancestors of its head. Those below may have been replaced. */
  linkedFrom = 0n;
  /** What the selection of the head found; undefined: it is on the followed branch, as far as is known. */
  standing: Standing | undefined;
  /** Time since which its head is further ahead of the other groups than counts. */
  aheadSince: number | undefined;
  /** The block of the network of which it was asked for its own. */
  comparedAt: bigint | undefined;
  marks = new BranchMarks();
  /** The newest block that callers were served of it while its branch had lost, or it was marked and ahead. */
  servedApart: bigint | undefined;
  /** When its head last fell and rose again. */
  alternatedAt = -Infinity;
  /** Notifications keep its head up to date. */
  isSubscribed = false;
  /** Number of polls in a row without a block. */
  failures = 0;
  /** Number of polls in a row at which the selected head was below the network's head. */
  pollsBelow = 0;
  /** Whether its head did not continue the chain. */
  isForeign = false;
  /** Whether it returned, since its last poll or notification, a block older than its head, or of another branch. */
  isSuspected = false;
  /** Whether its block for `latest` was below a final one since its last poll or notification. */
  isBelowFinal = false;
  /** Head of the upstream before it last fell, and when it fell. */
  #beforeFall: bigint | undefined;
  #fellAt = -Infinity;

  constructor(upstream: U) {
    this.upstream = upstream;
  }

  /** Whether its head counts: it is known, and the upstream responds. */
  get isUsable(): boolean {
    return this.head !== undefined && this.failures < 2;
  }

  /** Whether a notification, or a response to a caller, that came during a poll is newer than the polled block. */
  isNewerThan({ number }: Block, sentAt: number): boolean {
    const { head } = this;
    if (head === undefined || head.at <= sentAt) return false;
    return number < head.number || (number === head.number && head.header !== undefined);
  }

  set({ number, header, timestamp, gasLimit }: Block, at: number): void {
    const previous = this.head;
    this.header = header ?? this.header;
    if (previous !== undefined && number !== previous.number) this.advancedAt = at;
    const isKnown = header !== undefined && this.hashes.get(number) === header.hash;
    if (previous !== undefined && number > previous.number && !isKnown) this.roseAt = at;
    if (header !== undefined) this.#learnHead(header, at);
    if (this.#beforeFall !== undefined && number >= this.#beforeFall) {
      this.#beforeFall = undefined;
      if (at - this.#fellAt < RISE_MS) this.alternatedAt = at;
    } else if (previous !== undefined && number < previous.number) {
      this.#beforeFall = previous.number;
      this.#fellAt = at;
    }
    this.head = { number, header, timestamp, gasLimit, at };
  }

  #learnHead({ number, hash, parentHash }: Header, at: number): void {
    const previous = this.hashes;
    const parent = previous.get(number - 1n);
    if (previous.get(number) !== hash) this.movedAt = at;
    if (parent !== parentHash || number <= this.linkedFrom) this.linkedFrom = number - 1n;
    const isReorg = parent !== undefined && parent !== parentHash;
    const older = isReorg ? [] : [...previous].filter(([one]) => one < number - 1n);
    this.#retain([[number, hash], [number - 1n, parentHash], ...older]);
    this.marks.abandon([...previous].filter(([one, known]) => (this.hashes.get(one) ?? known) !== known).reverse());
  }

  /** Learns ancestors of its head, oldest first, each the parent of the next. */
  learnAncestors(branch: readonly Header[]): void {
    const [oldest, newest] = [branch[0], branch.at(-1)];
    if (oldest === undefined || newest === undefined || oldest.number > this.linkedFrom) return;
    const newer = [...this.hashes].filter(([number]) => number >= this.linkedFrom && number > newest.number);
    const hashes = branch.map(({ number, hash }) => [number, hash] as const).reverse();
    const older = [...this.hashes].filter(([number]) => number < oldest.number - 1n);
    this.linkedFrom = oldest.number - 1n;
    this.#retain([...newer, ...hashes, [oldest.number - 1n, oldest.parentHash], ...older]);
  }

  /** @param hashes newest first */
  #retain(hashes: readonly (readonly [bigint, string])[]): void {
    const retained = hashes.slice(0, MAX_HASHES);
    this.hashes = new Map(retained);
    const [oldest = 0n] = retained.at(-1) ?? [];
    if (this.linkedFrom < oldest) this.linkedFrom = oldest;
  }

  /** Report for the selection of the network's head. */
  reportFor(group: string): UpstreamReport<U> | undefined {
    const { head, roseAt, movedAt, hashes, linkedFrom, marks } = this;
    const isMarked = marks.mark !== undefined;
    const isUncertain = head?.header === undefined && this.standing?.leftAt === undefined;
    return head && { known: this, group, head, roseAt, movedAt, hashes, linkedFrom, isMarked, isUncertain };
  }

  /** Copy for a view, which does not change. */
  snapshot(): ViewedUpstream {
    const { head, advancedAt, alternatedAt, isSubscribed, standing, marks } = this;
    return { head, advancedAt, alternatedAt, isSubscribed, standing, mark: marks.mark };
  }

  /** Forgets its head, which becomes outdated, or is of another chain. */
  forget(): void {
    this.head = undefined;
    this.header = undefined;
    this.roseAt = -Infinity;
    this.movedAt = -Infinity;
    this.hashes = new Map();
    this.standing = undefined;
    this.servedApart = undefined;
    this.isForeign = false;
    this.isSuspected = false;
    this.isBelowFinal = false;
    this.isSubscribed = false;
  }
}

export interface UpstreamReport<U> extends Report {
  readonly known: UpstreamBlocks<U>;
}

/** Whether several nodes of different height probably share its URL, by its latest heads. */
export function isAlternating({ alternatedAt }: { readonly alternatedAt: number }, at: number): boolean {
  return at - alternatedAt < ALTERNATION_MS;
}
