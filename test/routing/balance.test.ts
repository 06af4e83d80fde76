import { describe, expect, it } from 'vitest';
import { Ranking } from '../../gateway/routing/ranking.ts';
import type { LiveUpstreamOptions } from '../../gateway/network-files/network-config.ts';
import { LatencyScore } from '../../gateway/upstreams/latency-score.ts';
import { asUsual, status, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { withNodes, word } from './with-nodes.ts';

type Balance = ConstructorParameters<typeof Ranking>[1];

interface Member {
  readonly name: string;
  readonly config: LiveUpstreamOptions;
  readonly latencyScore: LatencyScore;
  inFlight: number;
}

/** Upstreams a, b and so on, and functions that select one for a call as the router does. */
function balanced(balance: Balance, ...configs: Partial<Member['config']>[]) {
  const members = configs.map((config, index): Member => ({
    name: 'abcdef'[index] ?? '',
    config: { priority: 0, weight: 1, probe: 'on', audit: 'on', ...config },
    latencyScore: new LatencyScore(),
    inFlight: 0,
  }));
  const ranking = new Ranking(members, balance);
  let now = 1_000_000;
  const order = (): readonly Member[] => ranking.order('lookup', (now += 10));
  /** The upstream that gets a call; others are used if the first ones cannot. */
  const select = (canUse: (member: Member) => boolean = () => true): Member | undefined => {
    const selected = order().find(canUse);
    if (selected !== undefined) ranking.take(selected, 'lookup');
    return selected;
  };
  const share = (calls: number, canUse?: (member: Member) => boolean): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (let call = 0; call < calls; call++) {
      const name = select(canUse)?.name ?? 'none';
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  const pass = (ms: number): void => void (now += ms);
  return { members, order, select, share, pass, now: () => now };
}

describe('balance: round-robin', () => {
  it('gives each upstream of the first priority the same number of calls', () => {
    expect(balanced('round-robin', {}, {}, {}, { priority: 1 }).share(300)).toEqual({ a: 100, b: 100, c: 100 });
  });

  it('follows priorities, also in the order of the others', () => {
    const { order, select } = balanced('round-robin', { priority: 2 }, { priority: 1 }, { priority: 1 });
    expect(
      order()
        .map(({ name }) => name)
        .join(''),
    ).toBe('bca');
    select();
    expect(
      order()
        .map(({ name }) => name)
        .join(''),
    ).toBe('cba');
  });

  it('prefers the one with the fewest requests in flight when it is the turn of several', () => {
    const { members, select } = balanced('round-robin', {}, {}, {});
    for (const [index, inFlight] of [5, 3, 1].entries()) Object.assign(members[index] ?? {}, { inFlight });
    expect([select(), select(), select()].map((member) => member?.name).join('')).toBe('cba');
  });

  it('owes an upstream that could not be used no calls when it can be used again', () => {
    const { share } = balanced('round-robin', {}, {});
    expect(share(100, ({ name }) => name === 'a')).toEqual({ a: 100 });
    expect(share(100)).toEqual({ a: 50, b: 50 });
  });
});

describe('balance: weighted', () => {
  it('gives each upstream its share by weight', () => {
    expect(balanced('weighted', { weight: 5 }, { weight: 3 }, { weight: 2 }).share(1_000)).toEqual({
      a: 500,
      b: 300,
      c: 200,
    });
  });

  it('does not give one upstream all its calls in a row', () => {
    const { select } = balanced('weighted', { weight: 2 }, { weight: 2 });
    const names = Array.from({ length: 8 }, () => select()?.name).join('');
    expect(names).toMatch(/^(?:ab){4}$|^(?:ba){4}$/);
  });
});

describe('balance: latency', () => {
  it('gives an upstream that takes half as long twice the calls, and each at least a tenth', () => {
    const { members, share, pass, now } = balanced('latency', {}, {}, {});
    for (const [index, ms] of [20, 40, 4_000].entries())
      for (let call = 0; call < 20; call++) members[index]?.latencyScore.recordLatency('lookup', ms, now());
    pass(1_001);
    const { a = 0, b = 0, c = 0 } = share(1_600);
    expect([a, b, c].map((calls) => Math.round(calls / 50))).toEqual([20, 10, 2]);
  });

  it('gives equal upstreams, and those without samples, the same number', () => {
    expect(balanced('latency', {}, {}).share(100)).toEqual({ a: 50, b: 50 });
  });
});

describe('a network', () => {
  it.each([
    ['round-robin', [{}, {}], [20, 20]],
    ['weighted', [{ weight: 3 }, {}], [30, 10]],
    ['first', [{}, {}], [40, 0]],
  ])('with balance: %s divides calls', async (balance, keys, counts) => {
    const { request, requestCounts } = await withNodes(2, {}, { balance }, keys);
    for (let call = 0; call < 40; call++) expect((await request()).result).toBeDefined();
    expect(requestCounts()).toEqual(counts);
  });

  it('uses the idle one of two equal nodes while the other is busy', async () => {
    const { nodes, request, requestCounts } = await withNodes(2, {}, { balance: 'round-robin' });
    await Promise.all([request(), request()]);
    const held: Exchange[] = [];
    for (const node of nodes) node.next((exchange) => void held.push(exchange));
    const calls = [request()];
    await eventually(() => held.length === 1);
    calls.push(request());
    await eventually(() => held.length === 2);
    expect(requestCounts()).toEqual([2, 2]);
    for (const exchange of held) asUsual(exchange);
    await Promise.all(calls);
  });

  it('serves all calls if one of the nodes fails, and divides them again later', async () => {
    const { nodes, request, requestCounts } = await withNodes(2, {}, { balance: 'round-robin' });
    nodes[1]?.always(status(500));
    for (let call = 0; call < 20; call++) expect((await request()).result).toBe(word(1));
    expect(requestCounts()[0]).toBe(20);
    nodes[1]?.always(undefined);
    await eventually(async () => (await request()).result === word(2), 10_000);
    const [first = 0, second = 0] = requestCounts();
    for (let call = 0; call < 20; call++) await request();
    expect(requestCounts()).toEqual([first + 10, second + 10]);
  });
});
