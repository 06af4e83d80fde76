import { expect, it } from 'vitest';
import { clock, installClock } from '../../gateway/clock/clock.ts';
import { noLimits, rateOf, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import type { ChargeOutcome } from '../../gateway/limits/account-units.ts';
import type { Sums } from '../../gateway/limits/limit-state.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { MachineSums, serveSums } from '../../gateway/limits/machine-sums.ts';
import type { Addition, SharedSums } from '../../gateway/limits/shared-sums.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

simulateTime();
const time = (): SimulatedClock => clock as SimulatedClock;

/** The sums of a primary that is far away, and may be unavailable. */
class DistantSums implements SharedSums {
  readonly kind = 'primary';
  isUp = true;
  connection = 1;
  tripMs = 0;
  readonly #sums: SharedSums;

  constructor(sums: SharedSums) {
    this.#sums = sums;
  }

  async add(addition: Addition): Promise<Sums> {
    if (this.tripMs === 0) return this.#sums.add(addition);
    await clock.sleep(this.tripMs / 2);
    const sums = await this.#sums.add(addition);
    await clock.sleep(this.tripMs / 2);
    return sums;
  }

  end(): void {
    this.isUp = false;
    this.connection++;
  }
}

interface Gateway {
  readonly limiter: Limiter;
  readonly sums: DistantSums;
}

async function openGateways(count: number): Promise<readonly Gateway[]> {
  const { workers, links } = await linkedWorkers(count);
  serveSums(workers.router);
  return links.map((link) => {
    const sums = new DistantSums(new MachineSums(link, { kind: 'primary', restore: () => Promise.resolve() }));
    return { sums, limiter: new Limiter({ sums, shouldServeWithoutRedis: true }) };
  });
}

const limitsOf = (limits: Partial<KeyLimits>, account = 'account'): KeyLimits => ({
  ...noLimits(account),
  isCharged: true,
  ...limits,
});

function charge({ limiter }: Gateway, limits: KeyLimits, units = 1): ChargeOutcome | Promise<ChargeOutcome> {
  return limiter.charge(limits, { units, byMethod: new Map() });
}

/** The result of a charge, after `ms`. */
async function settled(outcome: ChargeOutcome | Promise<ChargeOutcome>, ms = 1): Promise<string> {
  let reason = 'waits';
  void Promise.resolve(outcome).then(({ shortage }) => (reason = shortage?.reason ?? 'taken'));
  await time().advance(ms);
  return reason;
}

async function usedOf(gateway: Gateway, limits: KeyLimits): Promise<(readonly [string, number])[]> {
  const quotas = gateway.limiter.readQuotas(limits);
  await time().advance(1);
  return (await quotas).map(({ period, used }) => [period, used]);
}

it('while the sums are restored, what was used without the store counts', async () => {
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ daily: 300 });
  expect(await settled(charge(gateway, limits))).toBe('taken');
  gateway.sums.end();
  expect(await settled(charge(gateway, limits, 290))).toBe('taken');
  gateway.sums.connection++;
  gateway.sums.tripMs = 50;
  const restored = gateway.limiter.restore();
  await time().advance(10);
  expect(await settled(charge(gateway, limits, 100))).toBe('daily-quota');
  await time().advanceUntil(restored);
  gateway.sums.isUp = true;
  gateway.sums.tripMs = 0;
  await time().advance(300);
  expect(await usedOf(gateway, limits)).toEqual([['day', 291]]);
});

it.each([20, 80, 250])('far from its limits, no call waits for a store at %s ms', async (tripMs) => {
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ rate: rateOf(1_000), daily: 1_000_000 });
  gateway.sums.tripMs = tripMs;
  expect(await settled(charge(gateway, limits), tripMs)).toBe('taken');
  const waited = [];
  for (let ms = 0; ms < 3_000; ms += 10) {
    if (charge(gateway, limits) instanceof Promise) waited.push(ms);
    await time().advance(10);
  }
  expect(waited).toEqual([]);
});

it('near a limit, all calls that wait for a store at 250 ms share its round trips', async () => {
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ daily: 2_000 });
  gateway.sums.tripMs = 250;
  expect(await settled(charge(gateway, limits), 250)).toBe('taken');
  const outcomes = Array.from({ length: 1_999 }, () => settled(charge(gateway, limits), 600));
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['taken']));
});

it('a charge that exceeds a quota takes no unit from smaller ones that others send meanwhile', async () => {
  const [one, two] = (await openGateways(2)) as [Gateway, Gateway];
  const limits = limitsOf({ daily: 1_000 });
  for (const each of [one, two]) expect(await settled(charge(each, limits))).toBe('taken');
  expect(await settled(charge(one, limits, 948))).toBe('taken');
  // The first one does not know of the other, and 50 are left.
  const large = charge(two, limits, 100);
  const small = charge(one, limits, 30);
  expect([await settled(large), await settled(small)]).toEqual(['daily-quota', 'taken']);
  for (const each of [one, two]) expect(await settled(charge(each, limits, 10))).toBe('taken');
  expect(await usedOf(one, limits)).toEqual([['day', 1_000]]);
});

it('a charge is not rejected because of another one of its gateway that the store has not decided', async () => {
  const [one, two] = (await openGateways(2)) as [Gateway, Gateway];
  const limits = limitsOf({ daily: 1_000 });
  for (const each of [one, two]) expect(await settled(charge(each, limits))).toBe('taken');
  expect(await settled(charge(one, limits, 900))).toBe('taken');
  two.sums.tripMs = 20;
  const large = charge(two, limits, 990);
  await time().advance(5);
  const small = charge(two, limits, 50);
  expect([await settled(large, 50), await settled(small, 50)]).toEqual(['daily-quota', 'taken']);
});

it('charges that are sent at once by gateways with old sums use a quota up, and exceed it nowhere', async () => {
  const all = await openGateways(3);
  const limits = limitsOf({ daily: 99 });
  for (const each of all) each.sums.tripMs = 5 + 20 * all.indexOf(each);
  let taken = 0;
  for (let ms = 0; ms < 400; ms += 10) {
    for (const each of all)
      for (let count = 0; count < 5; count++)
        void Promise.resolve(charge(each, limits)).then(({ shortage }) => (taken += Number(shortage === undefined)));
    await time().advance(10);
  }
  await time().advance(1_000);
  expect(taken).toBe(99);
});

it('what was used before midnight is added to no later day, and to the month', async () => {
  installClock(new SimulatedClock(Date.UTC(2026, 0, 1, 23, 59, 50)));
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ daily: 1_000, monthly: 10_000 });
  expect(await settled(charge(gateway, limits))).toBe('taken');
  gateway.sums.end();
  expect(await settled(charge(gateway, limits, 900))).toBe('taken');
  await time().advance(20_000);
  expect(await settled(charge(gateway, limits, 50))).toBe('taken');
  gateway.sums.connection++;
  await time().advanceUntil(gateway.limiter.restore());
  gateway.sums.isUp = true;
  await time().advance(300);
  expect(await usedOf(gateway, limits)).toEqual([
    ['day', 50],
    ['month', 951],
  ]);
});

it('a key whose calls always wait delays no exchange of other keys', async () => {
  const [gateway, other] = (await openGateways(2)) as [Gateway, Gateway];
  const [busy, quiet] = [limitsOf({ daily: 1e6 }, 'busy'), limitsOf({ daily: 1e6 }, 'quiet')];
  for (const limits of [busy, quiet]) expect(await settled(charge(gateway, limits))).toBe('taken');
  gateway.sums.tripMs = 20;
  expect(await settled(charge(gateway, busy))).toBe('taken');
  for (let ms = 0; ms < 400; ms += 5) {
    // Above 1 % of what is left: it waits for the store.
    if (ms >= 100) void charge(gateway, busy, 11_000);
    if (ms === 150) expect(await settled(charge(gateway, quiet))).toBe('taken');
    await time().advance(5);
  }
  expect(await usedOf(other, quiet)).toEqual([['day', 2]]);
});

it('what is on the way to the store counts for what a gateway takes by itself', async () => {
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ daily: 100_000 });
  expect(await settled(charge(gateway, limits))).toBe('taken');
  gateway.sums.tripMs = 80;
  // Of 1 %.
  expect(charge(gateway, limits, 900)).not.toBeInstanceOf(Promise);
  await time().advance(105);
  expect(charge(gateway, limits, 900)).toBeInstanceOf(Promise);
});

it('a charge of a method that is not in the exchange in progress counts once', async () => {
  const [gateway] = (await openGateways(1)) as [Gateway];
  const limits = limitsOf({ daily: 1e6, methodRates: new Map([['eth_a', rateOf(50, 100)]]) });
  const ofMethod = (units: number): ChargeOutcome | Promise<ChargeOutcome> =>
    gateway.limiter.charge(limits, { units, byMethod: new Map([['eth_a', units]]) });
  expect(await settled(charge(gateway, limits))).toBe('taken');
  gateway.sums.tripMs = 20;
  expect(await settled(charge(gateway, limits), 105)).toBe('taken');
  expect(ofMethod(4)).toMatchObject({ allowance: { remaining: 96 } });
  await time().advance(20);
  // One unit has returned.
  expect(ofMethod(1)).toMatchObject({ allowance: { remaining: 96 } });
});
