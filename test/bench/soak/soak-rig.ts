import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import { ChainHistory, type NodeHistory } from '../../../bench/soak/chain-history.ts';
import { ConsistencyChecker, type CheckedRead, type RpcReply } from '../../../bench/soak/consistency-checker.ts';
import { respond } from '../../../bench/soak/node-responses.ts';
import { ancestorAt, makeGenesis, mineBlock, type TrueBlock } from '../../../bench/soak/true-chain.ts';
import { Violations } from '../../../bench/soak/violations.ts';

export const software = { rejectsFutureLogs: false, missingRawBlock: '0x' } as const;

/** A true chain with a block per second, nodes that follow it, and a checker. Time moves only by `grow` and `wait`. */
export class SoakRig {
  now = 0;
  /** The time until which this process was paused. */
  delayedAt = -Infinity;
  head: TrueBlock;
  readonly history: ChainHistory;
  readonly nodes: readonly NodeHistory[];
  readonly checker: ConsistencyChecker;
  readonly texts: string[] = [];
  readonly #violations: Violations;
  #salt = 0;

  constructor({ nodes = 2, isPool = false, height = 64 } = {}) {
    this.history = new ChainHistory(isPool);
    this.head = makeGenesis(0);
    while (this.head.number < height) this.head = this.mineOn(this.head);
    this.history.setHead(-Infinity, this.head);
    this.nodes = Array.from({ length: nodes }, () => this.history.addNode());
    for (const node of this.nodes) node.add(-Infinity, this.head, true);
    this.#violations = new Violations(100, 0, (text) => this.texts.push(text));
    this.checker = new ConsistencyChecker(this.history, this.#violations, (since) => this.delayedAt >= since);
  }

  /** The kinds of all violations so far, oldest first. */
  get kinds(): string[] {
    return this.texts.map((text) => text.split(' ')[2]?.replace(':', '') ?? '');
  }

  /** A block with logs, so that none is missing unnoticed. */
  mineOn(parent: TrueBlock, head: TrueBlock | undefined = parent): TrueBlock {
    for (;;) {
      const block = mineBlock(parent, String(this.#salt++), parent.timestamp + 1, head);
      if (block.logCount > 1) return block;
    }
  }

  wait(ms: number): void {
    this.now += ms;
  }

  /** Mines a block a second. @param following nodes that have it at once */
  grow(blocks = 1, following = this.nodes): void {
    for (let count = 0; count < blocks; count++) {
      this.wait(1_000);
      this.setHead(this.mineOn(this.head), following);
    }
  }

  /** Replaces the newest blocks. */
  reorg(removed: number, added = removed + 1, following = this.nodes): void {
    let head = this.below(removed);
    for (let count = 0; count < added; count++) head = this.mineOn(head, this.head);
    this.wait(1_000);
    this.setHead(head, following);
  }

  setHead(head: TrueBlock, following = this.nodes): void {
    this.head = head;
    this.history.setHead(this.now, head);
    for (const node of following) node.add(this.now, head, true);
  }

  /** The block of the true chain this far below its head. */
  below(depth: number): TrueBlock {
    return ancestorAt(this.head, this.head.number - depth) as TrueBlock;
  }

  /** A read is sent and gets its response after 10 ms. @param given the head of the node, or a response */
  read(read: CheckedRead, given: TrueBlock | RpcReply = this.head): void {
    const sent = this.checker.send(this.now);
    this.wait(10);
    const reply = 'number' in given ? respond(1, { software, head: given }, read.method, read.params) : given;
    this.checker.receive(read, sent, this.now, reply);
  }
}

/** A rig whose head was served. */
export function served(rig = new SoakRig()): SoakRig {
  rig.read(checkedReads.taggedBlock('latest'));
  return rig;
}
