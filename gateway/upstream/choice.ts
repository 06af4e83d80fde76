import type { Asking, PassedOver } from './asking.ts';
import { isOld, type Heads, type NamedBlocks } from './blocks-held.ts';
import { Ranking } from './ranking.ts';
import type { ServedBlocks } from './served-blocks.ts';
import type { Upstream } from './upstream.ts';

/** Whom to ask next. */
export class Choice {
  readonly #all: readonly Upstream[];
  readonly #ranking: Ranking<Upstream>;
  readonly #heads: Heads<Upstream>;
  readonly #served: ServedBlocks<Upstream>;
  readonly #hasArchives: boolean;
  readonly #maxLag: number | undefined;

  /**
   * @param maxLag blocks that one may be behind; undefined: by the pace of the network
   * @param before of the same network before its file was changed
   */
  constructor(
    all: readonly Upstream[],
    heads: Heads<Upstream>,
    served: ServedBlocks<Upstream>,
    maxLag: number | undefined,
    before?: Choice,
  ) {
    this.#all = all;
    this.#ranking = new Ranking(all, before === undefined ? undefined : before.#ranking);
    this.#heads = heads;
    this.#served = served;
    this.#maxLag = maxLag;
    this.#hasArchives = all.some(({ blocks }) => blocks.isArchive);
  }

  /**
   * The preferred one, then the first in the order that nothing is to be said against; when there is none, the first
   * that was not asked yet, if it is of this chain and not at its limit.
   */
  next(asking: Asking, now: number): Upstream | undefined {
    const { preferred, asked } = asking;
    if (preferred !== undefined && !asked.includes(preferred) && preferred.mayBeAsked(now)) return preferred;
    let lastResort: Upstream | undefined;
    for (const upstream of this.#ranking.order(asking.group, now)) {
      if (asked.includes(upstream)) continue;
      const reason = this.#reasonAgainst(upstream, asking, now);
      if (reason === undefined) return upstream;
      if (asked.length === 0) upstream.meters.passedOver(reason);
      asking.observer?.passedOver(upstream.name, reason);
      if (reason === 'at-limit' || reason === 'other-chain') continue;
      // One that works is better than one that does not.
      if (lastResort === undefined || (upstream.health.isUp && !lastResort.health.isUp)) lastResort = upstream;
    }
    return lastResort;
  }

  /** One that works, whatever else is to be said against it: marked for the method, lacking the block, or behind. */
  working(asking: Asking, now: number): Upstream | undefined {
    const isFit = (upstream: Upstream): boolean =>
      upstream.health.isUp && !asking.asked.includes(upstream) && upstream.limits?.hasRoom(now) !== false;
    return this.second(asking, now) ?? this.#ranking.order(asking.group, now).find(isFit);
  }

  /** One to ask beside another that takes long: only where it works, and nothing is to be said against it. */
  second(asking: Asking, now: number): Upstream | undefined {
    return this.#ranking
      .order(asking.group, now)
      .find(
        (upstream) =>
          upstream.health.isUp &&
          !asking.asked.includes(upstream) &&
          this.#reasonAgainst(upstream, asking, now) === undefined,
      );
  }

  /** Where all are marked for a method: the one that was marked first, of those that work. */
  longestMarked(method: string): Upstream | undefined {
    let longest: Upstream | undefined;
    let until = Infinity;
    for (const upstream of this.#all) {
      const mark = upstream.methods.markOf(method);
      if (mark === undefined || !upstream.health.isUp || mark.until >= until) continue;
      [longest, until] = [upstream, mark.until];
    }
    return longest;
  }

  #reasonAgainst(upstream: Upstream, { method, blocks }: Asking, now: number): PassedOver | undefined {
    if (upstream.limits?.hasRoom(now) === false) return 'at-limit';
    if (upstream.methods.has(method.name)) return 'lacks-method';
    if (this.#all.length > 1) {
      if (blocks !== undefined && this.#lacksBlock(upstream, method.name, blocks, now)) return 'lacks-block';
      if (this.#heads.lagOf(upstream) > (this.#maxLag ?? this.#heads.pace.mostBehind)) return 'behind';
      if (blocks?.tag !== undefined && this.#served.isBehind(upstream, blocks.tag, now)) return 'behind';
    }
    // A transaction is no trial: it would wait for what may hang.
    if (upstream.health.isUp || (method.sends !== true && upstream.mayBeAsked(now))) return undefined;
    // After a rest its chain id is asked for again before anything else.
    return upstream.isOfOtherChain && !upstream.health.isRestOver(now) ? 'other-chain' : 'resting';
  }

  #lacksBlock(upstream: Upstream, method: string, named: NamedBlocks, now: number): boolean {
    if (named.highest > 0 && !this.#heads.hasBlock(upstream, BigInt(named.highest))) return true;
    if (upstream.blocks.isArchive) return false;
    if (upstream.blocks.lacks(method, named, now)) return true;
    const head = this.#heads.number;
    return this.#hasArchives && named.readsState && head !== undefined && isOld(named.lowest, head);
  }
}
