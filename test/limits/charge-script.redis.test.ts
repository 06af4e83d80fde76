import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { addChargeCommand, chargeAtRedis, type ChargingRedis } from '../../gateway/limits/charge-script.ts';
import {
  newLimitState,
  shortageOf,
  take,
  type Charge,
  type LimitState,
  type UtcDate,
} from '../../gateway/limits/limit-state.ts';
import { nothingToReport } from '../../gateway/limits/report.ts';
import type { RedisClient } from '../../gateway/redis/client.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';

let server: RedisServer;
let redis: ChargingRedis;
beforeAll(async () => {
  server = await startRedis();
  const client: RedisClient = new Redis(server.url);
  addChargeCommand(client);
  redis = client;
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** Limits that calls are not charged to. */
const uncharged = { isCharged: true, sockets: undefined, subscriptions: undefined, concurrency: undefined };

/** So slow that no unit returns between two charges of a test. */
const perSecond = 1e-6;
const rate = fc.record({ perSecond: fc.constant(perSecond), burst: fc.integer({ min: 1, max: 30 }) });
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined });
const quota = maybe(fc.integer({ min: 1, max: 60 }));
const limits = fc
  .record({
    rate: maybe(rate),
    methodRates: maybe(
      fc.tuple(rate, rate).map(
        ([a, b]) =>
          new Map([
            ...([
              ['eth_a', a],
              ['eth_b', b],
            ] as const),
          ]),
      ),
    ),
    daily: quota,
    monthly: quota,
  })
  // A key without limits is never charged.
  .filter((some) => Object.values(some).some((one) => one !== undefined));
/** Charges may be fractions of a unit, and may exceed the burst. */
const charge: fc.Arbitrary<Charge> = fc
  .record({ a: fc.nat(4), b: fc.nat(4), rest: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0.1, 0.3, 40)) })
  .map(({ a, b, rest }) => ({
    units: a + b + rest,
    byMethod: new Map([...(a > 0 ? [['eth_a', a] as const] : []), ...(b > 0 ? [['eth_b', b] as const] : [])]),
  }));
const dates: UtcDate[] = ['2026-01-30', '2026-01-31', '2026-02-01'].map(dateOf);
const rounds = fc.array(fc.record({ charges: fc.array(charge, { maxLength: 4 }), ahead: fc.nat(1) }), { maxLength: 6 });

function dateOf(day: string): UtcDate {
  const nextDay = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
  const next = { nextDay, nextMonth: nextDay.slice(0, 7) };
  return { day, month: day.slice(0, 7), ...next, dayEndsInS: 1, monthEndsInS: 1 };
}

/** The decisions of the TypeScript implementation, one charge after another. */
function expected(state: LimitState, of: KeyLimits, charges: readonly Charge[], date: UtcDate): boolean[] {
  return charges.map((one) => {
    if (shortageOf(state, of, one, 0, date) !== undefined) return false;
    take(state, of, one, 0, date);
    return true;
  });
}

it('the Redis script decides like the gateway in memory', async () => {
  let account = 0;
  await fc.assert(
    fc.asyncProperty(limits, rounds, async (some, sequence) => {
      const of: KeyLimits = { account: `account-${account++}`, ...some, ...uncharged };
      const inMemory = newLimitState();
      const fromRedis = newLimitState();
      let at = 0;
      for (const { charges, ahead } of sequence) {
        at = Math.min(at + ahead, dates.length - 1);
        const date = dates[at] as UtcDate;
        const hasQuota = of.daily !== undefined || of.monthly !== undefined;
        const request = {
          state: fromRedis,
          hasQuota,
          report: nothingToReport,
          leaseUnits: 0,
          leaseMs: 50,
          date,
          sentAt: 0,
        };
        const { taken, leasedUnits } = await chargeAtRedis(redis, of, charges, request);
        expect([taken, leasedUnits]).toEqual([expected(inMemory, of, charges, date), 0]);
        // The dates are equal after a charge was taken.
        if (taken.includes(true)) {
          expect([fromRedis.day, fromRedis.dayUsed, fromRedis.monthUsed]).toEqual([
            inMemory.day,
            inMemory.dayUsed,
            inMemory.monthUsed,
          ]);
        }
      }
    }),
    { numRuns: 300 },
  );
});

describe('a gateway’s clock', () => {
  let accounts = 0;
  /** Makes a function that charges 2 units to a new account with a daily quota of 3. */
  const newAccount = (): ((date: UtcDate) => Promise<boolean | undefined>) => {
    const none = { rate: undefined, methodRates: undefined, monthly: undefined };
    const of: KeyLimits = { account: `clock-${accounts++}`, daily: 3, ...none, ...uncharged };
    const one: Charge = { units: 2, byMethod: new Map() };
    return async (date) =>
      (
        await chargeAtRedis(redis, of, [one], {
          state: newLimitState(),
          report: nothingToReport,
          leaseUnits: 0,
          hasQuota: true,
          leaseMs: 50,
          date,
          sentAt: 0,
        })
      ).taken[0];
  };

  it('that is behind is charged to the day that has begun', async () => {
    const charge = newAccount();
    const [, today, tomorrow] = dates as [UtcDate, UtcDate, UtcDate];
    expect([await charge(today), await charge(tomorrow), await charge(today)]).toEqual([true, true, false]);
  });

  it('that was years ahead does not stop later days', async () => {
    const charge = newAccount();
    const [today, tomorrow] = dates as [UtcDate, UtcDate];
    expect(await charge(dateOf('2099-05-05'))).toBe(true);
    expect([await charge(today), await charge(today), await charge(tomorrow)]).toEqual([true, false, true]);
  });
});
