import { balanceAt } from './block-objects.ts';
import { commonAncestor, includes, type TrueBlock } from './true-chain.ts';

interface HeadAt {
  readonly at: number;
  readonly head: TrueBlock;
}

interface NodeHeadAt extends HeadAt {
  readonly isLive: boolean;
}

/** What one node had, and whether it could be reached. */
export class NodeHistory {
  readonly #states: NodeHeadAt[] = [];

  add(at: number, head: TrueBlock, isLive: boolean): void {
    this.#states.push({ at, head, isLive });
  }

  /** The states in effect from one time to another, oldest first. */
  during(from: number, to: number): readonly NodeHeadAt[] {
    return inEffect(this.#states, from, to);
  }

  /** The times at which it could be reached again. */
  returns(from: number, to: number): number[] {
    const states = this.during(from, to);
    return states.flatMap(({ at, isLive }, index) => (isLive && states[index - 1]?.isLive === false ? at : []));
  }
}

/**
 * A node whose head was further behind than one block in this time may still be unknown as the best: the gateway polls heads
 * every 1 to 4 s.
 */
const CATCH_UP_MS = 5_000;
/** The same after an outage: polls of an upstream that fails back off to 15 s. */
const OUTAGE_MS = 16_000;
/** A response at `latest` may be this much older than its call: it was cached, or an earlier call waited for it. */
const SHARED_MS = 1_500;
/** A call that joins another one shares its error, unless that one began longer ago. */
const JOINED_MS = 100;
/** Time before a change, by clock.now(). */
const BEFORE_MS = 0.001;
/** An upstream without notifications is polled again after this time. */
const SILENT_MS = 10_000;
/** Time within which other upstreams have moved, one alone raises the head by one block. Four block times are less. */
const CURRENT_MS = 10_000;
/** A lower head of another branch is followed after three polls, which are half a second apart at least. */
const ABANDONED_MS = 1_000;
/** Time after which a live node's branch is known to the gateway: three polls confirm a lower head. */
const BRANCH_MS = 12_000;
/** Time for which all nodes that respond may be on an older branch: one stays there for 16 s while others fail for 12 s. */
const OLD_BRANCH_MS = 30_000;

/** The true chain and the views of all nodes of one network over time. All times are milliseconds of one clock. */
export class ChainHistory {
  readonly blocks = new Map<string, TrueBlock>();
  /** Blocks by the value that the state has at the block. */
  readonly blocksByBalance = new Map<string, TrueBlock>();
  readonly #minedAt = new Map<TrueBlock, number>();
  readonly #heads: HeadAt[] = [];
  readonly #nodes: NodeHistory[] = [];
  readonly isPool: boolean;

  /** @param isPool the nodes are behind one URL, so that the gateway cannot choose the best */
  constructor(isPool = false) {
    this.isPool = isPool;
  }

  addNode(): NodeHistory {
    const node = new NodeHistory();
    this.#nodes.push(node);
    return node;
  }

  /** Sets the head of the true chain. */
  setHead(at: number, head: TrueBlock): void {
    for (let block: TrueBlock | undefined = head; block !== undefined && !this.blocks.has(block.hash);) {
      this.blocks.set(block.hash, block);
      this.blocksByBalance.set(balanceAt(block), block);
      this.#minedAt.set(block, at);
      block = block.parent;
    }
    this.#heads.push({ at, head });
  }

  headAt(at: number): TrueBlock {
    const [state] = inEffect(this.#heads, at, at);
    if (state === undefined) throw new Error('the chain has no head yet');
    return state.head;
  }

  isCanonical(block: TrueBlock, from: number, to: number): boolean {
    return inEffect(this.#heads, from, to).every(({ head }) => includes(head, block));
  }

  /** The newest ancestor of a block that is in the true chain from one time to another. */
  canonicalAncestor(block: TrueBlock, from: number, to: number): TrueBlock {
    return inEffect(this.#heads, from, to).reduce((ancestor, { head }) => commonAncestor(ancestor, head), block);
  }

  /** All heads of the true chain and of live nodes, newest first. */
  headsDuring(from: number, to: number): TrueBlock[] {
    const heads = inEffect(this.#heads, from, to).map(({ head }) => head);
    return [...new Set([...heads, ...this.#liveDuring(from, to)])].reverse();
  }

  /** The highest number that the true chain or a live node had up to now. */
  highestKnown(sentAt: number, at: number): number {
    return Math.max(...this.headsDuring(sentAt - BRANCH_MS, at).map(({ number }) => number));
  }

  /** Whether the true chain, or the view of a live node, includes the block at some time up to now. */
  isKnown(block: TrueBlock, sentAt: number, at: number): boolean {
    return (
      includes(this.headAt(at), block) || this.headsDuring(sentAt - BRANCH_MS, at).some((head) => includes(head, block))
    );
  }

  /** Whether another block has replaced the block, and a live node has had that branch for long enough to be known. */
  isReplaced(block: TrueBlock, sentAt: number, at: number): boolean {
    if (this.isKnown(block, sentAt, at)) return false;
    const from = sentAt - BRANCH_MS;
    const hasBranch = ({ head, isLive, at: since }: NodeHeadAt): boolean =>
      isLive && since <= sentAt && isRival(head, block);
    return this.#nodes.some((node) => {
      const states = node.during(from, sentAt);
      return (states[0]?.at ?? Infinity) <= from && states.every(hasBranch);
    });
  }

  /**
   * The number of the newest block that must be served after this one: its newest ancestor in the true chain. The gateway
   * sees a reorg also if no live node has had the block for a second, and one has another branch: then it is the newest ancestor
   * that a live node has. It stays so until the gateway polls a node with the block that was unreachable then.
   */
  floorAfter(block: TrueBlock, from: number, to: number): number {
    const minedAt = this.#minedAt.get(block) ?? from;
    const since = Math.max(from - SHARED_MS, minedAt);
    // A branch that was abandoned for long enough at the end of a state may not have been at its start.
    const ends = this.#nodes.flatMap((node) => node.during(since, to).map(({ at }) => at - BEFORE_MS));
    const returns = this.#nodes.flatMap((node) => node.returns(Math.max(from - OUTAGE_MS, minedAt), since));
    const unknownSince = returns.map((at) => at - BEFORE_MS).filter((at) => !this.#isHeldElsewhere(block, at, since));
    const times = [to, ...ends.filter((at) => at > since), ...unknownSince];
    return Math.min(this.canonicalAncestor(block, from, to).number, ...times.map((time) => this.#floorAt(block, time)));
  }

  /** Whether a node that was live at a time has had the block since. */
  #isHeldElsewhere(block: TrueBlock, time: number, to: number): boolean {
    const wereLive = this.#nodes.filter((node) => node.during(time, time).some(({ isLive }) => isLive));
    return wereLive.some((node) => node.during(time, to).some(({ head, isLive }) => isLive && includes(head, block)));
  }

  #floorAt(block: TrueBlock, time: number): number {
    const since = time - ABANDONED_MS;
    const changes = this.#nodes.flatMap((node) => node.during(since, time));
    const times = [time, ...changes.map(({ at }) => Math.max(at, since))];
    if (!times.every((one) => this.#isAbandoned(block, one))) return Infinity;
    return Math.max(...this.#liveDuring(time, time).map((head) => commonAncestor(head, block).number));
  }

  /** Whether no live node has the block, and one is on another branch. */
  #isAbandoned(block: TrueBlock, time: number): boolean {
    const heads = this.#liveDuring(time, time);
    return !heads.some((head) => includes(head, block)) && heads.some((head) => isRival(head, block));
  }

  /** The highest number that a live node had. */
  highestHeld(from: number, to: number): number {
    return Math.max(0, ...this.#liveDuring(from, to).map(({ number }) => number));
  }

  #liveDuring(from: number, to: number): TrueBlock[] {
    return this.#nodes.flatMap((node) => node.during(from, to).flatMap(({ isLive, head }) => (isLive ? head : [])));
  }

  /**
   * The number above which a subscription gets all blocks of the chain of this block: that of the newest one that the chain at
   * its start had, too. After a restart from genesis, the gateway continues at the head that it has when it sees the restart.
   */
  deliveredAbove(startedAt: number, block: TrueBlock, at: number): number {
    const heads = inEffect(this.#heads, startedAt - BRANCH_MS, at);
    const restart = heads.findLast(
      ({ head }, index) =>
        index > 0 &&
        commonAncestor((heads[index - 1] as HeadAt).head, head).number === 0 &&
        commonAncestor(head, block).number > 0,
    );
    const starts =
      restart === undefined
        ? inEffect(this.#heads, startedAt - OLD_BRANCH_MS, startedAt).map(({ head }) => head)
        : [this.headAt(Math.max(startedAt, Math.min(restart.at + BRANCH_MS, at)))];
    return Math.max(...starts.map((head) => commonAncestor(head, block).number));
  }

  /** Whether a live node, or the true chain, was on another branch, of this height at least. */
  hasRival(block: TrueBlock, from: number, to: number, height = 0): boolean {
    return this.headsDuring(from - BRANCH_MS, to).some((head) => head.number >= height && isRival(head, block));
  }

  /**
   * The number up to which every response reaches. Behind one URL, the gateway cannot see which node returned a value that
   * does not name its block, also in a response that calls share.
   */
  lowestServing(from: number, to: number): number {
    if (!this.isPool) return Infinity;
    const states = this.#nodes.flatMap((node) => node.during(from - SHARED_MS, to));
    const numbers = states.map(({ head }) => this.canonicalAncestor(head, from, to).number);
    return Math.min(...numbers);
  }

  /** The number of the best head among nodes that have been live and near the head for long enough to be known as such. */
  bestLive(at: number): number | undefined {
    const numbers = this.#nodes.map((node) => this.#knownHead(node, at));
    const known = numbers.filter((number) => number !== undefined);
    if (known.length === 0 || (this.isPool && known.length < numbers.length)) return undefined;
    return this.isPool ? Math.min(...known) : Math.max(...known);
  }

  /**
   * The number of the head that the gateway must have taken. What only one node has is taken at once up to one block above the
   * best of those that moved lately; all of it, when no other one has moved for a while: a forged branch would look the same.
   */
  bestTaken(at: number): number | undefined {
    const best = this.bestLive(at);
    if (best === undefined || this.isPool) return best;
    const [, second] = this.#nodes.flatMap((node) => this.#movedHead(node, at)).sort((one, other) => other - one);
    return second === undefined ? best : Math.min(best, second + 1);
  }

  /** The highest block of the true chain that a node has had for long enough; none if it has not moved lately. */
  #movedHead(node: NodeHistory, at: number): number[] {
    const [first, ...later] = node.during(at - CURRENT_MS - CATCH_UP_MS, at);
    if (!later.some(({ head }) => head !== first?.head)) return [];
    const wasDown = node.during(at - OUTAGE_MS, at).some(({ isLive }) => !isLive);
    const numbers = node
      .during(at - (wasDown ? OUTAGE_MS : SILENT_MS), at)
      .map(({ head }) => commonAncestor(head, this.headAt(at)).number);
    return [Math.min(...numbers)];
  }

  /** The lowest `bestLive` from one time to another: during a long call, all nodes may have failed for a while. */
  leastLive(from: number, to: number): number {
    const changes = this.#nodes.flatMap((node) => node.during(from, to).map(({ at }) => Math.max(at, from)));
    return Math.min(...[...changes, to].map((at) => this.bestLive(at) ?? -1));
  }

  /** The same for a call: behind one URL, it may share the error of a call that began before it. */
  bestServing(sentAt: number): number {
    const best = this.bestLive(sentAt) ?? -1;
    return this.isPool ? Math.min(best, this.bestLive(sentAt - JOINED_MS) ?? -1) : best;
  }

  #knownHead(node: NodeHistory, at: number): number | undefined {
    const outages = node.during(at - OUTAGE_MS, at);
    if (outages.length === 0 || outages.some(({ isLive }) => !isLive)) return undefined;
    const states = node.during(at - CATCH_UP_MS, at);
    const { head: last } = states.at(-1) as NodeHeadAt;
    let maxLag = 0;
    for (const [index, { head, at: since }] of states.entries()) {
      const from = Math.max(since, at - CATCH_UP_MS);
      for (const { head: trueHead } of inEffect(this.#heads, from, states[index + 1]?.at ?? at)) {
        maxLag = Math.max(maxLag, trueHead.number - commonAncestor(head, trueHead).number);
      }
    }
    const shared = commonAncestor(last, this.headAt(at)).number;
    return maxLag <= 1 ? shared : Math.min(shared, this.headAt(at).number - maxLag);
  }
}

/** Whether a branch has another block at the height of the block. */
function isRival(head: TrueBlock, block: TrueBlock): boolean {
  const shared = commonAncestor(head, block);
  return shared !== head && shared !== block;
}

/** The entry in effect at `from`, and all later ones until `to`. */
function inEffect<T extends { readonly at: number }>(entries: readonly T[], from: number, to: number): T[] {
  const found: T[] = [];
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index] as T;
    if (entry.at <= to) found.push(entry);
    if (entry.at <= from) break;
  }
  return found.reverse();
}
