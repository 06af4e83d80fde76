import type { CanonicalChain, ChainChange } from './canonical-chain.ts';
import { readHeader, type Header } from './header.ts';
import { HeaderRing } from './header-ring.ts';

/** An upstream, as far as its head is followed. */
export interface HeadSource {
  readonly name: string;
  readonly health: { readonly isUp: boolean };
  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws where no result comes in the time that the upstream has
   */
  resultOf(method: string, params: string): Promise<unknown>;
}

const RING_MAX = 512;
const POLL_MS = 1_000;

/** Follows the heads of one network's upstreams while the network is in use, and the chain while somebody watches. */
export class NetworkHeads implements CanonicalChain {
  readonly #sources: readonly HeadSource[];
  readonly #ring = new HeaderRing(RING_MAX);
  readonly #listeners = new Set<(change: ChainChange) => void>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(sources: readonly HeadSource[]) {
    this.#sources = sources;
  }

  get head(): Header | undefined {
    return this.#ring.head;
  }

  at(number: bigint): Header | undefined {
    return this.#ring.at(number);
  }

  has(hash: string): boolean {
    return this.#ring.has(hash);
  }

  watch(listener: (change: ChainChange) => void): () => void {
    const own = (change: ChainChange): void => {
      listener(change);
    };
    this.#listeners.add(own);
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS);
    void this.#poll();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.close();
    };
  }

  used(_now: number): void {
    // The head alone is not followed yet.
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const source = this.#sources.find(({ health }) => health.isUp) ?? this.#sources[0];
      if (source === undefined) return;
      const header = readHeader(await source.resultOf('eth_getBlockByNumber', '["latest",false]'));
      if (header !== undefined) await this.#take(header, source);
    } catch {
      // The next poll looks again.
    } finally {
      this.#isPolling = false;
    }
  }

  async #take(header: Header, source: HeadSource): Promise<void> {
    if (this.#ring.head === undefined) {
      this.#ring.startAfresh(header);
      return;
    }
    if (this.#ring.has(header.hash)) return;
    const branch = [header];
    while (branch[0] !== undefined && !this.#ring.has(branch[0].parentHash)) {
      if (branch.length === RING_MAX) {
        this.#tell(this.#ring.startAfresh(header));
        return;
      }
      const parent = readHeader(await source.resultOf('eth_getBlockByHash', `["${branch[0].parentHash}",false]`));
      if (parent === undefined) return;
      branch.unshift(parent);
    }
    this.#tell(this.#ring.goOn(branch));
  }

  #tell(change: ChainChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
