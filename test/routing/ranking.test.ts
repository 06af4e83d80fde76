import { describe, expect, it } from 'vitest';
import { Ranking } from '../../gateway/routing/ranking.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import { LatencyScore } from '../../gateway/upstreams/latency-score.ts';
import { withNodes, word } from './with-nodes.ts';

interface RankedOne {
  readonly name: string | undefined;
  readonly priority: number;
  readonly latencyScore: LatencyScore;
}

const namesOf = (all: readonly RankedOne[]): string => all.map(({ name }) => name).join('');

/** Upstreams by name, with these priorities; they are measured as a test says. */
function ranked(...priorities: number[]) {
  const all = priorities.map((priority, index) => ({
    name: 'abcdef'[index],
    priority,
    latencyScore: new LatencyScore(),
  }));
  const ranking = new Ranking(all);
  let now = 1_000_000;
  return {
    all,
    /** So many calls were answered after so many ms. */
    took: (index: number, ms: number, times = 20, group: 'lookup' | 'execution' = 'lookup') => {
      for (let count = 0; count < times; count++) all[index]?.latencyScore.recordSuccess(group, ms, now);
    },
    failed: (index: number, times: number, failure: FailureClass = 'transport') => {
      for (let count = 0; count < times; count++) all[index]?.latencyScore.recordFailure(failure, now);
    },
    pass: (ms: number) => void (now += ms),
    order: (group: 'lookup' | 'execution' = 'lookup') => {
      now += 1_001;
      return namesOf(ranking.order(group, now));
    },
    ranking,
    now: () => now,
  };
}

describe('the order of upstreams', () => {
  it('is by priority, lower first, and else as the file has them', () => {
    expect(ranked(0, 0, 0).order()).toBe('abc');
    expect(ranked(2, 1, 1, 0).order()).toBe('dbca');
  });

  it('begins with another one of the same priority once that is clearly quicker', () => {
    const { took, order } = ranked(0, 0, 0);
    took(0, 100);
    took(2, 50);
    expect(order()).toBe('cab');
  });

  it.each([
    ['a third quicker, and not by 10 ms', 12, 8],
    ['not by a third quicker', 100, 85],
    ['not known well enough', 100, 1],
  ])('stays where another one is %s', (why, first, other) => {
    const { took, order } = ranked(0, 0);
    took(0, first);
    took(1, other, why.includes('known') ? 9 : 20);
    expect(order()).toBe('ab');
  });

  it('reckons failures in, and not those that are the call’s affair', () => {
    const { took, failed, order } = ranked(0, 0);
    took(0, 20);
    took(1, 30);
    failed(0, 10, 'node-state');
    failed(0, 10, 'unsupported');
    expect(order()).toBe('ab');
    failed(0, 20, 'rate');
    expect(order()).toBe('ba');
  });

  it('is another for methods of another kind', () => {
    const { took, order } = ranked(0, 0);
    took(0, 100, 20, 'execution');
    took(1, 10, 20, 'execution');
    expect([order('execution'), order('lookup')]).toEqual(['ba', 'ab']);
  });

  it('changes no sooner than after half a minute, however much better another one is', () => {
    const { took, order, pass } = ranked(0, 0);
    took(0, 100);
    took(1, 50);
    expect(order()).toBe('ba');
    took(0, 1, 64);
    expect(order()).toBe('ba');
    pass(30_000);
    took(0, 1, 64);
    took(1, 50, 64);
    expect(order()).toBe('ab');
  });

  it('is the file’s again after five minutes, with nothing held against the first', () => {
    const { took, order, pass } = ranked(0, 0);
    took(0, 100);
    took(1, 50);
    expect(order()).toBe('ba');
    pass(300_000);
    took(1, 50);
    expect(order()).toBe('ab');
    took(1, 50, 64);
    expect(order()).toBe('ab');
  });

  it('lets no other kind of method forget how long it takes', () => {
    const { took, order, pass, all } = ranked(0, 0);
    took(0, 100);
    took(1, 50);
    expect(order()).toBe('ba');
    pass(299_000);
    took(0, 7, 20, 'execution');
    expect(order()).toBe('ab');
    expect(all[0]?.latencyScore.score('execution', 1_300_000)).toBe(7);
    expect(all[0]?.latencyScore.score('lookup', 1_300_000)).toBeUndefined();
  });

  it('stays as it was when the file changes, where the same one leads and the better one is still there', () => {
    const { all, took, order, ranking, now } = ranked(0, 0, 0);
    took(0, 100);
    took(2, 50);
    expect(order()).toBe('cab');
    const [a, b, c] = all as [RankedOne, RankedOne, RankedOne];
    const after = (...inFile: RankedOne[]): string => namesOf(new Ranking(inFile, ranking).order('lookup', now()));
    expect(after(a, c, b)).toBe('cab');
    expect(after(a, b)).toBe('ab');
    expect(after(b, a, c)).toBe('bac');
    // No sooner than after half a minute, as before.
    took(2, 200, 64);
    expect(order()).toBe('cab');
    expect(after(a, b, c)).toBe('cab');
  });

  it('lets no priority be overtaken', () => {
    const { took, order } = ranked(0, 1);
    took(0, 1_000);
    took(1, 1);
    expect(order()).toBe('ab');
  });

  it('does not remember for longer than five minutes', () => {
    const { took, failed, order, pass } = ranked(0, 0);
    took(0, 100);
    failed(0, 50);
    pass(300_001);
    took(1, 1);
    expect(order()).toBe('ab');
  });
});

describe('priority in a network’s file', () => {
  it('goes before the order, and the next one answers when the first cannot', async () => {
    const { nodes, request, requestCounts } = await withNodes(3, {}, {}, [
      { priority: 2 },
      { priority: 0 },
      { priority: 1 },
    ]);
    expect(await request()).toMatchObject({ result: word(2) });
    await nodes[1]?.refuse();
    expect(await request()).toMatchObject({ result: word(3) });
    expect(requestCounts()).toEqual([0, 1, 1]);
  });
});
