import { describe, expect, it } from 'vitest';
import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import type { CheckedRead } from '../../../bench/soak/consistency-checker.ts';
import type { TrueBlock } from '../../../bench/soak/true-chain.ts';
import { respond } from '../../../bench/soak/node-responses.ts';
import { served, software, SoakRig } from './soak-rig.ts';

const latestReads: readonly (readonly [string, () => CheckedRead])[] = [
  ['eth_blockNumber', checkedReads.blockNumber],
  ['the latest block', () => checkedReads.taggedBlock('latest')],
  ['a nonce', () => checkedReads.nonce('latest')],
  ['a nonce without a tag', () => checkedReads.nonce()],
  ['a balance', checkedReads.balance],
  ['eth_call', () => checkedReads.call('latest')],
  ['a raw block', checkedReads.rawNewest],
];

/** The node with the served block, which replaced another one, fails. The other node has the replaced one. */
function abandoned(): { readonly rig: SoakRig; readonly old: TrueBlock } {
  const rig = new SoakRig();
  const old = rig.head;
  const [follows, other] = rig.nodes;
  rig.reorg(1, 4, rig.nodes.slice(0, 1));
  served(rig);
  other?.add(rig.now, old, true);
  follows?.add(rig.now, rig.head, false);
  return { rig, old };
}

describe('reads at latest', () => {
  it.each(latestReads)('%s: finds one that is older than a served block', (_, read) => {
    const rig = served();
    rig.read(read(), rig.below(1));
    expect(rig.kinds).toEqual(['older-read']);
    expect(rig.texts[0]).toContain('expected latest ≥ 64, came 63');
  });

  it.each(latestReads)('%s: finds a lag of three blocks, not of two', (_, read) => {
    const rig = new SoakRig();
    const old = rig.head;
    rig.grow(2);
    rig.read(read(), old);
    expect(rig.kinds).toEqual([]);
    rig.grow(1);
    rig.read(read(), old);
    expect(rig.kinds).toEqual(['lag']);
  });

  it.each(latestReads)('%s: finds a block that does not exist', (_, read) => {
    const rig = new SoakRig();
    const above = rig.mineOn(rig.head);
    rig.read(read(), above);
    expect(rig.kinds).toEqual(['wrong']);
  });

  it('finds a mean lag above one block', () => {
    const rig = new SoakRig();
    const old = rig.head;
    rig.grow(2);
    rig.read(checkedReads.blockNumber(), old);
    rig.read(checkedReads.blockNumber(), old);
    rig.checker.checkMeanLag(rig.now, 'here');
    expect(rig.checker.counts.lag).toEqual({ samples: 2, mean: 2, worst: 2 });
    expect(rig.kinds).toEqual(['lag']);
  });

  it('measures lag against nodes that have been live and near the head for a while', () => {
    const rig = new SoakRig({ nodes: 1 });
    const [node] = rig.nodes;
    const old = rig.head;
    node?.add(0, old, false);
    rig.grow(5, []);
    node?.add(rig.now, rig.head, true);
    rig.read(checkedReads.blockNumber(), old);
    expect([rig.checker.counts.lag.samples, rig.kinds]).toEqual([0, []]);
    rig.wait(16_000);
    rig.read(checkedReads.blockNumber(), old);
    expect(rig.kinds).toEqual(['lag']);
  });

  it('does not measure lag while this process is paused', () => {
    const rig = new SoakRig();
    const old = rig.head;
    rig.grow(5);
    rig.delayedAt = rig.now;
    rig.read(checkedReads.blockNumber(), old);
    expect([rig.checker.counts.lag.samples, rig.kinds]).toEqual([0, []]);
  });

  it.each(['safe', 'finalized'] as const)('finds an older %s block', (tag) => {
    const rig = new SoakRig();
    rig.grow(1);
    rig.read(checkedReads.taggedBlock(tag));
    rig.read(checkedReads.taggedBlock(tag), rig.below(1));
    expect(rig.kinds).toEqual(['older-read']);
  });

  it('accepts a lower block after a reorg, and nothing below the blocks that were not replaced', () => {
    const rig = served();
    rig.reorg(5, 2);
    rig.read(checkedReads.blockNumber());
    expect(rig.kinds).toEqual([]);
    rig.read(checkedReads.blockNumber(), rig.below(3));
    expect(rig.kinds).toEqual(['older-read']);
  });

  it('compares a number without a hash after a reorg, if the old branch was not as high', () => {
    for (const [added, found] of [
      [5, []],
      [6, ['older-read']],
    ] as const) {
      const rig = served();
      rig.reorg(5, added);
      rig.read(checkedReads.blockNumber());
      rig.read(checkedReads.taggedBlock('latest'), rig.below(1));
      expect(rig.kinds).toEqual(found);
    }
  });

  it('accepts a lower block of another branch once no live node has had the served one for a second', () => {
    const { rig, old } = abandoned();
    rig.wait(900);
    rig.read(checkedReads.taggedBlock('latest'), old);
    expect(rig.kinds).toEqual(['older-read']);
    rig.wait(200);
    rig.read(checkedReads.taggedBlock('latest'), old);
    expect(rig.kinds).toEqual(['older-read']);
  });

  it('accepts a block of a branch that the nodes had until they got the served one again', () => {
    const { rig, old } = abandoned();
    rig.wait(1_100);
    const sent = rig.checker.send(rig.now);
    // At this time, no node is on the other branch any more.
    for (const node of rig.nodes) node.add(rig.now, rig.head, true);
    rig.wait(10);
    const block = respond(1, { software, head: old }, 'eth_getBlockByNumber', ['latest', false]);
    rig.checker.receive(checkedReads.taggedBlock('latest'), sent, rig.now, block);
    expect(rig.kinds).toEqual([]);
  });

  it('accepts such a block until the node with the served one, which is back, has been polled', () => {
    const { rig, old } = abandoned();
    rig.wait(1_100);
    rig.nodes[0]?.add(rig.now, rig.head, true);
    rig.wait(15_000);
    rig.read(checkedReads.taggedBlock('latest'), old);
    expect(rig.kinds).toEqual([]);
    rig.wait(1_000);
    rig.read(checkedReads.taggedBlock('latest'), old);
    expect(rig.kinds).toEqual(['older-read', 'lag']);
  });

  it.each([
    ['the served one is back within a second', 900, [0]],
    ['another node has the served one', 1_100, [0, 1]],
  ])('finds such a block if %s', (_, outMs, back) => {
    const { rig, old } = abandoned();
    rig.wait(outMs);
    for (const index of back) rig.nodes[index]?.add(rig.now, rig.head, true);
    rig.wait(3_000);
    rig.read(checkedReads.taggedBlock('latest'), old);
    expect(rig.kinds).toEqual(['older-read']);
  });

  it('accepts a read that was sent before the newer block was served', () => {
    const rig = new SoakRig();
    const sent = rig.checker.send(rig.now);
    rig.grow(1);
    served(rig);
    rig.checker.receive(checkedReads.blockNumber(), sent, rig.now, { result: '0x40' });
    expect(rig.kinds).toEqual([]);
  });

  it('counts state that is older than state before, which names no block', () => {
    const rig = new SoakRig();
    rig.grow(1);
    rig.read(checkedReads.nonce('latest'));
    rig.read(checkedReads.nonce('latest'), rig.below(1));
    expect([rig.kinds, rig.checker.counts.olderStates]).toEqual([[], 1]);
  });

  it('behind one URL, accepts old state of the node that is behind, but no older block', () => {
    const rig = new SoakRig({ isPool: true });
    rig.grow(4, rig.nodes.slice(1));
    served(rig);
    rig.read(checkedReads.nonce('latest'), rig.below(4));
    rig.read(checkedReads.logs(rig.below(10)), rig.below(4));
    rig.read(checkedReads.rawBlock(rig.head), rig.below(4));
    expect(rig.kinds).toEqual([]);
    rig.read(checkedReads.nonce('latest'), rig.below(5));
    rig.read(checkedReads.blockNumber(), rig.below(4));
    expect(rig.kinds).toEqual(['older-read', 'older-read']);
  });

  it('behind one URL, accepts an error at latest while nodes differ, not otherwise', () => {
    const error = { error: { code: -32603, message: 'no upstream could answer' } };
    const rig = served(new SoakRig({ isPool: true }));
    rig.grow(1, rig.nodes.slice(1));
    rig.read(checkedReads.blockNumber(), error);
    expect(rig.kinds).toEqual([]);
    rig.nodes[0]?.add(rig.now, rig.head, true);
    rig.wait(6_000);
    rig.read(checkedReads.blockNumber(), error);
    expect(rig.kinds).toEqual(['failed']);
  });

  it('behind one URL, accepts state of a node that was behind shortly before the call, as in a shared response', () => {
    const rig = new SoakRig({ isPool: true });
    const [first] = rig.nodes;
    rig.grow(4, rig.nodes.slice(1));
    served(rig);
    first?.add(rig.now, rig.head, true);
    rig.wait(1_400);
    rig.read(checkedReads.nonce('latest'), rig.below(4));
    expect(rig.kinds).toEqual([]);
    rig.wait(200);
    rig.read(checkedReads.nonce('latest'), rig.below(4));
    expect(rig.kinds).toEqual(['older-read']);
  });
});
