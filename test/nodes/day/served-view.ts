import { clock } from '../../../gateway/clock/clock.ts';
import { ancestorAt, commonAncestor, isReplacedBy, isRival, nonceAt, type DayBlock } from './day-block.ts';
import type { DayChain } from './day-chain.ts';

/** What the nodes go through, and what callers may get meanwhile. */
export interface Allowance {
  /** Why errors after which a client retries are expected. */
  errors?: string | undefined;
  /** Why blocks of a replaced branch are expected: the gateway may not have polled the new branch yet. */
  replaced?: string | undefined;
}

/** A call that was sent. */
export interface Sent {
  readonly at: number;
  readonly of: string;
  /** The head of the first node. */
  readonly head: DayBlock;
  /** The newest block that this network had served. */
  readonly newest: DayBlock;
  /** The highest nonce that came for the same parameters. */
  readonly nonce: number;
  readonly mayFail: boolean;
  readonly mayBeReplaced: boolean;
}

/** Invalid request, unknown method, invalid parameters: a client does not retry after these. */
const permanentErrors: ReadonlySet<number> = new Set([-32600, -32601, -32602]);
const MAX_SHOWN = 8;

/** Checks what one network of a gateway serves against the chain. */
export class ServedView {
  readonly chain: DayChain;
  readonly allowance: Allowance = {};
  /** The account whose nonce is read. */
  readonly account: string;
  /** Each kind with its first cases. */
  readonly violations = new Map<string, string[]>();
  /** Transactions of served blocks that came as pending, all day. */
  readonly pending: string[] = [];
  readonly counts: Record<string, number> = {};
  /** Numbers of blocks by which reads of `latest` were behind. */
  lags: number[] = [];
  /** Whether the second node is so far behind that the gateway cannot take it for a node at the head. */
  isNonceStrict = false;
  /** Time when the newest `latest` block was requested, in time of the gateway. */
  latestSentAt = 0;
  #startedAt = clock.now();
  #newest: DayBlock;
  /** The highest nonces that came, by call. */
  readonly #nonces = new Map<string, number>();
  /** The generation whose first served block shows that the chain started again. */
  #awaitedGeneration: number | undefined;
  /** Time when that block was served, since the start of the scenario. */
  #shownMs: number | undefined;

  constructor(chain: DayChain, account: string) {
    this.chain = chain;
    this.account = account;
    this.#newest = chain.genesis;
  }

  /** The newest served block. */
  get newest(): DayBlock {
    return this.#newest;
  }

  /** A scenario starts. */
  start(): void {
    this.violations.clear();
    this.lags = [];
    this.isNonceStrict = false;
    this.#startedAt = clock.now();
  }

  /** Transactions and blocks before are of another chain, or of another branch. */
  forgetNonce(): void {
    this.#nonces.clear();
  }

  /** Blocks of the dead chain may be served until the first block of the new one is. */
  allowDeadUntilServed(generation: number): void {
    this.allowance.replaced = 'the nodes were wiped';
    this.#awaitedGeneration = generation;
  }

  violate(kind: string, text: string): void {
    const found = this.violations.get(kind) ?? [];
    this.violations.set(kind, found);
    if (found.length < MAX_SHOWN) found.push(text);
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  send(method: string, params: readonly unknown[]): Sent {
    const { errors, replaced } = this.allowance;
    const of = `${method} ${JSON.stringify(params)}`;
    return {
      at: clock.now(),
      of,
      head: this.chain.head,
      newest: this.#newest,
      nonce: this.#nonces.get(of) ?? 0,
      mayFail: errors !== undefined,
      mayBeReplaced: replaced !== undefined,
    };
  }

  /** An error came. */
  fail(sent: Sent, error: { readonly code: number; readonly message: string }): void {
    this.count('errors');
    const isDead = sent.newest.generation !== this.chain.generation;
    if (permanentErrors.has(error.code) && !isDead) this.#violateSent('permanent error', sent, JSON.stringify(error));
    else if (!sent.mayFail && this.allowance.errors === undefined) {
      this.#violateSent('failed', sent, `${JSON.stringify(error)}; the first node was at ${sent.head.number}`);
    }
  }

  /** A read of the newest block came with this number, and with this hash if it has one. */
  takeNewest(sent: Sent, number: number, hash?: string): void {
    this.count('reads');
    const floor = this.#floor(sent);
    if (number < floor.number) this.#violateSent('older', sent, `${number} after ${floor.number} was served`);
    const block = hash === undefined ? this.#blockAt(number) : this.#known(sent, hash);
    if (block === undefined) {
      if (!this.#mayBeReplaced(sent)) this.#violateSent('wrong', sent, `${number} ${hash ?? ''}`);
      return;
    }
    this.lags.push(Math.max(0, sent.head.number - number));
    if (hash !== undefined) {
      this.latestSentAt = sent.at;
      this.#checkBranch(sent, block);
    }
    this.serve(block);
  }

  /** The nonce at `latest` came. */
  takeNonce(sent: Sent, nonce: number): void {
    this.count('reads');
    // A nonce does not show its block: while a node is on another branch, the gateway cannot reject it.
    const atServed = this.#mayBeReplaced(sent) ? 0 : nonceAt(this.#floor(sent), this.account);
    if (nonce < atServed) this.#violateSent('older', sent, `nonce ${nonce}, that of a served block is ${atServed}`);
    if (this.isNonceStrict && nonce < sent.nonce) this.#violateSent('nonce', sent, `${nonce} after ${sent.nonce}`);
    if (nonce > nonceAt(this.chain.possibleHead, this.account) && !this.#mayBeReplaced(sent)) {
      this.#violateSent('wrong', sent, `nonce ${nonce}`);
    }
    this.#nonces.set(sent.of, Math.max(this.#nonces.get(sent.of) ?? 0, nonce));
  }

  /** An object of a served block came. @param hash of its block; null: it is pending; undefined: null came */
  takeObject(sent: Sent, target: DayBlock, hash: string | null | undefined): void {
    this.count('reads');
    if (hash === target.hash || this.#isReplaced(sent, target)) return;
    const text = `block ${target.number} ${target.hash} was served, the first node is at ${sent.head.number}`;
    if (hash === undefined) this.#violateSent('null', sent, text);
    else if (hash === null) this.pending.push(`${sent.of}: ${text}`);
    else this.#violateSent('wrong', sent, `${hash} instead of ${target.hash}`);
  }

  /** Something that the chain determines came: logs, receipts, a nonce at a number. */
  takeFixed(sent: Sent, target: DayBlock, expected: unknown, came: unknown): void {
    this.count('reads');
    if (JSON.stringify(came) === JSON.stringify(expected)) return;
    if (this.#isReplaced(sent, target)) return;
    this.#violateSent('wrong', sent, `${JSON.stringify(came)} instead of ${JSON.stringify(expected)}`);
  }

  /** A block that no node has any more came, or null. */
  takeDead(sent: Sent, dead: DayBlock, hash: string | null | undefined): void {
    this.count('dead reads');
    if (hash === dead.hash && !this.#mayBeReplaced(sent)) this.#violateSent('dead', sent, `block ${dead.number}`);
  }

  /** A block was served, or delivered to a subscriber. */
  serve(block: DayBlock): void {
    if (block.number > 0 && block.generation === this.#awaitedGeneration) {
      this.#awaitedGeneration = undefined;
      this.#shownMs = clock.now() - this.#startedAt;
      this.allowance.replaced = undefined;
    }
    const head = this.chain.possibleHead;
    if (!isReplacedBy(head, this.#newest)) {
      if (block.number > this.#newest.number) this.#newest = block;
    } else if (!isReplacedBy(head, block)) this.#newest = block;
  }

  /** The newest served block, or what remains of its branch. */
  #floor(sent: Sent): DayBlock {
    if (sent.newest.generation !== this.chain.generation) return this.chain.genesis;
    return this.#heads(sent).reduce(
      (floor, head) => (isRival(head, floor) ? commonAncestor(head, floor) : floor),
      sent.newest,
    );
  }

  /** The heads in effect since the call was sent. */
  #heads({ at }: Sent): DayBlock[] {
    return [...this.chain.headsSince(at), this.chain.possibleHead];
  }

  /** The block of this number in the branch that the first node serves, or has just left. */
  #blockAt(number: number): DayBlock | undefined {
    const branches = [this.chain.possibleHead, this.#newest].filter((head) => head.number >= number);
    const [branch] = branches.filter((head) => head.generation === this.chain.generation);
    return branch && ancestorAt(branch, number);
  }

  #known(sent: Sent, hash: string): DayBlock | undefined {
    const block = this.chain.blocks.get(hash);
    if (block === undefined) this.#violateSent('wrong', sent, `unknown block ${hash}`);
    return block;
  }

  #checkBranch(sent: Sent, block: DayBlock): void {
    if (this.#mayBeReplaced(sent) || !this.#heads(sent).every((head) => isReplacedBy(head, block))) return;
    this.#violateSent('replaced', sent, `block ${block.number} ${block.hash} of generation ${block.generation}`);
  }

  /** Whether other blocks than this one may be served at its height. */
  #isReplaced(sent: Sent, block: DayBlock): boolean {
    return this.#mayBeReplaced(sent) || this.#heads(sent).some((head) => isReplacedBy(head, block));
  }

  #mayBeReplaced({ mayBeReplaced }: Sent): boolean {
    return mayBeReplaced || this.allowance.replaced !== undefined;
  }

  #violateSent(kind: string, { of, at }: Sent, text: string): void {
    const now = clock.now();
    const since = `sent ${Math.round(at - this.#startedAt)} ms after the start, ${Math.round(now - at)} ms`;
    const shown = this.#shownMs === undefined ? '' : ` The new chain was served at ${Math.round(this.#shownMs)} ms.`;
    this.violate(kind, `${of}, ${since}: ${text}. Nodes: ${this.chain.describeNodes()}.${shown}`);
  }
}
