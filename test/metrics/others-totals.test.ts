import { expect, it } from 'vitest';
import { OthersTotals, type HistoryTotals } from '../../gateway/metrics/others-totals.ts';

function totals(calls: number): HistoryTotals {
  const counts = Float64Array.from([calls, 0]);
  return {
    networks: new Map([['five', { counts, hits: 0, lookups: calls, ended: calls, failed: 0, rejected: 0 }]]),
    upstreams: new Map([['five one', { sent: calls, failed: 0, seconds: calls / 10 }]]),
    long: new Map([['five', { counts, buckets: counts }]]),
  };
}

it('the totals of other workers are counted from the first time on, and do not fall when one ends', () => {
  const others = new OthersTotals();
  expect(others.add(new Map([[1, totals(1_000)]])).networks.size).toBe(0);
  const both = others.add(
    new Map([
      [1, totals(1_010)],
      [2, totals(500)],
    ]),
  );
  expect(both.networks.get('five')).toMatchObject({ lookups: 10, counts: Float64Array.from([10, 0]) });
  others.add(
    new Map([
      [1, totals(1_020)],
      [2, totals(505)],
    ]),
  );
  const { networks, upstreams, long } = others.add(new Map([[2, totals(507)]]));
  expect(networks.get('five')?.ended).toBe(27);
  expect(upstreams.get('five one')).toMatchObject({ sent: 27, failed: 0 });
  expect(long.get('five')?.counts).toEqual(Float64Array.from([27, 0]));
});

it('a counter that restarts is counted from 0', () => {
  const others = new OthersTotals();
  others.add(new Map([[1, totals(100)]]));
  expect(others.add(new Map([[1, totals(7)]])).upstreams.get('five one')?.sent).toBe(7);
});
