import type { ChainHistory } from './chain-history.ts';
import type { Exchange, NewestServed, SentCall, Tag } from './exchange.ts';
import { LatestLag, type LagSummary } from './latest-lag.ts';
import { ServedObjects } from './served-objects.ts';
import { ancestorAt, type TrueBlock } from './true-chain.ts';
import type { ViolationKind, Violations } from './violations.ts';

export interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A call of which the checker knows the correct results. */
export interface CheckedRead {
  readonly method: string;
  readonly params: readonly unknown[];
  /** The block that the result is about. Undefined: the newest. */
  readonly target?: TrueBlock;
  /** Checks a result. */
  check(result: unknown, exchange: Exchange, checker: ConsistencyChecker): void;
}

export interface CheckerCounts {
  readonly checked: number;
  readonly errors: number;
  /** Errors and lags that are no violations only because this process was delayed. */
  readonly excused: number;
  /**
   * Results that do not name their block (nonces, balances) and are older than one before, although not older than a
   * served block. The gateway cannot see the block of such a result, so this is no violation.
   */
  readonly olderStates: number;
  readonly lag: LagSummary;
}

const MAX_LAG_BLOCKS = 2;
const MAX_MEAN_LAG_BLOCKS = 1;
/** Invalid request, unknown method, invalid parameters: a client does not retry after these. */
const permanentErrors: ReadonlySet<number> = new Set([-32600, -32601, -32602]);

/** Checks what one gateway serves of one network against the true chain. Pure: every time is a parameter. */
export class ConsistencyChecker {
  readonly history: ChainHistory;
  readonly servedObjects = new ServedObjects();
  readonly #violations: Violations;
  readonly #wasDelayed: (since: number) => boolean;
  #newest: NewestServed = {};
  /** The highest served block, also if the true chain has replaced it without a live node that has the new branch. */
  #highest: TrueBlock | undefined;
  readonly #lag = new LatestLag();
  readonly #counts = { checked: 0, errors: 0, excused: 0, olderStates: 0 };

  /** @param wasDelayed whether this process was paused since, so that nodes and blocks were late */
  constructor(history: ChainHistory, violations: Violations, wasDelayed: (since: number) => boolean = () => false) {
    this.history = history;
    this.#violations = violations;
    this.#wasDelayed = wasDelayed;
  }

  get counts(): CheckerCounts {
    return { ...this.#counts, lag: this.#lag.summary };
  }

  /** The newest served block that is still in the true chain. */
  newest(at: number): TrueBlock | undefined {
    const { latest } = this.#newest;
    return latest && this.history.canonicalAncestor(latest, at, at);
  }

  /** A call is sent. */
  send(at: number): SentCall {
    return { at, newest: this.#newest };
  }

  /** A response arrived. */
  receive(read: CheckedRead, sent: SentCall, at: number, { result, error }: RpcReply): void {
    this.#counts.checked++;
    const exchange = { sent, at, of: `${read.method} ${JSON.stringify(read.params)}` };
    if (error === undefined) {
      read.check(result, exchange, this);
      this.servedObjects.addResult(read, result, at);
    } else this.#checkError(read, exchange, error);
  }

  violate(kind: ViolationKind, { at, of }: Pick<Exchange, 'at' | 'of'>, expected: string, came: unknown): void {
    this.#violations.add({ kind, at, of, expected, came: typeof came === 'string' ? came : JSON.stringify(came) });
  }

  /** A read at a tag returned this number, of this block if its hash is known. */
  checkTagged(tag: Tag, number: number, block: TrueBlock | undefined, exchange: Exchange): void {
    if (!this.#checkNumber(tag, number, block, exchange)) return;
    const { at } = exchange;
    const served = block ?? this.#identifiedBy(number, exchange);
    if (served !== undefined) this.#record([tag, 'latest'], served, at);
  }

  /** A read of state at `latest` returned the value at this number, of this block if the value identifies it. */
  checkState(number: number, block: TrueBlock | undefined, exchange: Exchange): void {
    const { sent, at } = exchange;
    const visible = this.history.lowestServing(sent.at, at);
    if (!this.#checkNumber('latest', number, block, exchange, visible)) return;
    if (number < this.floor('state', exchange)) this.#counts.olderStates++;
    const served = block ?? this.#identifiedBy(number, exchange);
    if (served !== undefined) this.#record(['state'], served, at);
  }

  /**
   * A read about the target returned this block, or null if the object was not found.
   * @param hash of the object, if the read names it by hash
   * @param isUnread the gateway does not read the block in the result, so that it does not count as served
   */
  checkFixed(
    target: TrueBlock,
    block: TrueBlock | undefined,
    exchange: Exchange,
    { hash, isUnread = false }: { readonly hash?: string | undefined; readonly isUnread?: boolean } = {},
  ): void {
    if (block !== undefined) {
      this.#checkKnown(block, exchange);
      if (!isUnread) this.#record(['latest'], block, exchange.at);
    } else if (this.isServed(target, exchange) && this.#mustKnow(target, hash, exchange)) {
      this.violate('null', exchange, `block ${target.number} ${target.hash}`, 'nothing');
    }
  }

  /** Whether the block was served before the call was sent, and in the true chain from then until the response. */
  isServed(block: TrueBlock, exchange: Exchange): boolean {
    const { sent, at } = exchange;
    return block.number <= this.floor('latest', exchange) && this.history.isCanonical(block, sent.at, at);
  }

  /** A block, or an object in it, is delivered to a subscriber. */
  recordDelivered(block: TrueBlock, at: number): void {
    this.#record(['latest'], block, at);
  }

  /** Check at the end of the run. @param of describes the gateway and the network */
  checkMeanLag(at: number, of: string): void {
    const { mean } = this.counts.lag;
    if (mean > MAX_MEAN_LAG_BLOCKS) {
      this.violate('lag', { at, of }, `mean ≤ ${MAX_MEAN_LAG_BLOCKS}`, mean.toFixed(2));
    }
  }

  /** @param maxFloor a result above it is not too old @returns whether some node could have given the number */
  #checkNumber(
    tag: Tag,
    number: number,
    block: TrueBlock | undefined,
    exchange: Exchange,
    maxFloor = Infinity,
  ): boolean {
    const { sent, at } = exchange;
    const floor = Math.min(this.floor(tag, exchange), maxFloor);
    const highest = this.history.highestKnown(sent.at, at);
    if (!(number <= highest)) {
      this.violate('wrong', exchange, `a block ≤ ${highest}`, String(number));
      return false;
    }
    if (number < floor) this.violate('older-read', exchange, `${tag} ≥ ${floor}`, String(number));
    if (block !== undefined) this.#checkKnown(block, exchange);
    if (tag === 'latest') this.#addLag(number, exchange);
    return true;
  }

  /** No block below may be served. */
  floor(tag: Tag | 'state', { sent, at }: Exchange): number {
    const block = sent.newest[tag];
    return block === undefined ? 0 : this.history.floorAfter(block, sent.at, at);
  }

  /**
   * The number below which the gateway serves no block, as far as live nodes have shown it a reorg. A newer block may be
   * served during the call.
   */
  #knownFloor(exchange: Exchange): number {
    const { sent, at } = exchange;
    const highest = this.#highest;
    // Behind one URL, the newest block of any node may be served during the call.
    if (this.history.isPool) return Math.max(this.floor('latest', exchange), this.history.highestHeld(sent.at, at));
    const isKnown = highest !== undefined && !this.history.isReplaced(highest, sent.at, at);
    return isKnown ? highest.number : this.floor('latest', exchange);
  }

  #checkKnown(block: TrueBlock, exchange: Exchange): void {
    if (!this.history.isReplaced(block, exchange.sent.at, exchange.at)) return;
    const current = this.#canonicalAt(block.number, exchange.at);
    this.violate('replaced', exchange, `block ${block.number} ${current?.hash ?? 'none'}`, block.hash);
  }

  #addLag(number: number, exchange: Exchange): void {
    const { sent } = exchange;
    const best = this.history.bestLive(sent.at);
    if (best === undefined) return;
    const isExcused = this.#wasDelayed(sent.at - 1_000);
    if (!isExcused) this.#lag.add(Math.max(best - number, 0));
    const taken = this.history.bestTaken(sent.at) ?? best;
    if (taken - number <= MAX_LAG_BLOCKS) return;
    if (isExcused) this.#counts.excused++;
    else this.violate('lag', exchange, `≤ ${MAX_LAG_BLOCKS} blocks behind ${taken}`, `${number}`);
  }

  #checkError({ target }: CheckedRead, exchange: Exchange, error: { readonly code: number }): void {
    const { sent, at } = exchange;
    this.#counts.errors++;
    if (target !== undefined && !this.isServed(target, exchange)) return;
    if (permanentErrors.has(error.code)) this.violate('error', exchange, 'a result, or a retryable error', error);
    const best = this.history.bestServing(sent.at);
    // A node may have failed, or changed its branch, while it had the call.
    const isStable = (this.history.bestLive(at) ?? -1) >= best;
    const needed = target?.number ?? this.#knownFloor(exchange);
    if (!isStable || best < needed || this.history.leastLive(sent.at, at) < needed) return;
    const came = `${JSON.stringify(error)} after ${(at - sent.at).toFixed(0)} ms`;
    if (this.#wasDelayed(sent.at - 1_000)) this.#counts.excused++;
    else this.violate('failed', exchange, `a result of a node at ${best}`, came);
  }

  #record(names: readonly (Tag | 'state')[], block: TrueBlock, at: number): void {
    const highest = this.#highest;
    if (highest === undefined || block.number >= highest.number || this.history.isReplaced(highest, at, at))
      this.#highest = block;
    const newest: Partial<Record<Tag | 'state', TrueBlock>> = { ...this.#newest };
    for (const name of names) {
      const served = this.history.canonicalAncestor(block, at, at);
      const before = newest[name] && this.history.canonicalAncestor(newest[name], at, at);
      newest[name] = before === undefined || served.number > before.number ? served : before;
    }
    this.#newest = newest;
  }

  /**
   * Null for a hash that was not served is no violation behind one URL, because the gateway cannot see which node returned
   * it, and while nodes are on two branches.
   */
  #mustKnow(target: TrueBlock, hash: string | undefined, { sent, at }: Exchange): boolean {
    const isPossible = this.history.isPool || this.history.hasRival(target, sent.at, at);
    if (!isPossible || hash === undefined) return true;
    return this.servedObjects.has(hash, sent.at);
  }

  /** The newest block that was served for certain with this number: it may be of a removed block, if that branch was as high. */
  #identifiedBy(number: number, { sent, at }: Exchange): TrueBlock | undefined {
    let block = this.#canonicalAt(number, at);
    while (block !== undefined && this.history.hasRival(block, sent.at, at, number)) block = block.parent;
    return block;
  }

  #canonicalAt(number: number, at: number): TrueBlock | undefined {
    return ancestorAt(this.history.headAt(at), number);
  }
}
