import { nodeMethods } from '../spec/methods.generated.ts';
import type { ChainChange } from './canonical-chain.ts';
import type { HeadSource } from './head-source.ts';
import { parseHeader, type Header } from './header.ts';
import { HeaderRing } from './header-ring.ts';

/** Over an hour of Ethereum, and minutes of the fastest networks. */
const MAX_HEADERS = 512;

/** Maximum number of parents fetched by hash, one after the other. Reorgs of public networks are not that deep. */
const MAX_WALK = 128;

/** Blocks of a gap that are fetched at the same time. */
const CONCURRENT_FETCHES = 8;

/** The upstream that reported a head has its ancestors. If it returns null, another node behind its URL may have them. */
const MAX_REPEATED_FETCHES = 3;

/** If a gap could not be filled for this time, the chain restarts at the head. */
const MAX_GAP_MS = 60_000;

/** Missing blocks that are fetched without watchers. With larger gaps, the chain restarts at the head. */
const MAX_UNWATCHED_GAP = 3n;

/** The gaps between the chain and the next head whose blocks are fetched. */
export type FilledGaps = 'all' | 'small' | 'none';

/** A head to move the chain to. */
interface Move {
  readonly head: Header;
  readonly source: HeadSource;
  readonly isConfirmed: boolean;
  readonly fills: FilledGaps;
  /** The source has just returned the chain id of the network. */
  readonly isChecked?: boolean;
}

/** Builds a chain without gaps from the network's heads: detects reorgs, and fetches missing blocks from the upstreams. */
export class ChainFollower {
  readonly ring = new HeaderRing(MAX_HEADERS);
  readonly #sources: ReadonlyMap<HeadSource, { readonly isAlternating: boolean }>;
  readonly #onChange: (change: ChainChange, isContinuous: boolean) => void;
  readonly #onError: (error: unknown) => void;
  /** The upstream that reported the head. */
  #source: HeadSource | undefined;
  #isCurrent = false;
  /** The source that reported the head was found to be on another chain. */
  #isDoubtful = false;
  #isRunning = false;
  /** Watchers may have missed a change, so that the chain restarts at the next head. */
  #hasThrown = false;
  #next: (() => Promise<void>) | undefined;
  /** The latest head of each source whose chain is being checked. Heads of other sources are followed meanwhile. */
  readonly #unchecked = new Map<HeadSource, () => Promise<void>>();
  /** Heads of sources whose chain was checked. */
  readonly #checked: (() => Promise<void>)[] = [];
  /** Blocks of a gap that is not yet filled, by hash. */
  readonly #fetched = new Map<string, Header>();
  #gapSince: number | undefined;

  /**
   * @param sources live view of the upstreams, best first
   * @param onChange `isContinuous`: the change continues from the previous one, without a pause between
   * @param onError a defect of Gatehouse: `onChange` or following the chain threw
   */
  constructor(
    sources: ReadonlyMap<HeadSource, { readonly isAlternating: boolean }>,
    onChange: (change: ChainChange, isContinuous: boolean) => void,
    onError: (error: unknown) => void,
  ) {
    this.#sources = sources;
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** The chain is not followed for a while, and may restart at the next head. */
  pause(): void {
    this.#isCurrent = false;
  }

  /** Whether the chain is followed without a pause. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /**
   * Moves the chain to a head. While blocks are being fetched, only the latest head is queued.
   * @param isConfirmed the healthy upstreams agree on the head: it replaces one that is not lower
   * @param fills the gaps whose blocks are fetched: all for watchers, small ones while the network is in use
   */
  follow(head: Header, source: HeadSource, isConfirmed: boolean, fills: FilledGaps): void {
    this.#next = () => this.#moveTo({ head, source, isConfirmed, fills });
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      let next = this.#checked.shift();
      if (next === undefined) [next, this.#next] = [this.#next, undefined];
      if (next === undefined) break;
      try {
        await next();
      } catch (error) {
        this.#hasThrown = true;
        this.#onError(error);
      }
    }
    this.#isRunning = false;
  }

  async #moveTo(move: Move): Promise<void> {
    const { head, source, isConfirmed, fills } = move;
    const { ring } = this;
    const current = ring.head;
    if (head.hash === current?.hash) {
      if (!this.#isCurrent) this.#applyChange({ removed: [], added: [] }, source);
      return;
    }
    const isHigher = current === undefined || head.number > current.number;
    if (!isHigher && !isConfirmed && !this.#isFork(head, source)) {
      if (!this.#isCurrent) this.#applyChange({ removed: [], added: [] }, source);
      return;
    }
    if (this.#hasThrown) this.#applyChange(ring.restartAt(head), source);
    else if (ring.has(head.hash)) this.#applyChange({ removed: ring.cutAbove(head.hash), added: [] }, source);
    else if (ring.has(head.parentHash)) this.#applyChange(ring.extend([head]), source);
    else if (!this.#isCurrent) {
      // Without a response of the source about its chain, the next head is tried.
      if (current === undefined || this.#isChecked(move)) this.#applyChange(ring.restartAt(head), source);
    } else if (fills === 'none' || (fills === 'small' && isLargeGap(head, current)))
      this.#applyChange(ring.restartAt(head), source);
    else await this.#fillGap(move);
  }

  /** False: the chain of the source is checked now, and then the head is followed, unless a later one of the source is. */
  #isChecked(move: Move): boolean {
    const { source, isChecked = false } = move;
    if (isChecked) return !source.isOnOtherChain;
    const isPending = this.#unchecked.has(source);
    const before = this.ring.head;
    this.#unchecked.set(source, () => {
      // The upstreams agreed on it before the chain moved.
      const isConfirmed = move.isConfirmed && this.ring.head === before;
      return this.#moveTo({ ...move, isConfirmed, isChecked: true });
    });
    if (isPending) return false;
    void source.verifyChain().then((isRight) => {
      const next = this.#unchecked.get(source);
      this.#unchecked.delete(source);
      if (!isRight || next === undefined) return;
      this.#checked.push(next);
      if (!this.#isRunning) void this.#run();
    });
    return false;
  }

  /** Whether a header does not continue the chain at a height where it should, so that it may be of another chain. */
  isForeign(header: Header): boolean {
    const { head, oldest } = this.ring;
    const { number, hash, parentHash } = header;
    if (!this.#isCurrent || head === undefined || oldest === undefined) return false;
    if (this.ring.has(hash) || this.ring.has(parentHash) || this.ring.hasRemoved(header)) return false;
    if (number > oldest.number && number <= head.number + 1n) return true;
    return number > head.number + BigInt(MAX_HEADERS) || number < oldest.number - BigInt(MAX_HEADERS);
  }

  /**
   * A source is on another chain, and may have reported blocks of it. If the next head of another source continues this
   * chain, it did not. Without other sources, the chain restarts.
   */
  leave(source: HeadSource, hasOthers: boolean): void {
    this.#fetched.clear();
    this.#gapSince = undefined;
    if (source !== this.#source || this.ring.head === undefined) return;
    this.#isDoubtful = true;
    if (hasOthers) return;
    this.ring.clear();
    this.#applyChange({ removed: [], added: [], hasGap: true }, undefined);
    this.#isCurrent = false;
  }

  /**
   * Whether a head that is not higher replaces the current one. Two blocks of the same height are a fork, which a later
   * block decides. Until then, only the upstream that reported the current head can replace it, or after a pause any upstream.
   * Of several nodes behind one URL, one may be on an old branch.
   * A lagging upstream reports older blocks of the ring, blocks below it, or of a branch that a reorg removed. Polls decide
   * whether an upstream alone went back to such a branch, because it may be several nodes.
   */
  #isFork(header: Header, source: HeadSource): boolean {
    const { number, hash } = header;
    const known = this.ring.at(number);
    if (known === undefined || known.hash === hash) return false;
    if (!this.#isCurrent) return true;
    if (source !== this.#source || this.#sources.get(source)?.isAlternating === true) return false;
    const isLower = this.ring.head !== undefined && number < this.ring.head.number;
    return !isLower || !this.ring.hasRemoved(header);
  }

  async #fillGap(move: Move): Promise<void> {
    const { head, source, fills } = move;
    this.#gapSince ??= performance.now();
    const branch = await this.#fetchBranch(head, source);
    // Nodes behind one URL may lack blocks that the next one has.
    if (branch === 'unknown' && fills === 'all' && performance.now() - this.#gapSince < MAX_GAP_MS) return;
    const parent = Array.isArray(branch) ? branch[0]?.parentHash : undefined;
    if (!this.ring.has(parent ?? '') && !this.#isChecked(move)) return;
    this.#applyChange(Array.isArray(branch) ? this.ring.extend(branch) : this.ring.restartAt(head), source);
  }

  #applyChange(change: ChainChange, source: HeadSource | undefined): void {
    const isOtherChain = this.#isDoubtful && (change.removed.length > 0 || change.hasGap === true);
    if (isOtherChain || change.added.length > 0) this.#isDoubtful = false;
    this.#source = source;
    this.#gapSince = undefined;
    this.#fetched.clear();
    this.#hasThrown = false;
    const wasCurrent = this.#isCurrent;
    this.#isCurrent = true;
    this.#onChange(isOtherChain ? { ...change, hasGap: true, isOtherChain } : change, wasCurrent);
  }

  /** The blocks from the ring to a head, oldest first. If no parent is in the ring: from the height of its oldest block. */
  async #fetchBranch(head: Header, reporter: HeadSource): Promise<Header[] | 'unknown' | 'too-long'> {
    const { ring } = this;
    const oldest = ring.oldest?.number ?? 0n;
    const first = (ring.head?.number ?? 0n) + 1n;
    if (head.number < oldest || head.number - first > MAX_HEADERS) return 'too-long';
    const others = [...this.#sources.keys()].filter(
      (source) => source !== reporter && source.circuit.isClosed && !source.isOnOtherChain,
    );
    const sources = [reporter, ...others];
    await this.#fetchNumbered(first, head.number, sources);
    const branch = [head];
    let walked = 0;
    for (;;) {
      const [{ parentHash, number }] = branch as [Header];
      if (ring.has(parentHash) || number === oldest) return branch;
      const known = this.#fetched.get(parentHash);
      if (known === undefined && ++walked > MAX_WALK) return 'too-long';
      const parent = known ?? (await fetchHeader(nodeMethods.blockByHash, parentHash, sources));
      // Heights that fall by one end the walk: a hostile upstream may send headers that are parents of each other.
      if (parent?.hash !== parentHash || parent.number !== number - 1n) return 'unknown';
      this.#fetched.set(parentHash, parent);
      branch.unshift(parent);
    }
  }

  /** Fetches missing blocks by number, 8 at a time. One after the other by hash, a gap of 50 blocks would take seconds. */
  async #fetchNumbered(from: bigint, to: bigint, sources: HeadSource[]): Promise<void> {
    const numbers = new Set([...this.#fetched.values()].map(({ number }) => number));
    let next = from;
    const worker = async (): Promise<void> => {
      while (next < to) {
        const number = next++;
        if (numbers.has(number)) continue;
        const header = await fetchHeader(nodeMethods.blockByNumber, `0x${number.toString(16)}`, sources);
        if (header !== undefined) this.#fetched.set(header.hash, header);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_FETCHES }, worker));
  }
}

function isLargeGap(head: Header, current: Header | undefined): boolean {
  return current === undefined || head.number - current.number - 1n > MAX_UNWATCHED_GAP;
}

/**
 * Fetches a header from the first source that has it.
 * @param sources the one that reported the head is first, and is asked again at the end. One that fails is removed, so that
 * the next blocks do not wait for it
 */
async function fetchHeader(method: string, block: string, sources: HeadSource[]): Promise<Header | undefined> {
  const repeated = sources.slice(0, 1).flatMap((reporter) => Array<HeadSource>(MAX_REPEATED_FETCHES).fill(reporter));
  for (const source of [...sources, ...repeated]) {
    const at = sources.indexOf(source);
    if (at === -1) continue;
    try {
      const header = parseHeader(await source.fetchResult(method, `["${block}",false]`));
      if (header !== undefined) return header;
    } catch {
      sources.splice(at, 1);
    }
  }
  return undefined;
}
