import { expect, it } from 'vitest';
import { noLimits, rateOf, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import type { Charge, Sums } from '../../gateway/limits/limit-state.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { MachineSums, serveSums } from '../../gateway/limits/machine-sums.ts';
import type { Addition } from '../../gateway/limits/shared-sums.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

const time = simulateTime();
const one: Charge = { units: 1, byMethod: new Map() };

function limitsOf(limits: Partial<KeyLimits>): KeyLimits {
  return { ...noLimits('account'), isCharged: true, ...limits };
}

interface Machine {
  readonly limiters: readonly Limiter[];
  /** The number of messages to the primary. */
  readonly messages: () => number;
}

async function openMachine(count: number): Promise<Machine> {
  const { workers, links } = await linkedWorkers(count);
  serveSums(workers.router);
  const received = workers.router.received.bind(workers.router);
  let messages = 0;
  workers.router.received = (from, message) => {
    messages++;
    received(from, message);
  };
  const limiters = links.map(
    (link) =>
      new Limiter({
        sums: new MachineSums(link, { kind: 'primary', restore: () => Promise.resolve() }),
        shouldServeWithoutRedis: true,
      }),
  );
  return { limiters, messages: () => messages };
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
  const { limiters } = await openMachine(3);
  let taken = 0;
  for (let round = 0; round < 40; round++) {
    taken += await chargeInTurn(limiters, limitsOf(given), 12);
    await time().advance(30);
  }
  expect(taken).toBe(40);
});

it('of a burst of 10, eight workers serve at most 12 calls that come at once, and at least 10', async () => {
  for (const calls of [1, 2, 5, 20]) {
    const { limiters } = await openMachine(8);
    const limits = limitsOf({ rate: rateOf(10) });
    let taken = 0;
    for (let round = 0; round < 40 / calls; round++) taken += await chargeInTurn(limiters, limits, 8 * calls);
    expect([calls, taken]).toEqual([calls, expect.toSatisfy((count: number) => count >= 10 && count <= 12)]);
  }
});

it('at ten times its rate, a key gets its burst, its rate and 100 ms of it per other worker at most, and not less', async () => {
  const [perSecond, burst, workers] = [200, 200, 3];
  const limits = limitsOf({ rate: rateOf(perSecond, burst) });
  const { limiters } = await openMachine(workers);
  let taken = 0;
  const seconds = 4;
  for (let ms = 0; ms < seconds * 1_000; ms += 15) {
    taken += await chargeInTurn(limiters, limits, 30);
    expect(taken).toBeLessThanOrEqual(burst + (perSecond * ms) / 1_000 + (workers - 1) * perSecond * 0.1 + 1);
    await time().advance(15);
  }
  expect(taken).toBeGreaterThan(0.98 * (burst + perSecond * seconds));
});

it('eight workers that know a quota, and are charged in turn, serve it to the last unit', async () => {
  const { limiters } = await openMachine(8);
  const limits = limitsOf({ daily: 1_000 });
  // All workers know the account.
  let taken = await chargeInTurn(limiters, limits, 8);
  for (let call = 0; call < 2_000; call++) taken += await chargeInTurn(limiters, limits, 8);
  expect(taken).toBe(1_000);
});

it('a worker that does not know the new connection to Redis adds nothing to a quota before it has raised it', async () => {
  const { workers, links } = await linkedWorkers(1);
  let used = 0;
  const redis = {
    ...{ kind: 'redis' as const, isUp: true, connection: 1 },
    add: ({ deltas, conditional, least, date: { day, month } }: Addition): Promise<Sums> => {
      const before = Math.max(used, least?.dayUsed ?? 0) + deltas.dayUsed;
      const isAdded = [...(conditional?.maxSums.values() ?? [])].every(({ max }) => before <= max);
      used = before + (isAdded ? (conditional?.deltas.dayUsed ?? 0) : 0);
      return Promise.resolve({ day, dayUsed: used, month, monthUsed: used, missing: new Map(), isAdded });
    },
  };
  let events: Parameters<NonNullable<Parameters<typeof serveSums>[1]>>[0] = {};
  serveSums(workers.router, (given) => {
    events = given;
    return redis;
  });
  const [link] = links as [WorkerLink];
  const limiter: Limiter = new Limiter({
    sums: new MachineSums(link, { kind: 'redis', restore: () => limiter.restore() }),
    shouldServeWithoutRedis: true,
  });
  await limiter.waitUntilReady(10);
  const limits = limitsOf({ daily: 60 });
  expect(await chargeInTurn([limiter], limits, 50)).toBe(50);
  // Redis returns empty, while the event loop of the worker is blocked.
  Object.assign(redis, { isUp: false, connection: 3 });
  used = 0;
  workers.stop(1);
  events.onChange?.();
  const late = chargeInTurn([limiter], limits, 1);
  await time().advance(20);
  const prepared = events.prepare?.({} as never);
  workers.go(1);
  await time().advance(0);
  expect(await late).toBe(1);
  await prepared;
  redis.isUp = true;
  events.onChange?.();
  await time().advance(200);
  expect(await chargeInTurn([limiter], limits, 100)).toBe(9);
  expect(used).toBe(60);
});

it('far from its limits, an account costs ten messages per second and worker', async () => {
  const { limiters, messages } = await openMachine(2);
  const limits = limitsOf({ rate: rateOf(1_000), daily: 1_000_000 });
  for (let ms = 0; ms < 1_000; ms += 5) {
    expect(await chargeInTurn(limiters, limits, 2)).toBe(2);
    await time().advance(5);
  }
  expect(messages()).toBeLessThanOrEqual(2 * 11 + 1);
  // What each has counted is exchanged.
  await time().advance(100);
  const quotas = limiters[0]?.readQuotas(limits);
  await time().advance(0);
  expect(await quotas).toMatchObject([{ used: 400 }]);
});
