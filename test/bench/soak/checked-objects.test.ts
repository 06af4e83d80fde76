import { describe, expect, it } from 'vitest';
import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import type { CheckedRead } from '../../../bench/soak/consistency-checker.ts';
import type { TrueBlock } from '../../../bench/soak/true-chain.ts';
import { served, SoakRig } from './soak-rig.ts';

const targetReads: readonly (readonly [string, (target: TrueBlock) => CheckedRead])[] = [
  ['a block by number', checkedReads.blockByNumber],
  ['a block by hash', checkedReads.blockByHash],
  ['a receipt', (target) => checkedReads.receipt(target, 0)],
  ['the receipts of a block', checkedReads.blockReceipts],
  ['a raw block', checkedReads.rawBlock],
];

describe('reads of an object', () => {
  it.each(targetReads)('%s: finds a null for what was served', (_, read) => {
    const rig = served();
    rig.read(read(rig.head), rig.below(1));
    expect(rig.kinds).toEqual(['null']);
  });

  it.each(targetReads)('%s: accepts a null for what was not served, or was replaced', (_, read) => {
    const rig = new SoakRig();
    rig.read(read(rig.head), rig.below(1));
    const replaced = rig.head;
    served(rig).reorg(3, 1);
    rig.read(read(replaced));
    expect(rig.kinds).toEqual([]);
  });

  it.each(targetReads.filter(([name]) => !name.includes('hash')))('%s: finds a replaced block', (_, read) => {
    const rig = served();
    const replaced = rig.head;
    rig.reorg(1);
    rig.read(read(rig.below(1)), replaced);
    expect(rig.kinds).toEqual([]);
    rig.wait(15_000);
    rig.read(read(rig.below(1)), replaced);
    expect(rig.kinds).toEqual(['replaced']);
  });

  it('accepts a replaced block while a live node has it', () => {
    const rig = served();
    const replaced = rig.head;
    rig.reorg(1, 2, rig.nodes.slice(1));
    rig.wait(15_000);
    rig.read(checkedReads.blockByNumber(rig.below(1)), replaced);
    expect(rig.kinds).toEqual([]);
  });

  it('finds a block of a chain that has started again from genesis', () => {
    const rig = served();
    const dead = rig.head;
    rig.setHead(rig.mineOn(rig.below(rig.head.number), rig.below(rig.head.number)));
    rig.grow(20);
    served(rig);
    rig.read(checkedReads.blockByNumber(rig.below(10)), dead);
    expect(rig.kinds).toEqual(['replaced']);
  });

  it('finds the state at a replaced block', () => {
    const rig = served();
    const replaced = rig.head;
    rig.reorg(1);
    rig.wait(100_000);
    rig.read(checkedReads.balanceAt(rig.below(1)), replaced);
    expect(rig.kinds).toEqual(['replaced']);
  });

  it('finds the state of another block', () => {
    const rig = served();
    rig.read(checkedReads.balanceAt(rig.below(1)));
    expect(rig.kinds).toEqual([]);
    rig.read(checkedReads.balanceAt(rig.below(1)), { result: '0x0' });
    expect(rig.kinds).toEqual(['wrong']);
  });
});
