import { describe, expect, it } from 'vitest';
import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import type { CheckedRead, RpcReply } from '../../../bench/soak/consistency-checker.ts';
import { respond } from '../../../bench/soak/node-responses.ts';
import { served, software, SoakRig } from './soak-rig.ts';

describe('logs', () => {
  it.each([0, 1, 4])('finds a list that ends %i blocks before the end of the range', (missing) => {
    const rig = served();
    rig.read(checkedReads.logs(rig.below(9), rig.head), rig.below(missing));
    rig.read(checkedReads.logs(rig.below(9)), rig.below(missing));
    rig.read(checkedReads.logsOfBlock(rig.head), missing === 0 ? rig.head : { result: [] });
    expect(rig.kinds).toEqual(missing === 0 ? [] : ['logs-gap', 'logs-gap', 'logs-gap']);
  });

  it('finds a log missing in the middle, at the start, twice, or without logs', () => {
    const rig = served();
    const read = checkedReads.logs(rig.below(9), rig.head);
    const results: unknown[] = [];
    const whole: CheckedRead = { ...read, check: (result) => void results.push(result) };
    rig.read(whole);
    const logs = results[0] as unknown[];
    for (const wrong of [logs.toSpliced(5, 1), logs.slice(1), [...logs, logs.at(-1)], [], null]) {
      rig.read(read, { result: wrong });
    }
    expect(rig.kinds).toEqual(Array.from({ length: 5 }, () => 'logs-gap'));
  });

  it('accepts the logs up to any head that is not older than the newest served block', () => {
    const rig = served();
    const old = rig.head;
    rig.grow(1);
    rig.read(checkedReads.logs(rig.below(9)), old);
    rig.read(checkedReads.logs(rig.below(9), rig.head), old);
    expect(rig.kinds).toEqual([]);
  });

  it('accepts the logs of an old branch while no node with the served one is live', () => {
    const rig = new SoakRig();
    const old = rig.head;
    rig.reorg(1, 4, rig.nodes.slice(1));
    served(rig);
    rig.nodes[1]?.add(rig.now, rig.head, false);
    rig.wait(2_500);
    const sent = rig.checker.send(rig.now);
    rig.nodes[0]?.add(rig.now + 1, rig.head, true);
    rig.wait(2);
    const { result } = respond(1, { software, head: old }, 'eth_getLogs', [{ fromBlock: '0x10' }]) as RpcReply;
    rig.checker.receive(checkedReads.logs(rig.below(rig.head.number - 16)), sent, rig.now, { result });
    expect(rig.kinds).toEqual([]);
    rig.wait(2_000);
    rig.read(checkedReads.logs(rig.below(9)), old);
    expect(rig.kinds).toEqual(['logs-gap']);
  });

  it('finds logs of both branches of a reorg', () => {
    const rig = served();
    const replaced = rig.head;
    rig.reorg(1);
    served(rig);
    rig.wait(15_000);
    rig.read(checkedReads.logs(rig.below(5), rig.below(1)), replaced);
    expect(rig.kinds).toEqual(['logs-gap']);
  });
});
