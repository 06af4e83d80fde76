import { expect, it, onTestFinished } from 'vitest';
import { noLimits, rateOf, type KeyLimits, type PublicLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { openLog } from '../../gateway/config/log.ts';
import type { ChargeOutcome } from '../../gateway/limits/account.ts';
import { AddressTable } from '../../gateway/limits/address-table.ts';
import type { ChargeStore } from '../../gateway/limits/charge-store.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { MachineCharges, MachineChargeStore } from '../../gateway/limits/machine-charges.ts';
import { PublicCharges } from '../../gateway/limits/public-charges.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

/** Nothing returns during a test. */
const slow = (burst: number): Partial<KeyLimits> => ({ rate: rateOf(0.000_1, burst), isCharged: true });
const each: KeyLimits = { ...noLimits('others'), ...slow(3) };

function openCharges(maxAddresses?: number, store?: ChargeStore): PublicCharges {
  const limiter = new Limiter({ store: undefined, shouldServeWithoutRedis: true, log: openLog('silent') });
  onTestFinished(() => limiter.close());
  return new PublicCharges(limiter, store, () => undefined, new AddressTable(maxAddresses));
}

function limitsOf(account: string, all?: KeyLimits): PublicLimits {
  return { shares: [{ account, limits: each }], all };
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
  expect(charges.table.size).toBe(256);
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

it('a share gets back in the store what another share, or the total, rejects', async () => {
  const { workers, links } = await linkedWorkers(4);
  new MachineCharges().serve(workers.router);
  const [first, second, third, fourth] = links.map((link) => openCharges(undefined, new MachineChargeStore(link)));
  const withNetwork = (network: string, account: string, all?: KeyLimits): PublicLimits => {
    return { shares: [network, account].map((name) => ({ account: name, limits: each })), all };
  };
  expect(await taken(first as PublicCharges, 3, withNetwork('a', 'one'))).toBe(3);
  // The network of the account has no units left at the others.
  expect(await taken(second as PublicCharges, 1, withNetwork('a', 'two'))).toBe(0);
  const all = { ...noLimits('all'), daily: 3, isCharged: true };
  expect(await taken(third as PublicCharges, 2, withNetwork('b', 'two', all), 2)).toBe(1);
  expect(await taken(fourth as PublicCharges, 3, withNetwork('c', 'two'))).toBe(1);
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
