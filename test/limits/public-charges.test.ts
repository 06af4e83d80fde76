import { describe, expect, it, onTestFinished } from 'vitest';
import { noLimits, rateOf, type KeyLimits, type PublicLimits } from '../../gateway/auth/permissions/key-limits.ts';
import type { ChargeOutcome } from '../../gateway/limits/account-units.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { serveShares, WorkerShares } from '../../gateway/limits/machine-shares.ts';
import { PublicCharges } from '../../gateway/limits/public-charges.ts';
import { ShareCounts } from '../../gateway/limits/share-counts.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { accessWith } from '../auth/access-with.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

const time = simulateTime();

/** Nothing returns during a test. */
const slow = (burst: number): Partial<KeyLimits> => ({ rate: rateOf(0.000_1, burst), isCharged: true });
const each: KeyLimits = { ...noLimits('others'), ...slow(3) };
const kind = { own: each, others: each };

function openCharges(maxAddresses?: number, worker?: WorkerLink): PublicCharges {
  const limiter = new Limiter({ sums: undefined, shouldServeWithoutRedis: true });
  onTestFinished(() => limiter.close());
  const shares = new ShareCounts(maxAddresses);
  return new PublicCharges(limiter, shares, worker && new WorkerShares(worker, shares));
}

function limitsOf(account: string, all?: KeyLimits): PublicLimits {
  return { share: { account, isIpv4: true, limits: kind }, all };
}

/** How many of the charges are taken. */
async function taken(charges: PublicCharges, count: number, limits: PublicLimits, units = 1): Promise<number> {
  const outcomes: ChargeOutcome[] = [];
  for (let at = 0; at < count; at++) outcomes.push(await charges.charge(limits, { units, byMethod: new Map() }));
  return outcomes.filter(({ shortage }) => shortage === undefined).length;
}

it('ten thousand addresses at once each have their own share', async () => {
  const charges = openCharges();
  for (let address = 0; address < 10_000; address++) {
    expect(await taken(charges, 4, limitsOf(`address ${address}`))).toBe(3);
  }
  expect(charges.counts).toEqual({ taken: 30_000, address: 10_000, 'table-full': 0, total: 0 });
});

it('new addresses share one limit when the table is full, and those that it has keep theirs', async () => {
  const charges = openCharges(256);
  const served: number[] = [];
  for (let address = 0; address < 5_000; address++)
    served.push(await taken(charges, 1, limitsOf(`address ${address}`)));
  // 256 have a place, and all others have the share of one.
  expect(served.filter((count) => count === 1)).toHaveLength(256 + 3);
  expect(charges.size).toBe(256);
  expect(charges.counts['table-full']).toBe(5_000 - 256 - 3);
  expect(await taken(charges, 5, limitsOf('address 0'))).toBe(2);
});

it('an address gets back what the total rejects', async () => {
  const charges = openCharges();
  const all = { ...noLimits('all'), daily: 3, isCharged: true };
  // One unit is left, so that it is known only when the second one is charged.
  expect(await taken(charges, 2, limitsOf('one', all), 2)).toBe(1);
  expect(charges.counts).toMatchObject({ taken: 1, address: 0, total: 1 });
  expect(await taken(charges, 3, limitsOf('one'))).toBe(1);
});

it('a rejection says whose limit it is', async () => {
  const charges = openCharges();
  const all = { ...noLimits('all'), ...slow(4) };
  await taken(charges, 3, limitsOf('one', all));
  expect(await charges.charge(limitsOf('one', all), { units: 1, byMethod: new Map() })).toMatchObject({
    shortage: { reason: 'rate-limit', scope: 'address' },
  });
  await taken(charges, 1, limitsOf('two', all));
  expect(charges.shortageOf(limitsOf('three', all))).toMatchObject({ reason: 'rate-limit' });
  expect(await charges.charge(limitsOf('three', all), { units: 1, byMethod: new Map() })).toMatchObject({
    shortage: { reason: 'rate-limit', scope: 'all' },
  });
});

describe('many addresses', () => {
  const options = { rate: 10, burst: 50, daily: 100_000 };

  /** The number of addresses whose call is served. */
  async function servedOf(charges: PublicCharges, addresses: readonly string[], more: object = {}): Promise<number> {
    const access = accessWith({ ...options, ...more });
    let served = 0;
    for (const address of addresses) {
      served += await taken(charges, 1, access.accessOf(address).limits?.public ?? expect.fail());
      await time().advance(10);
    }
    return served;
  }

  const ipv4 = (count: number): string[] => Array.from({ length: count }, (_, at) => `198.51.${at >> 8}.${at & 255}`);
  /** Addresses of a /44: 16 networks /48 with as many /64 each. */
  const ipv6 = (count: number): string[] =>
    Array.from({ length: count }, (_, at) => `2001:db8:${(at % 16).toString(16)}:${at.toString(16)}::1`);

  it('of a /44 of IPv6 leave the places of IPv4 addresses to these, and make place for each other', async () => {
    const charges = openCharges(1_024);
    expect(await servedOf(charges, ipv6(6_000))).toBe(6_000);
    expect(charges.size).toBeLessThanOrEqual(1_024);
    expect(await servedOf(charges, ipv4(100), { daily: 20 })).toBe(100);
  });

  it('of IPv4 that have used little of their day make place for others', async () => {
    const charges = openCharges(1_024);
    expect(await servedOf(charges, ipv4(5_000))).toBe(5_000);
    expect(charges.counts['table-full']).toBe(0);
  });

  it('for which there is no place share a rate, which returns, and no quota', async () => {
    const charges = openCharges(256);
    const few = { rate: 1, burst: 5, daily: 8 };
    await servedOf(charges, ipv4(3_000), few);
    expect(charges.counts['table-full']).toBeGreaterThan(2_000);
    let served = 0;
    for (let second = 0; second < 20; second++) {
      await time().advance(1_000);
      served += await servedOf(charges, [`192.0.2.${second}`], few);
    }
    expect(served).toBe(20);
  });

  it('of one /48 that together use less than one may have no account each', async () => {
    const charges = openCharges();
    const nets = Array.from({ length: 40 }, (_, at) => `2001:db8:1:${at.toString(16)}::1`);
    expect(await servedOf(charges, nets, { rate: 0.001, burst: 100 })).toBe(40);
    expect(charges.size).toBe(1);
  });
});

describe('the limits of a /64', () => {
  const options = { rate: 1, burst: 10, daily: 1_000 };
  const limitsAt = (address: string): PublicLimits =>
    accessWith(options).accessOf(address).limits?.public ?? expect.fail();

  it('are exact if it is the only one of its /48', async () => {
    const charges = openCharges();
    const one = limitsAt('2001:db8:1:1::1');
    expect(await taken(charges, 15, one)).toBe(10);
    await time().advance(4_000);
    expect(await taken(charges, 15, one)).toBe(4);
    // Until its rate is full again, its /48 does not count as one address.
    await time().advance(9_000);
    expect(await taken(charges, 15, one)).toBe(9);
    expect(await taken(charges, 15, limitsAt('2001:db8:1:2::1'))).toBe(10);
  });

  it('hold while others of its /48 use theirs, up to those of 16', async () => {
    const charges = openCharges();
    const nets = Array.from({ length: 30 }, (_, at) => limitsAt(`2001:db8:1:${at.toString(16)}::1`));
    let served = 0;
    for (const net of nets) served += await taken(charges, 12, net);
    expect(served).toBe(160);
  });
});

describe('two workers', () => {
  interface Machine {
    readonly charges: readonly [PublicCharges, PublicCharges];
    readonly messages: () => number;
  }

  async function openMachine(): Promise<Machine> {
    const { workers, links } = await linkedWorkers(2);
    serveShares(workers.router);
    const received = workers.router.received.bind(workers.router);
    let count = 0;
    workers.router.received = (from, message) => {
      count++;
      received(from, message);
    };
    const [one, other] = links.map((link) => openCharges(undefined, link));
    return { charges: [one as PublicCharges, other as PublicCharges], messages: () => count };
  }

  /** The outcome of a charge, whose messages take no time. */
  async function take(charges: PublicCharges, limits: PublicLimits): Promise<boolean> {
    const outcome = Promise.resolve(charges.charge(limits, { units: 1, byMethod: new Map() }));
    await time().advance(0);
    return (await outcome).shortage === undefined;
  }

  it.each([
    ['the burst', { rate: 0.001, burst: 25 }],
    ['the daily quota', { daily: 25 }],
  ])('serve %s of an address, to the last call', async (_name, options) => {
    for (const address of ['192.0.2.7', '2001:db8:1:1::1']) {
      const { charges } = await openMachine();
      const limits = accessWith(options).accessOf(address).limits?.public ?? expect.fail();
      let served = 0;
      for (let call = 0; call < 60; call++) {
        if (await take(charges[call % 2] as PublicCharges, limits)) served++;
        await time().advance(20);
      }
      expect([address, served]).toEqual([address, 25]);
    }
  });

  it('serve the rate of an address that calls both all the time, once', async () => {
    const { charges } = await openMachine();
    const limits = accessWith({ rate: 10, burst: 40 }).accessOf('192.0.2.7').limits?.public ?? expect.fail();
    let served = 0;
    for (let call = 0; call < 1_200; call++) {
      if (await take(charges[call % 2] as PublicCharges, limits)) served++;
      await time().advance(50);
    }
    expect(served).toBeGreaterThan(630);
    expect(served).toBeLessThanOrEqual(640);
  });

  it('send the primary one message for many addresses that use little', async () => {
    const { charges, messages } = await openMachine();
    const access = accessWith({ rate: 10, burst: 50, daily: 100_000 });
    for (let address = 0; address < 1_000; address++) {
      const { limits } = access.accessOf(`198.51.${address >> 8}.${address & 255}`);
      expect(await take(charges[address % 2] as PublicCharges, limits?.public ?? expect.fail())).toBe(true);
      await time().advance(1);
    }
    await time().advance(100);
    expect(messages()).toBeLessThan(50);
  });

  it('give back what the limits of all callers reject', async () => {
    const { charges } = await openMachine();
    const all = { ...noLimits('all'), daily: 2, isCharged: true };
    const [one, other] = charges;
    const limits = accessWith({ daily: 4 }).accessOf('192.0.2.7').limits?.public ?? expect.fail();
    const served: boolean[] = [];
    for (let call = 0; call < 3; call++) served.push(await take(one, { ...limits, all }));
    expect(served).toEqual([true, true, false]);
    await time().advance(100);
    for (let call = 0; call < 3; call++) served.push(await take(other, limits));
    expect(served.slice(3)).toEqual([true, true, false]);
  });
});
