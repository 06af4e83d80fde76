import { describe, expect, it } from 'vitest';
import { Ranking } from '../../gateway/routing/ranking.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { LiveUpstreamOptions } from '../../gateway/network-files/network-config.ts';
import { LatencyScore } from '../../gateway/upstreams/latency-score.ts';
import { withNodes, word } from './with-nodes.ts';

interface RankedUpstream {
  readonly name: string | undefined;
  readonly config: LiveUpstreamOptions;
  readonly latencyScore: LatencyScore;
  readonly inFlight: number;
}

const namesOf = (all: readonly RankedUpstream[]): string => all.map(({ name }) => name).join('');

/** Upstreams a, b and so on with these priorities, and functions to record their calls. */
function ranked(...priorities: number[]) {
  const all = priorities.map((priority, index) => ({
    name: 'abcdef'[index],
    config: { priority, weight: 1, probe: 'on', audit: 'on' } as const,
    latencyScore: new LatencyScore(),
    inFlight: 0,
  }));
  const ranking = new Ranking(all);
  let now = 1_000_000;
  return {
    all,
    /** Records this many successful calls of this latency. */
    took: (index: number, ms: number, times = 20, group: 'lookup' | 'execution' = 'lookup') => {
      for (let count = 0; count < times; count++) all[index]?.latencyScore.recordLatency(group, ms, now);
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
  it('is by priority, lower first, then by the order of the network file', () => {
    expect(ranked(0, 0, 0).order()).toBe('abc');
    expect(ranked(2, 1, 1, 0).order()).toBe('dbca');
  });

  it('begins with another upstream of equal priority once that is clearly faster', () => {
    const { took, order } = ranked(0, 0, 0);
    took(0, 100);
    took(2, 50);
    expect(order()).toBe('cab');
  });

  it.each([
    ['a third faster, but by less than 10 ms', 12, 8],
    ['less than a third faster', 100, 85],
    ['not known by enough calls', 100, 1],
  ])('is unchanged if another upstream is %s', (why, first, other) => {
    const { took, order } = ranked(0, 0);
    took(0, first);
    took(1, other, why.includes('known') ? 9 : 20);
    expect(order()).toBe('ab');
  });

  it('depends on failures, except on those that the call causes', () => {
    const { took, failed, order } = ranked(0, 0);
    took(0, 20);
    took(1, 30);
    failed(0, 10, 'node-state');
    failed(0, 10, 'unsupported');
    expect(order()).toBe('ab');
    failed(0, 20, 'rate');
    expect(order()).toBe('ba');
  });

  it('is separate for each group of methods', () => {
    const { took, order } = ranked(0, 0);
    took(0, 100, 20, 'execution');
    took(1, 10, 20, 'execution');
    expect([order('execution'), order('lookup')]).toEqual(['ba', 'ab']);
  });

  it('changes at most every 30 s, however much better another upstream is', () => {
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

  it('is that of the file again after 5 minutes, without the old score of the first upstream', () => {
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

  it('is reset for one group of methods only', () => {
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

  it('is unchanged by a reload if the file has the same first upstream and still has the best one', () => {
    const { all, took, order, ranking, now } = ranked(0, 0, 0);
    took(0, 100);
    took(2, 50);
    expect(order()).toBe('cab');
    const [a, b, c] = all as [RankedUpstream, RankedUpstream, RankedUpstream];
    const after = (...inFile: RankedUpstream[]): string =>
      namesOf(new Ranking(inFile, 'first', ranking).order('lookup', now()));
    expect(after(a, c, b)).toBe('cab');
    expect(after(a, b)).toBe('ab');
    expect(after(b, a, c)).toBe('bac');
    // The minimum of 30 s continues.
    took(2, 200, 64);
    expect(order()).toBe('cab');
    expect(after(a, b, c)).toBe('cab');
  });

  it('never places an upstream before one of lower priority number', () => {
    const { took, order } = ranked(0, 1);
    took(0, 1_000);
    took(1, 1);
    expect(order()).toBe('ab');
  });

  it('depends on the last 5 minutes only', () => {
    const { took, failed, order, pass } = ranked(0, 0);
    took(0, 100);
    failed(0, 50);
    pass(300_001);
    took(1, 1);
    expect(order()).toBe('ab');
  });
});

describe('priority in a network file', () => {
  it('has precedence over the order, and the next upstream is tried if the first fails', async () => {
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
