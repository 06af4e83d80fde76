import { describe, expect, it } from 'vitest';
import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import { served, SoakRig } from './soak-rig.ts';

describe('errors for what was served', () => {
  it.each([-32600, -32601, -32602])('finds the permanent error %i for what was served', (code) => {
    const rig = served();
    const [one, other] = rig.nodes;
    for (const node of [one, other]) node?.add(rig.now, rig.head, false);
    rig.read(checkedReads.logs(rig.below(1), rig.head), { error: { code, message: '' } });
    expect(rig.kinds).toEqual(['error']);
  });

  it('accepts an error after a block that no other live node has is served during the call', () => {
    const rig = new SoakRig();
    const sent = rig.checker.send(rig.now);
    rig.grow(1, rig.nodes.slice(1));
    const [, newest] = rig.nodes;
    const response = { error: { code: -32603, message: 'no upstream could answer' } };
    newest?.add(rig.now, rig.head, false);
    rig.checker.receive(checkedReads.blockNumber(), sent, rig.now, response);
    expect(rig.kinds).toEqual(['failed']);
    rig.checker.recordDelivered(rig.head, rig.now);
    rig.checker.receive(checkedReads.blockNumber(), sent, rig.now, response);
    expect(rig.kinds).toEqual(['failed']);
  });

  it('behind one URL, accepts an error that a call shares with one that began before all nodes had the block', () => {
    const error = { error: { code: -32603, message: 'no upstream could answer' } };
    const rig = new SoakRig({ isPool: true });
    rig.grow(1, rig.nodes.slice(1));
    served(rig);
    rig.nodes[0]?.add(rig.now, rig.head, true);
    rig.wait(90);
    rig.read(checkedReads.blockByHash(rig.head), error);
    expect(rig.kinds).toEqual([]);
    rig.wait(10);
    rig.read(checkedReads.blockByHash(rig.head), error);
    expect(rig.kinds).toEqual(['failed']);
  });

  it('finds an error although a node has the block, not while all nodes are behind or gone', () => {
    const error = { error: { code: -32603, message: 'no upstream could answer' } };
    const rig = served();
    rig.read(checkedReads.blockByHash(rig.head), error);
    expect(rig.kinds).toEqual(['failed']);
    for (const node of rig.nodes) node.add(rig.now, rig.head, false);
    rig.read(checkedReads.blockByHash(rig.head), error);
    rig.read(checkedReads.blockNumber(), error);
    expect(rig.kinds).toEqual(['failed']);
  });

  it('accepts an error after a long call, during which no node could be reached for a while', () => {
    const error = { error: { code: -32603, message: 'no upstream could answer' } };
    const rig = served();
    const read = checkedReads.blockByHash(rig.head);
    const sent = rig.checker.send(rig.now);
    rig.wait(100);
    for (const node of rig.nodes) node.add(rig.now, rig.head, false);
    rig.wait(100);
    for (const node of rig.nodes) node.add(rig.now, rig.head, true);
    rig.wait(20_000);
    rig.checker.receive(read, sent, rig.now, error);
    expect(rig.kinds).toEqual([]);
    rig.read(read, error);
    expect(rig.kinds).toEqual(['failed']);
  });
});
