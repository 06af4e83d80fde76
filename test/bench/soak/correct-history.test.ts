import { expect, it } from 'vitest';
import { Random } from '../../../bench/random.ts';
import { logObject } from '../../../bench/soak/block-objects.ts';
import { pickRead } from '../../../bench/soak/chain-callers.ts';
import { DeliveredHeads } from '../../../bench/soak/delivered-heads.ts';
import { DeliveredLogs } from '../../../bench/soak/delivered-logs.ts';
import { blocksBetween, commonAncestor, logsOf, type TrueBlock } from '../../../bench/soak/true-chain.ts';
import { SoakRig } from './soak-rig.ts';

const STEPS = 300;

/** A subscriber of a gateway without defects. */
class PerfectFeed {
  readonly #rig: SoakRig;
  readonly #heads: DeliveredHeads;
  readonly #logs: DeliveredLogs;
  readonly #delivered = new Set<TrueBlock>();
  #head: TrueBlock;

  constructor(rig: SoakRig) {
    this.#rig = rig;
    this.#heads = new DeliveredHeads(rig.checker, 'heads', rig.now);
    this.#logs = new DeliveredLogs(rig.checker, 'logs', rig.now);
    this.#head = rig.head;
  }

  /** Delivers all blocks up to the head of the true chain, and the removal of those that were replaced. */
  deliver(): void {
    const { now, head } = this.#rig;
    const fork = commonAncestor(this.#head, head);
    for (const block of blocksBetween(this.#head, fork.number + 1, this.#head.number).reverse()) {
      if (!this.#delivered.delete(block)) continue;
      for (const log of logsOf(block)) this.#logs.add({ ...logObject(log), removed: true }, now);
    }
    for (const block of blocksBetween(head, fork.number + 1, head.number)) {
      this.#heads.add(block.hash, now);
      for (const log of logsOf(block)) this.#logs.add(logObject(log), now);
      this.#delivered.add(block);
    }
    this.#head = head;
  }

  finish(): void {
    this.#heads.finish(this.#rig.head, this.#rig.now);
    this.#logs.finish(this.#rig.head, this.#rig.now);
  }
}

it.each([1, 2, 3, 4, 5])('finds nothing in a correct history with reorgs and faults, seed %i', (seed) => {
  const random = new Random(seed);
  const rig = new SoakRig({ nodes: 3 });
  const feed = new PerfectFeed(rig);
  for (let step = 0; step < STEPS; step++) {
    // A node is behind, or cannot be reached. The gateway uses another.
    const following = random.next() < 0.3 ? rig.nodes.slice(1) : rig.nodes;
    if (random.next() < 0.03) rig.nodes[0]?.add(rig.now, rig.below(3), false);
    const chance = random.next();
    if (chance < 0.1) {
      const removed = random.between(1, 30);
      rig.reorg(removed, Math.max(1, removed + random.between(-2, 2)), following);
    } else if (chance < 0.8) rig.grow(random.between(1, 3), following);
    for (let read = random.between(0, 5); read > 0; read--) {
      rig.read(pickRead(rig.checker, random, rig.now));
    }
    if (random.next() < 0.5) feed.deliver();
  }
  feed.deliver();
  feed.finish();
  rig.checker.checkMeanLag(rig.now, 'all reads');
  expect(rig.texts).toEqual([]);
  expect(rig.checker.counts.checked).toBeGreaterThan(STEPS);
});
