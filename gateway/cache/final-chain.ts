import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import type { ChainPoller } from '../chain/poller.ts';
import type { FinalBlock, SharedChain } from './shared-chain.ts';

/** Most chains finalise every few minutes. Between refreshes, entries for newer blocks are valid while canonical. */
const REFRESH_MS = 30_000;

/** A call that needs an old block waits for the first check after a start. */
const OPENING_MS = 500;

/** Minimum time between two checks. A check fails while no upstream returns the recorded block. */
const CHECK_MS = 1_000;

/** Unique in the process: an entry of a closed network is not valid in one with the same name. */
let generations = 0;

/** Fetches the block with this number or tag from an upstream. */
export type FetchBlock = (block: string) => Promise<unknown>;

/**
 * Records the newest final block of one network, and checks that its upstreams still have it: a node may be wiped and
 * restart at the same address. One block is enough, because its hash covers all earlier blocks. Blocks are fetched only while
 * calls need them.
 */
export class FinalChain {
  readonly #chain: ChainPoller;
  readonly #openShared: (id?: string) => SharedChain | undefined;
  #shared: SharedChain | undefined;
  #fetch: FetchBlock;
  #newest: FinalBlock | undefined;
  /** Number that changes after all entries were forgotten: one of another generation is not valid. Only this class changes it. */
  generation = ++generations;
  /** Upstreams that were marked as being on another branch, or for a disproved result, when entries were forgotten last. */
  #marks: number;
  /** `unbrokenSince` of the chain at the last successful check. */
  #checkedSince = -1;
  #checkedAt = -Infinity;
  #refreshedAt = -Infinity;
  /** Time when the record was read last, and its id. */
  #sharedAt = -Infinity;
  #knownId: string | undefined;
  #isWorking = false;
  /** The latest check or refresh. */
  #work: Promise<void> = Promise.resolve();
  #isOpen = false;
  #opened: Promise<unknown> | undefined;

  /** @param openShared opens the record that gateways share, with this id or that of the record; undefined: not shared */
  constructor(chain: ChainPoller, fetch: FetchBlock, openShared: (id?: string) => SharedChain | undefined) {
    this.#chain = chain;
    this.#marks = chain.view.marks;
    this.#fetch = fetch;
    this.#openShared = openShared;
    this.#shared = openShared();
  }

  /** Blocks are fetched by this function from now on. */
  moveTo(fetch: FetchBlock): void {
    this.#fetch = fetch;
  }

  /** Whether the chain is the one of the entries. False while this is being checked: entries are then not used. */
  isChecked(now: number): boolean {
    if (this.#shared?.id !== undefined && now - this.#sharedAt >= REFRESH_MS) this.#follow(now);
    return this.#isChecked(now);
  }

  #isChecked(now: number): boolean {
    const { unbrokenSince, marks } = this.#chain.view;
    // Entries may be of that upstream.
    if (marks !== this.#marks) this.#forget();
    if (unbrokenSince === this.#checkedSince) return true;
    if (this.#newest === undefined) this.#checkedSince = unbrokenSince;
    else this.#startCheck(now);
    return this.#newest === undefined;
  }

  /** Whether the block with this number is final; false while this is unknown. */
  includes(number: bigint, now: number): boolean {
    if (!this.#isChecked(now)) return false;
    if (this.#newest !== undefined && number <= this.#newest.number) return true;
    if (this.#chain.view.head !== undefined && now - this.#refreshedAt >= REFRESH_MS && !this.#isWorking) {
      this.#refreshedAt = now;
      this.#start(() => this.#refresh());
    }
    return false;
  }

  /**
   * Opens the record before the first lookup in a durable cache: a gateway that was started finds its results by its first calls.
   * @returns resolves when the newest final block is known, or after 500 ms; undefined: no call needs to wait
   */
  opening(): Promise<unknown> | undefined {
    if (this.#isOpen || this.#shared === undefined) return undefined;
    return (this.#opened ??= Promise.race([this.#open(), clock.sleep(OPENING_MS, { ref: false })]).finally(() => {
      this.#isOpen = true;
    }));
  }

  async #open(): Promise<void> {
    await this.#chain.whenStarted(clock.now());
    while (this.#isWorking) await this.#work;
    const now = clock.now();
    if (!this.#isChecked(now) || this.#chain.view.head === undefined) return;
    this.#refreshedAt = now;
    this.#start(() => this.#refresh());
    await this.#work;
  }

  /** A part of the keys of shared entries. Undefined: they are not read or written. */
  sharedId(now: number): string | undefined {
    if (this.#shared === undefined || !this.isChecked(now)) return undefined;
    if (this.#shared.id === undefined) this.#startCheck(now);
    return this.#shared.id;
  }

  /** The chain was replaced, or changed by a request: no entry is valid any more. */
  drop(): void {
    this.#chain.replaced();
    this.#forget();
  }

  /** Gives up all entries, in memory and in the durable cache. */
  #forget(): void {
    this.generation = ++generations;
    this.#marks = this.#chain.view.marks;
    this.#newest = undefined;
    this.#refreshedAt = -Infinity;
    this.#shared?.giveUp();
    this.#shared = this.#openShared(random.uuid());
    this.#knownId = undefined;
  }

  /** Learns of another id in the record. */
  #follow(now: number): void {
    if (this.#isWorking) return;
    this.#sharedAt = now;
    this.#start(() => this.#share(this.#newest));
  }

  #startCheck(now: number): void {
    if (this.#isWorking || now - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = now;
    this.#start(() => this.#check());
  }

  #start(work: () => Promise<void>): void {
    this.#isWorking = true;
    this.#work = work()
      // Chains without finality return an error: then no block is final. A failed check is repeated.
      .catch(() => undefined)
      .finally(() => {
        this.#isWorking = false;
      });
  }

  async #check(): Promise<void> {
    const { unbrokenSince, head } = this.#chain.view;
    const newest = this.#newest;
    // Other gateways may have recorded a newer block since.
    if (this.#shared !== undefined) this.#shared.id = undefined;
    if (newest !== undefined) {
      const isAbove = head !== undefined && newest.number > head.number;
      if (!this.#isRetained(newest, isAbove ? false : await this.#hasBlock(newest))) return;
    }
    this.#checkedSince = unbrokenSince;
    await this.#share(newest);
  }

  async #refresh(): Promise<void> {
    const newest = this.#newest;
    const generation = this.generation;
    const found = blockOf(await this.#fetch('finalized'));
    if (generation !== this.generation || found === undefined || !this.#isPlausible(found)) return;
    if (newest !== undefined) {
      const isSame = found.number === newest.number ? found.hash === newest.hash : await this.#hasBlock(newest);
      if (!this.#isRetained(newest, isSame)) return;
    }
    // Recorded in the durable cache before entries about the newly final blocks are written.
    await this.#share(newest === undefined || found.number > newest.number ? found : newest);
  }

  /** Drops everything if the upstreams have another block. @param isSame undefined: not known */
  #isRetained(newest: FinalBlock, isSame: boolean | undefined): boolean {
    if (this.#newest !== newest) return false;
    if (isSame === false) this.drop();
    return isSame === true;
  }

  /** Whether the upstream has the block; undefined: it returned no block with its number. */
  async #hasBlock({ number, hash }: FinalBlock): Promise<boolean | undefined> {
    const found = blockOf(await this.#fetch(`0x${number.toString(16)}`));
    return found?.number === number ? found.hash === hash : undefined;
  }

  /**
   * Whether a block is plausible: false above the head, and for one that differs from the canonical chain: the upstream may be
   * on another branch.
   */
  #isPlausible({ number, hash }: FinalBlock): boolean {
    const { view } = this.#chain;
    const { head } = view;
    const canonical = view.at(number);
    return head !== undefined && number <= head.number && (canonical === undefined || canonical.hash === hash);
  }

  async #share(newest: FinalBlock | undefined): Promise<void> {
    const generation = this.generation;
    const recorded = await this.#shared?.synchronise(newest, (block) => this.#hasBlock(block));
    if (generation !== this.generation) return;
    this.#sharedAt = clock.now();
    const id = this.#shared?.id;
    // Another gateway has forgotten all entries, or an operator has cleared the durable cache.
    if (id !== undefined && this.#knownId !== undefined && id !== this.#knownId) this.generation = ++generations;
    this.#knownId = id ?? this.#knownId;
    this.#newest = recorded !== undefined && this.#isPlausible(recorded) ? recorded : newest;
    if (this.#newest !== undefined) this.#chain.finalized(this.#newest.number);
  }
}

function blockOf(block: unknown): FinalBlock | undefined {
  const { number, hash } = (block ?? {}) as { number?: unknown; hash?: unknown };
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return typeof hash === 'string' ? { number: BigInt(number), hash: hash.toLowerCase() } : undefined;
}
