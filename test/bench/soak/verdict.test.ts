import { describe, expect, it } from 'vitest';
import { checkedReads } from '../../../bench/soak/checked-reads.ts';
import type { KnownCall } from '../../../bench/soak/known-calls.ts';
import { OutcomeCounts } from '../../../bench/soak/outcome-counts.ts';
import { verdictOf, type RunResult } from '../../../bench/soak/verdict.ts';
import { served, SoakRig } from './soak-rig.ts';

const error = { error: { code: -32603, message: 'no upstream could answer' } };
const quiet: RunResult = { failures: [], outcomes: [{ kind: 'reads', excused: 10, total: 1_000 }], waitPercent: 50 };

describe('the verdict of a run', () => {
  it('is passed up to 1 % of excused outcomes and 50 % of CPU wait', () => {
    expect(verdictOf(quiet)).toEqual({ text: 'passed', exitCode: 0 });
  });

  it.each([
    [
      { outcomes: [...quiet.outcomes, { kind: 'known calls', excused: 11, total: 1_000 }] },
      '11 of 1000 known calls failed or were late during a delay, limit 1 %',
    ],
    [{ waitPercent: 50.6 }, 'a process waited for a CPU for 51 % of the time, limit 50 %'],
    [{ outcomes: [{ kind: 'reads', excused: 0, total: 0 }] }, 'there were no reads'],
  ])('is inconclusive, with an exit code, beyond a bound: %j', (more, reason) => {
    expect(verdictOf({ ...quiet, ...more })).toEqual({
      text: `inconclusive, repeat on a machine with less load: ${reason}`,
      exitCode: 2,
    });
  });

  it('is failed on a busy machine, too', () => {
    const busy = { ...quiet, waitPercent: 90, failures: ['2 violations', 'the counts do not add up'] };
    expect(verdictOf(busy)).toEqual({ text: '2 violations; the counts do not add up', exitCode: 1 });
  });
});

describe('excused outcomes', () => {
  it('are the errors and lags that only a delay excuses', () => {
    const rig = served();
    const old = rig.head;
    rig.delayedAt = rig.now;
    rig.read(checkedReads.blockByHash(rig.head), error);
    expect([rig.checker.counts.excused, rig.kinds]).toEqual([1, []]);
    // No node could serve it.
    for (const node of rig.nodes) node.add(rig.now, rig.head, false);
    rig.read(checkedReads.blockByHash(rig.head), error);
    expect(rig.checker.counts.excused).toBe(1);

    const late = new SoakRig();
    late.grow(3);
    late.delayedAt = late.now;
    late.read(checkedReads.blockNumber(), old);
    late.read(checkedReads.blockNumber(), late.below(2));
    expect([late.checker.counts.excused, late.kinds]).toEqual([1, []]);
  });

  it.each([
    [
      { hadNoUpstream: true, wasDelayed: true },
      { excused: 0, failedUnexpectedly: 0 },
    ],
    [
      { hadNoUpstream: false, wasDelayed: true },
      { excused: 1, failedUnexpectedly: 0 },
    ],
    [
      { hadNoUpstream: false, wasDelayed: false },
      { excused: 0, failedUnexpectedly: 1 },
    ],
  ])('are the failed known calls that only a delay excuses: %j', ({ hadNoUpstream, wasDelayed }, counts) => {
    const faults: string[] = [];
    const conditions = { hadNoUpstream: () => hadNoUpstream, hadFault: () => true, wasDelayed: () => wasDelayed };
    const outcomes = new OutcomeCounts(conditions, (text) => faults.push(text));
    const call: KnownCall = { method: 'eth_chainId', params: [], isCorrect: () => false };
    const { id } = outcomes.request(call);
    outcomes.addResponse({ id, ...error });
    expect(outcomes.counts).toMatchObject({ sent: 1, failed: 1, ...counts });
    expect(faults).toHaveLength(counts.failedUnexpectedly);
  });

  it('are no connections that end before a response, unless the result flows while an upstream fails', () => {
    const faults: string[] = [];
    let hadFault = true;
    const conditions = { hadNoUpstream: () => true, hadFault: () => hadFault, wasDelayed: () => true };
    const outcomes = new OutcomeCounts(conditions, (text) => faults.push(text));
    const flowing: KnownCall = { method: 'eth_getBlockByHash', params: [], isCorrect: () => true, flows: true };
    const plain: KnownCall = { method: 'eth_chainId', params: [], isCorrect: () => true };
    const end = (call: KnownCall, isBatch = false): void => {
      outcomes.connectionEnded([outcomes.request(call).id], isBatch);
    };
    end(flowing);
    expect([outcomes.counts.incomplete, faults]).toEqual([1, []]);
    end(flowing, true);
    end(plain);
    hadFault = false;
    end(flowing);
    expect(outcomes.counts).toMatchObject({ incomplete: 1, wrong: 3, pending: 0 });
    expect(faults).toHaveLength(3);
  });
});
