import type { Block, Header, SeenHead } from './header.ts';

/** If a head falls and rises again within this time, several nodes probably share the URL. */
const RISE_MS = 15_000;
/** For this time. */
const ALTERNATION_MS = 60_000;

/** What a view has of one upstream. */
export type ViewedUpstream = Readonly<
  Pick<UpstreamBlocks<unknown>, 'head' | 'advancedAt' | 'alternatedAt' | 'isSubscribed'>
>;

/** What is known of the blocks of one upstream. */
export class UpstreamBlocks<U> {
  readonly upstream: U;
  /** Its newest known block; undefined: not known. It then counts as having every block. */
  head: SeenHead | undefined;
  /** The newest block with a header that it reported: its head, or an older one while only the number of that is known. */
  header: Header | undefined;
  /** When its newest block became known in place of another one. */
  advancedAt = -Infinity;
  /** When its head last fell and rose again. */
  alternatedAt = -Infinity;
  /** Notifications keep its head up to date. */
  isSubscribed = false;
  /** Number of polls in a row without a block. */
  failures = 0;
  /** Number of polls in a row at which the selected head was below the network's head. */
  pollsBelow = 0;
  /** Its head did not continue the chain. */
  isForeign = false;
  /** Since its last poll or notification, it returned a block older than its head, or of another branch. */
  isSuspected = false;
  /** Since its last poll or notification, its block for `latest` was below a final one. */
  isBelowFinal = false;
  /** Its head before it last fell, and when it fell. */
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
    if (this.#beforeFall !== undefined && number >= this.#beforeFall) {
      this.#beforeFall = undefined;
      if (at - this.#fellAt < RISE_MS) this.alternatedAt = at;
    } else if (previous !== undefined && number < previous.number) {
      this.#beforeFall = previous.number;
      this.#fellAt = at;
    }
    this.head = { number, header, timestamp, gasLimit, at };
  }

  /** For a view, which does not change. */
  snapshot(): ViewedUpstream {
    const { head, advancedAt, alternatedAt, isSubscribed } = this;
    return { head, advancedAt, alternatedAt, isSubscribed };
  }

  /** Its head becomes outdated, or is of another chain. */
  forget(): void {
    this.head = undefined;
    this.header = undefined;
    this.isForeign = false;
    this.isSuspected = false;
    this.isBelowFinal = false;
    this.isSubscribed = false;
  }
}

/** Whether several nodes of different height probably share its URL, by its latest heads. */
export function isAlternating({ alternatedAt }: { readonly alternatedAt: number }, at: number): boolean {
  return at - alternatedAt < ALTERNATION_MS;
}
