import { describe, expect, it } from 'vitest';
import { logObject } from '../../../bench/soak/block-objects.ts';
import { DeliveredHeads } from '../../../bench/soak/delivered-heads.ts';
import { DeliveredLogs } from '../../../bench/soak/delivered-logs.ts';
import { logsOf, mineBlock, type TrueBlock } from '../../../bench/soak/true-chain.ts';
import { SoakRig } from './soak-rig.ts';

/** A subscription that starts at the head of the rig. */
function subscribeHeads(rig: SoakRig) {
  const heads = new DeliveredHeads(rig.checker, 'heads', rig.now);
  const deliver = (...blocks: readonly TrueBlock[]): void => {
    for (const { hash } of blocks) heads.add(hash, rig.now);
  };
  return { heads, deliver };
}

function subscribeLogs(rig: SoakRig) {
  const logs = new DeliveredLogs(rig.checker, 'logs', rig.now);
  const send = (block: TrueBlock, removed: boolean): void => {
    for (const log of logsOf(block)) logs.add({ ...logObject(log), removed }, rig.now);
  };
  const deliver = (...blocks: readonly TrueBlock[]): void => {
    for (const block of blocks) send(block, false);
  };
  const remove = (...blocks: readonly TrueBlock[]): void => {
    for (const block of blocks) send(block, true);
  };
  return { logs, deliver, remove };
}

describe('delivered heads', () => {
  it('accepts each head once, and the new branch after a reorg', () => {
    const rig = new SoakRig();
    const { heads, deliver } = subscribeHeads(rig);
    rig.grow(5);
    deliver(rig.below(4), rig.below(3), rig.below(2), rig.below(1), rig.head);
    rig.reorg(3, 2);
    deliver(rig.below(1), rig.head);
    heads.finish(rig.head, rig.now);
    expect(rig.kinds).toEqual([]);
  });

  it('accepts a reorg of all delivered heads, and a chain that starts again from genesis', () => {
    const rig = new SoakRig();
    const { deliver } = subscribeHeads(rig);
    rig.grow(1);
    deliver(rig.head);
    rig.reorg(8, 9);
    deliver(rig.below(1), rig.head);
    rig.setHead(rig.mineOn(rig.below(rig.head.number), rig.below(rig.head.number)));
    rig.grow(80);
    deliver(rig.head);
    expect(rig.kinds).toEqual([]);
  });

  it('finds a head that is delivered again', () => {
    const rig = new SoakRig();
    const { deliver } = subscribeHeads(rig);
    rig.grow(3);
    deliver(rig.below(2), rig.below(1), rig.head, rig.below(1), rig.head);
    expect(rig.kinds).toEqual(['head-twice', 'head-twice']);
  });

  it('finds a missing head: the first, one between, one of a new branch, the last', () => {
    const rig = new SoakRig();
    const { heads, deliver } = subscribeHeads(rig);
    rig.grow(4);
    deliver(rig.below(2));
    deliver(rig.head);
    rig.reorg(1, 2);
    deliver(rig.head);
    rig.grow(1);
    heads.finish(rig.head, rig.now);
    expect(rig.kinds).toEqual(['head-missing', 'head-missing', 'head-missing', 'head-missing']);
  });

  it('finds a hash that no block has', () => {
    const rig = new SoakRig();
    subscribeHeads(rig).heads.add('0x1', rig.now);
    expect(rig.kinds).toEqual(['wrong']);
  });
});

describe('delivered logs', () => {
  it('accepts each log once, and the removal of logs of replaced blocks', () => {
    const rig = new SoakRig();
    const { logs, deliver, remove } = subscribeLogs(rig);
    rig.grow(3);
    deliver(rig.below(2), rig.below(1), rig.head);
    const replaced = [rig.head, rig.below(1)];
    rig.reorg(2);
    remove(...replaced);
    deliver(rig.below(2), rig.below(1), rig.head);
    logs.finish(rig.head, rig.now);
    expect(rig.kinds).toEqual([]);
  });

  it('accepts a removal while a live node has another block at that height', () => {
    const rig = new SoakRig();
    const { deliver, remove } = subscribeLogs(rig);
    rig.grow(1);
    deliver(rig.head);
    rig.nodes[0]?.add(rig.now, rig.mineOn(rig.below(1)), true);
    remove(rig.head);
    expect(rig.kinds).toEqual([]);
  });

  it('finds a removal although the block was not replaced', () => {
    const rig = new SoakRig();
    const { deliver, remove } = subscribeLogs(rig);
    rig.grow(2);
    deliver(rig.below(1), rig.head);
    rig.nodes[0]?.add(rig.now, rig.below(1), true);
    remove(rig.head);
    expect(new Set(rig.kinds)).toEqual(new Set(['removed']));
    expect(rig.kinds).toHaveLength(rig.head.logCount);
  });

  it('finds the removal of a log that was not delivered', () => {
    const rig = new SoakRig();
    const { remove } = subscribeLogs(rig);
    rig.grow(1);
    const replaced = rig.head;
    rig.reorg(1);
    remove(replaced);
    expect(new Set(rig.kinds)).toEqual(new Set(['removed']));
  });

  it('finds logs that are not removed before those of the new branch', () => {
    const rig = new SoakRig();
    const { deliver } = subscribeLogs(rig);
    rig.grow(1);
    deliver(rig.head);
    rig.reorg(1, 1);
    deliver(rig.head);
    expect(rig.kinds).toEqual(['not-removed']);
  });

  it('finds a log that is delivered again', () => {
    const rig = new SoakRig();
    const { deliver } = subscribeLogs(rig);
    rig.grow(1);
    deliver(rig.head, rig.head);
    expect(new Set(rig.kinds)).toEqual(new Set(['log-twice']));
  });

  it('finds missing logs once: of a whole block, of a part, of the last block', () => {
    const rig = new SoakRig();
    const { logs, deliver } = subscribeLogs(rig);
    rig.grow(2);
    deliver(rig.head);
    expect(rig.kinds).toEqual(['log-missing']);
    rig.grow(2);
    const [first] = logsOf(rig.below(1));
    if (first !== undefined) logs.add({ ...logObject(first) }, rig.now);
    deliver(rig.head);
    expect(rig.kinds).toEqual(['log-missing', 'log-missing']);
    rig.grow(1);
    logs.finish(rig.head, rig.now);
    expect(rig.kinds).toEqual(['log-missing', 'log-missing', 'log-missing']);
  });

  it('waits for the logs below a block that has none', () => {
    const rig = new SoakRig();
    const { logs, deliver } = subscribeLogs(rig);
    expect(logs.has(rig.head, rig.now)).toBe(true);
    rig.grow(2);
    const { head } = rig;
    let empty = head;
    for (let salt = 0; empty === head || empty.logCount > 0; salt++)
      empty = mineBlock(head, String(salt), head.timestamp + 1);
    rig.setHead(empty);
    expect(logs.has(empty, rig.now)).toBe(false);
    deliver(rig.below(2), head);
    expect(logs.has(empty, rig.now)).toBe(true);
    expect(rig.kinds).toEqual([]);
  });

  it('finds a log that is not of the filter', () => {
    const rig = new SoakRig();
    const logs = new DeliveredLogs(rig.checker, 'logs', rig.now, '0xaa00000000000000000000000000000000000000');
    rig.grow(1);
    for (const log of logsOf(rig.head)) logs.add(logObject(log), rig.now);
    expect(rig.kinds).toEqual(['wrong']);
  });
});

describe('after a restart from genesis', () => {
  it('a head of the chain before may still be delivered first', () => {
    const rig = new SoakRig({ nodes: 1 });
    const heads = new DeliveredHeads(rig.checker, 'heads', rig.now);
    rig.grow(1);
    const { hash } = rig.head;
    rig.wait(1_000);
    rig.setHead(rig.mineOn(rig.below(rig.head.number)));
    heads.add(hash, rig.now);
    expect(rig.kinds).toEqual([]);
  });

  it('a subscription that starts before the gateway sees it may begin at a later head, and then misses none', () => {
    const rig = new SoakRig({ nodes: 1 });
    rig.wait(1_000);
    rig.setHead(rig.mineOn(rig.below(rig.head.number)));
    const heads = new DeliveredHeads(rig.checker, 'heads', rig.now);
    const logs = new DeliveredLogs(rig.checker, 'logs', rig.now);
    const deliver = (): void => {
      heads.add(rig.head.hash, rig.now);
      for (const log of logsOf(rig.head)) logs.add(logObject(log), rig.now);
    };
    rig.grow(3);
    deliver();
    expect(rig.kinds).toEqual([]);
    rig.grow(12);
    deliver();
    expect(new Set(rig.kinds)).toEqual(new Set(['head-missing', 'log-missing']));
  });
});
