import fc from 'fast-check';
import { expect, it } from 'vitest';
import { noLimits, rateOf, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { newLimitState, shortageOf, take, type Charge } from '../../gateway/limits/limit-state.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { MachineCharges, MachineChargeStore } from '../../gateway/limits/machine-charges.ts';
import { utcDate } from '../../gateway/limits/utc-date.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

const time = simulateTime();
const one: Charge = { units: 1, byMethod: new Map() };

function limitsOf(limits: Partial<KeyLimits>): KeyLimits {
  return { ...noLimits('account'), isCharged: true, ...limits };
}

async function limiters(count: number): Promise<Limiter[]> {
  const { workers, links } = await linkedWorkers(count);
  new MachineCharges().serve(workers.router);
  return links.map((link) => {
    const store = new MachineChargeStore(link);
    return new Limiter({ store, shouldServeWithoutRedis: true, log: openLog('silent') });
  });
}

/** Charges one unit at each limiter in turn. @returns how many were taken */
async function chargeInTurn(all: readonly Limiter[], limits: KeyLimits, count: number): Promise<number> {
  const charges = Array.from({ length: count }, async (_, index) => all[index % all.length]?.charge(limits, one));
  await time().advance(0);
  const outcomes = await Promise.all(charges);
  return outcomes.filter((outcome) => outcome?.shortage === undefined).length;
}

it.each([
  ['a daily quota', { daily: 40 }],
  ['a monthly quota', { monthly: 40 }],
  ['the burst of a rate', { rate: rateOf(0.001, 40) }],
  ['the lowest of several limits', { rate: rateOf(0.001, 90), daily: 40, monthly: 70 }],
])('the workers together serve %s to the last unit', async (_name, given) => {
  const limits = limitsOf(given);
  const all = await limiters(3);
  let taken = 0;
  for (let round = 0; round < 10; round++) {
    taken += await chargeInTurn(all, limits, 12);
    // A unit that a lease has not used is given back within a second.
    await time().advance(1_100);
  }
  expect(taken).toBe(40);
});

it('in any time, a busy key gets its burst, its rate and one charge at most, and not much less', async () => {
  const [perSecond, burst] = [2_000, 2_000];
  const limits = limitsOf({ rate: rateOf(perSecond, burst) });
  const all = await limiters(2);
  let taken = 0;
  const seconds = 4;
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    taken += await chargeInTurn(all, limits, 60);
    expect(taken).toBeLessThanOrEqual(burst + (perSecond * ms) / 1_000 + 1);
    await time().advance(10);
  }
  expect(taken).toBeGreaterThan(0.9 * (burst + perSecond * seconds));
  const leased = all.map(({ counts }) => counts.leased);
  expect(Math.min(...leased)).toBeGreaterThan(0);
});

it('the primary decides by the same law as one process', () => {
  const charge = fc.record({
    units: fc.integer({ min: 1, max: 9 }),
    byMethod: fc.constantFrom(new Map<string, number>(), new Map([['eth_a', 1]])),
  });
  const limits = fc.record(
    {
      rate: fc.integer({ min: 1, max: 20 }).map((burst) => rateOf(1e-6, burst)),
      methodRates: fc.integer({ min: 1, max: 5 }).map((burst) => new Map([['eth_a', rateOf(1e-6, burst)]])),
      daily: fc.integer({ min: 1, max: 50 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(limits, fc.array(fc.array(charge, { maxLength: 4 }), { maxLength: 5 }), (given, rounds) => {
      const key = limitsOf(given);
      const machine = new MachineCharges();
      const state = newLimitState();
      for (const charges of rounds) {
        const expected = charges.map((each) => {
          const isTaken = shortageOf(state, key, each, clock.now(), utcDate()) === undefined;
          if (isTaken) take(state, key, each, clock.now(), utcDate());
          return isTaken;
        });
        const message = { limits: key, charges, debtUnits: 0, leaseUnits: 0, leaseMs: 50, account: undefined };
        expect(machine.charge(message).taken).toEqual(expected);
      }
    }),
  );
});
