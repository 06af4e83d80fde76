import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noLimits, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import {
  addDeltas,
  limitsOf,
  missingUnits,
  newLimitState,
  sumsOf,
  type Deltas,
  type KnownSums,
  type Limit,
  type Sums,
  type UtcDate,
} from '../../gateway/limits/limit-state.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { RedisSums } from '../../gateway/limits/redis-sums.ts';
import { RedisLink } from '../../gateway/redis/link.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import { silent } from '../auth/auth-setup.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { propertyRuns } from '../support/property-runs.ts';

let server: RedisServer;
let sums: RedisSums;
beforeAll(async () => {
  server = await startRedis();
  const address = parseRedisUrl(server.url);
  sums = new RedisSums(new RedisLink({ purpose: 'limits', address, log: silent, commandTimeoutMs: 20_000 }), silent);
  await sums.link.waitUntilUp(5_000);
});
afterAll(async () => {
  await sums.link.close();
  await server.stop();
});

/** Rate so slow that no unit returns between two charges of a test. */
const perSecond = 1e-6;
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined });
let accounts = 0;

function dateOf(day: string): UtcDate {
  const nextDay = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
  const next = { nextDay, nextMonth: nextDay.slice(0, 7) };
  return { day, month: day.slice(0, 7), ...next, dayEndsInS: 1, monthEndsInS: 1 };
}
const dates = ['2026-01-30', '2026-01-31', '2026-02-01'].map(dateOf);

function deltasOf(units: number, { day, month }: UtcDate, buckets: Deltas['buckets'] = new Map()): Deltas {
  return { day, dayUsed: units, month, monthUsed: units, buckets };
}

function add(account: string, deltas: Deltas, date: UtcDate, least?: KnownSums): Promise<Sums> {
  return sums.add({ account, deltas, hasQuota: true, least, date });
}

it('the sums in Redis are those in memory', async () => {
  const units = fc.constantFrom(0, 0.1, 0.3, 1, 2, 40);
  const deltas = fc.record({ units, buckets: fc.dictionary(fc.constantFrom('', 'eth_a', 'eth_b'), units) });
  const rounds = fc.array(fc.record({ deltas, ahead: fc.nat(1) }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(rounds, async (sequence) => {
      const [account, state] = [`account-${accounts++}`, newLimitState()];
      let at = 0;
      for (const { deltas: some, ahead } of sequence) {
        at = Math.min(at + ahead, dates.length - 1);
        const date = dates[at] as UtcDate;
        const named = Object.entries(some.buckets).map(([method, own]) => [method, { units: own, perSecond }] as const);
        const more = deltasOf(some.units, date, new Map(named));
        const { missing, isAdded, ...periods } = await add(account, more, date);
        expect(isAdded).toBe(true);
        addDeltas(state, more, 1, { now: 0, date });
        const { buckets, ...expected } = state;
        expect(periods).toEqual(expected);
        for (const [method, found] of missing)
          expect(found).toBeCloseTo(missingUnits({ ...expected, buckets }, { method, perSecond }, 0), 4);
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

it('one process decides by Redis as in memory', async () => {
  const rate = fc.record({ perSecond: fc.constant(perSecond), burst: fc.integer({ min: 1, max: 30 }) });
  const quota = maybe(fc.integer({ min: 1, max: 60 }));
  const limits = fc
    .record({
      rate: maybe(rate),
      methodRates: maybe(fc.tuple(rate, rate).map(([a, b]) => new Map([['eth_a', a]]).set('eth_b', b))),
      daily: quota,
      monthly: quota,
    })
    // A key without limits is never charged.
    .filter((some) => Object.values(some).some((one) => one !== undefined));
  /** Charges may be fractions of a unit, and may exceed the burst. */
  const rest = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0.1, 0.3, 40));
  const charge = fc.record({ a: fc.nat(4), b: fc.nat(4), rest }).map(({ a, b, rest: others }) => ({
    units: a + b + others,
    byMethod: new Map([...(a > 0 ? [['eth_a', a] as const] : []), ...(b > 0 ? [['eth_b', b] as const] : [])]),
  }));
  const options = { shouldServeWithoutRedis: true };
  const [shared, own] = [new Limiter({ sums, ...options }), new Limiter({ sums: undefined, ...options })];
  await fc.assert(
    fc.asyncProperty(limits, fc.array(charge, { maxLength: 12 }), async (some, charges) => {
      const of: KeyLimits = { ...noLimits(`account-${accounts++}`), ...some, isCharged: true };
      for (const each of charges) {
        const [outcome, expected] = [await shared.charge(of, each), await own.charge(of, each)];
        expect(outcome.shortage?.reason).toBe(expected.shortage?.reason);
        expect(outcome.allowance?.remaining).toBe(expected.allowance?.remaining);
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

describe('a gateway’s clock', () => {
  const used = async (account: string, date: UtcDate): Promise<[string, number]> => {
    const { day, dayUsed } = await add(account, deltasOf(2, date), date);
    return [day, dayUsed];
  };
  const [today, tomorrow] = dates as [UtcDate, UtcDate];

  it('that is behind is charged to the day that has begun', async () => {
    const days = [await used('behind', today), await used('behind', tomorrow), await used('behind', today)];
    expect(days.map(([, units]) => units)).toEqual([2, 2, 4]);
  });

  it('that was years ahead does not stop later days', async () => {
    await used('ahead', dateOf('2099-05-05'));
    expect([await used('ahead', today), await used('ahead', today)]).toEqual([
      [today.day, 2],
      [today.day, 4],
    ]);
  });
});

it('a Redis that lost data has what a gateway has counted, and nothing twice', async () => {
  const [date] = dates as [UtcDate];
  const buckets = new Map([['', { units: 2, perSecond }]]);
  const counted = newLimitState();
  addDeltas(counted, deltasOf(9, date, buckets), 1, { now: 0, date });
  const none = deltasOf(0, date, new Map([['', { units: 0, perSecond }]]));
  for (const time of ['first', 'second']) {
    const found = await add('lost', none, date, sumsOf(counted, none, 0));
    expect([time, found.dayUsed, Math.round(found.missing.get('') ?? 0)]).toEqual([time, 9, 2]);
  }
});

it('a field that is no number counts as none', async () => {
  const [date] = dates as [UtcDate];
  for (const text of ['inf', '-inf', 'nan', 'many', '']) {
    await server.cli(
      'HSET',
      'gatehouse:limit:odd',
      'day',
      date.day,
      'dayUsed',
      text,
      'missing',
      text,
      'missingAt',
      text,
    );
    const { dayUsed, missing } = await add('odd', deltasOf(0, date, new Map([['', { units: 0, perSecond }]])), date);
    expect([text, dayUsed, missing.get('')]).toEqual([text, 0, 0]);
  }
});

it('conditional units are added as a whole, if no sum is above its maximum', async () => {
  const [date] = dates as [UtcDate];
  const bucket = (units: number): Deltas['buckets'] => new Map([['eth_a', { units, perSecond }]]);
  const key = { ...noLimits('conditional'), daily: 100, methodRates: new Map([['eth_a', { perSecond, burst: 10 }]]) };
  const [daily, rate] = ['daily', 'methodRates of eth_a'].map((name) => limitsOf(key).find((one) => one.name === name));
  const found = [];
  for (const [maxDay, maxRate] of [
    [4, 3],
    [3.999, 100],
    [100, 5],
    [8, 6.001],
  ] as const) {
    const maxSums = new Map([
      ['daily', { limit: daily as Limit, max: maxDay }],
      ['methodRates of eth_a', { limit: rate as Limit, max: maxRate }],
    ]);
    const conditional = { deltas: deltasOf(3, date, bucket(2)), maxSums };
    const deltas = deltasOf(1, date, bucket(1));
    const { isAdded, dayUsed, missing } = await sums.add({
      account: 'conditional',
      ...{ deltas, conditional, hasQuota: true, date },
    });
    found.push([isAdded, dayUsed, Math.round((missing.get('eth_a') ?? 0) * 100) / 100]);
  }
  expect(found).toEqual([
    [true, 4, 3],
    [false, 5, 4],
    [true, 9, 7],
    [false, 10, 8],
  ]);
});
