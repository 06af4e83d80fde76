import { expect, it } from 'vitest';
import type { CallerAccount } from '../../gateway/admission/caller-account.ts';
import { PublicAccounts } from '../../gateway/admission/public-accounts.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { WorkerSlots } from '../../gateway/workers/worker-slots.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';

/** Callers without a key at one worker. */
class Callers {
  readonly accounts: PublicAccounts;
  readonly #inFlight: CallerAccount[] = [];

  constructor(leases: WorkerSlots, total: number, perAddress: number) {
    this.accounts = new PublicAccounts('public:main', { leases });
    this.accounts.limitConcurrency(total, perAddress);
  }

  begin(group: string, count: number): void {
    const account = this.accounts.of(group);
    const started = (): unknown => this.#inFlight.push(account);
    for (let begun = 0; begun < count; begun++) {
      if (account.requests.tryEnter(account)) started();
      // Those that still wait when the test ends are rejected later.
      else void account.requests.wait(account, Infinity, undefined).then(started, () => undefined);
    }
  }

  /** Ends the request in flight that started first. */
  endFirst(): void {
    const account = this.#inFlight.shift();
    account?.requests.leave(account);
  }

  of(group: string): number {
    const account = this.accounts.of(group);
    return this.#inFlight.filter((one) => one === account).length;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }
}

async function machine(total: number, perAddress: number): Promise<[Callers, Callers]> {
  const { workers, links } = await linkedWorkers(2);
  new MachineSlots(workers.router, 2).serve();
  const [one, other] = links.map((link) => new Callers(new WorkerSlots(link), total, perAddress));
  return [one as Callers, other as Callers];
}

/** All messages of all workers have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

it('an address whose requests are all at one worker has its whole concurrency there', async () => {
  const [one] = await machine(64, 5);
  one.begin('a', 9);
  await settled();
  expect(one.of('a')).toBe(5);
  for (let ended = 0; ended < 5; ended++) one.endFirst();
  await settled();
  expect(one.of('a')).toBe(4);
});

it('requests of an address at both workers are never more than its concurrency', async () => {
  for (const perAddress of [1, 2, 5]) {
    const [one, other] = await machine(64, perAddress);
    for (let round = 0; round < 20; round++) {
      for (const callers of [one, other]) callers.begin('a', 1 + (round % 3));
      await settled();
      for (let ended = 0; ended < 1 + (round % 2); ended++) (round % 4 < 2 ? one : other).endFirst();
      await settled();
      expect(one.of('a') + other.of('a')).toBeLessThanOrEqual(perAddress);
      if (round > 4) expect(one.of('a') + other.of('a')).toBe(perAddress);
    }
  }
});

it('all addresses together have the whole concurrency of all, at one worker or both, and never more', async () => {
  const [one, other] = await machine(8, 3);
  for (const group of ['a', 'b', 'c', 'd']) one.begin(group, 3);
  await settled();
  expect([one.inFlight, other.inFlight]).toEqual([8, 0]);
  for (const group of ['e', 'f', 'g', 'h']) other.begin(group, 1);
  await settled();
  expect([one.inFlight, other.inFlight]).toEqual([8, 0]);
  for (let ended = 1; ended <= 4; ended++) {
    one.endFirst();
    await settled();
    expect(one.inFlight + other.inFlight).toBe(8);
  }
  // Addresses that had fewer than their share are served first.
  expect(other.inFlight).toBe(4);
});

it('an address that waits for its own requests leaves free slots to those at the other worker', async () => {
  const [one, other] = await machine(8, 2);
  one.begin('greedy', 20);
  await settled();
  for (const group of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) other.begin(group, 1);
  await settled();
  expect([one.inFlight, other.inFlight]).toEqual([2, 6]);
});

it('a reload changes both limits at both workers', async () => {
  const [one, other] = await machine(4, 2);
  const begin = (): void => {
    for (const group of ['a', 'b', 'c', 'd']) for (const callers of [one, other]) callers.begin(group, 4);
  };
  begin();
  await settled();
  expect(one.inFlight + other.inFlight).toBe(4);
  for (const { accounts } of [one, other]) accounts.limitConcurrency(10, 3);
  await settled();
  begin();
  await settled();
  expect(one.inFlight + other.inFlight).toBe(10);
  for (const group of ['a', 'b', 'c', 'd']) expect(one.of(group) + other.of(group)).toBeLessThanOrEqual(3);
});

it('accounts that are closed leave their slots to the other worker, those in use as requests end', async () => {
  const [one, other] = await machine(6, 6);
  const held = one.accounts.of('a');
  expect(held.requests.tryEnter(held)).toBe(false);
  await settled();
  expect(held.requests.tryEnter(held)).toBe(true);
  one.accounts.close();
  other.begin('a', 8);
  await settled();
  expect(other.inFlight).toBe(5);
  held.requests.leave(held);
  await settled();
  expect(other.inFlight).toBe(6);
});
