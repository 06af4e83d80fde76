import type { ChainChange } from './canonical-chain.ts';
import type { HeadSource } from './head-follower.ts';
import { parseHeader, type Header } from './header.ts';
import { HeaderRing } from './header-ring.ts';

/** Some hundreds: an hour of Ethereum, minutes of the quickest networks. */
const MAX_HEADERS = 512;

/** By hash, one after the other. No reorganisation that leaves the rest of a network as it was goes so far back. */
const MAX_WALK = 128;

/** Blocks of a gap that are asked for at the same time. */
const CONCURRENT_FETCHES = 8;

/** So often in a row blocks of a gap may be missing everywhere; then they are given up. */
const MAX_TRIES = 5;

/** Makes of heads, as they come, a chain without gaps: what is missing is fetched from whoever has it. */
export class ChainFollower {
  readonly ring = new HeaderRing(MAX_HEADERS);
  readonly #sources: ReadonlyMap<HeadSource, unknown>;
  readonly #onChange: (change: ChainChange, isContinuous: boolean) => void;
  /** Who told the head. */
  #source: HeadSource | undefined;
  #isCurrent = false;
  #isRunning = false;
  #next: (() => Promise<void>) | undefined;
  #failures = 0;

  /**
   * @param sources as they are at each moment, best first
   * @param onChange `isTold`: it goes on from the change before, rather than from a pause
   */
  constructor(
    sources: ReadonlyMap<HeadSource, unknown>,
    onChange: (change: ChainChange, isContinuous: boolean) => void,
  ) {
    this.#sources = sources;
    this.#onChange = onChange;
  }

  /** The chain was not followed for a while: it goes on from the next head, wherever that is. */
  pause(): void {
    this.#isCurrent = false;
  }

  /** Whether it has been followed without a pause. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /**
   * Goes on to a head. What comes while blocks are being fetched waits, and the last of it only is looked at.
   * @param isConfirmed the healthy upstreams agree, though it is not above our head
   * @param fillsGaps whether somebody cares for what lies between
   */
  follow(head: Header, source: HeadSource, isConfirmed: boolean, fillsGaps: boolean): void {
    this.#next = () => this.#moveTo(head, source, isConfirmed, fillsGaps);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next !== undefined) {
      const next = this.#next;
      this.#next = undefined;
      await next();
    }
    this.#isRunning = false;
  }

  async #moveTo(head: Header, source: HeadSource, isConfirmed: boolean, fillsGaps: boolean): Promise<void> {
    const { ring } = this;
    const current = ring.head;
    if (head.hash === current?.hash) {
      if (!this.#isCurrent) this.#changed({ removed: [], added: [] }, source);
      return;
    }
    const isHigher = current === undefined || head.number > current.number;
    if (this.#isCurrent && !isHigher && !isConfirmed && !this.#isFork(head, source)) return;
    if (ring.has(head.hash)) this.#changed({ removed: ring.cutAbove(head.hash), added: [] }, source);
    else if (ring.has(head.parentHash)) this.#changed(ring.extend([head]), source);
    else if (!this.#isCurrent || !fillsGaps) this.#changed(ring.restartAt(head), source);
    else await this.#fillGap(head, source);
  }

  /**
   * Whether a head that is no higher than ours takes its place. Two blocks of the same height are a fork, which one of
   * the next decides: until then the one who told of our head is believed. One who lags tells of older blocks.
   */
  #isFork({ number, hash }: Header, source: HeadSource): boolean {
    const { oldest } = this.ring;
    return source === this.#source && !this.ring.has(hash) && oldest !== undefined && number >= oldest.number;
  }

  async #fillGap(head: Header, source: HeadSource): Promise<void> {
    const branch = await this.#branchTo(head, source);
    if (branch === 'unknown' && ++this.#failures < MAX_TRIES) return;
    this.#changed(Array.isArray(branch) ? this.ring.extend(branch) : this.ring.restartAt(head), source);
  }

  #changed(change: ChainChange, source: HeadSource): void {
    this.#source = source;
    this.#failures = 0;
    const wasCurrent = this.#isCurrent;
    this.#isCurrent = true;
    this.#onChange(change, wasCurrent);
  }

  /** What leads from the ring to a head, oldest first; where nothing does, from the height at which the ring begins. */
  async #branchTo(head: Header, teller: HeadSource): Promise<Header[] | 'unknown' | 'too-long'> {
    const { ring } = this;
    const oldest = ring.oldest?.number ?? 0n;
    const first = (ring.head?.number ?? 0n) + 1n;
    if (head.number < oldest || head.number - first > MAX_HEADERS) return 'too-long';
    const others = [...this.#sources.keys()].filter(
      (source) => source !== teller && source.circuit.isClosed && !source.isOnOtherChain,
    );
    const sources = [teller, ...others];
    const between = await this.#fetchNumbered(first, head.number, sources);
    const branch = [head];
    let walked = 0;
    for (;;) {
      const [{ parentHash, number }] = branch as [Header];
      if (ring.has(parentHash) || number === oldest) return branch;
      const known = between.get(parentHash);
      if (known === undefined && ++walked > MAX_WALK) return 'too-long';
      const parent = known ?? (await fetchHeader('eth_getBlockByHash', parentHash, sources));
      if (parent?.hash !== parentHash) return 'unknown';
      branch.unshift(parent);
    }
  }

  /** Blocks by number, several at once: of a gap of fifty, one after the other by hash would take seconds. */
  async #fetchNumbered(from: bigint, to: bigint, sources: HeadSource[]): Promise<Map<string, Header>> {
    const found = new Map<string, Header>();
    let next = from;
    const worker = async (): Promise<void> => {
      while (next < to) {
        const header = await fetchHeader('eth_getBlockByNumber', `0x${(next++).toString(16)}`, sources);
        if (header !== undefined) found.set(header.hash, header);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_FETCHES }, worker));
    return found;
  }
}

/**
 * Of the first that has it.
 * @param sources whoever fails is taken out: the next block is not waited for in vain, too
 */
async function fetchHeader(method: string, block: string, sources: HeadSource[]): Promise<Header | undefined> {
  for (const source of [...sources]) {
    try {
      const header = parseHeader(await source.fetchResult(method, `["${block}",false]`));
      if (header !== undefined) return header;
    } catch {
      const at = sources.indexOf(source);
      if (at !== -1) sources.splice(at, 1);
    }
  }
  return undefined;
}
