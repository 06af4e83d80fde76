import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Account, gatehouse } from '../../gateway/admission/account.ts';
import { PublicAccounts } from '../../gateway/admission/public-accounts.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { Reservation } from '../../gateway/memory/reservation.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const open = (requestsMax = 100): MemoryBudget => new MemoryBudget({ requestsMax, maxBytes: 800 });
const keyOf = (name: string): Account => new Account(name);
const keysOf = (...names: string[]): Account[] => names.map(keyOf);
const reasonOf = (take: () => void): string => {
  try {
    take();
    return 'taken';
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};

it('one account gets half of the budget, and the others get their shares of the rest', () => {
  const budget = open();
  const [greedy, last] = [keyOf('greedy'), keyOf('e')];
  budget.take(greedy, 400);
  expect(
    reasonOf(() => {
      budget.take(greedy, 1);
    }),
  ).toBe('memory-share');
  expect(budget.isExhaustedFor(greedy)).toBe(true);
  for (const other of keysOf('a', 'b', 'c', 'd')) {
    expect(budget.isExhaustedFor(other)).toBe(false);
    budget.take(other, 100);
    expect(
      reasonOf(() => {
        budget.take(other, 1);
      }),
    ).toBe(other.name === 'd' ? 'overloaded' : 'memory-share');
  }
  expect(
    reasonOf(() => {
      budget.take(last, 1);
    }),
  ).toBe('overloaded');
  expect(budget.counts).toEqual({ budget: 2, share: 4, requests: 0, connection: 0 });
  budget.add(greedy, -400);
  budget.take(last, 100);
  expect(budget.bytes).toBe(500);
});

it('all client addresses together get a quarter of the budget, divided among them in the same way', () => {
  const budget = open();
  const addressAt = (index: number): Account => budget.addressAccount(`192.0.2.${index}`);
  budget.take(addressAt(0), 100);
  expect(budget.canTake(addressAt(0), 1)).toBe(false);
  expect(budget.isExhaustedFor(addressAt(0))).toBe(true);
  for (const index of [1, 2, 3, 4]) {
    expect(budget.isExhaustedFor(addressAt(index))).toBe(false);
    budget.take(addressAt(index), 25);
    expect(budget.canTake(addressAt(index), 1)).toBe(false);
  }
  expect(budget.canTake(addressAt(5), 1)).toBe(false);
  expect(budget.canTake(keyOf('key'), 200)).toBe(true);
  budget.add(addressAt(1), -25);
  expect(budget.canTake(addressAt(5), 25)).toBe(true);
  expect(budget.bytes).toBe(175);
});

it('all client addresses together are one account beside the keys', () => {
  const budget = open();
  budget.take(keyOf('greedy'), 400);
  budget.take(budget.addressAccount('192.0.2.1'), 100);
  expect(budget.canTake(budget.addressAccount('192.0.2.2'), 1)).toBe(false);
  expect(budget.canTake(keyOf('key'), 100)).toBe(true);
});

it('callers without a key on all networks have one quarter together, and an address has one share on all', () => {
  const memory = open();
  const [one, other] = ['public:one', 'public:other'].map((name) => new PublicAccounts(name, { memory })) as [
    PublicAccounts,
    PublicAccounts,
  ];
  memory.take(one.of('192.0.2.1'), 100);
  memory.take(other.of('192.0.2.2'), 25);
  expect(memory.canTake(one.of('192.0.2.2'), 1)).toBe(false);
  expect(memory.isExhaustedFor(other.of('192.0.2.1'))).toBe(true);
  memory.take(other.of('192.0.2.3'), 25);
  memory.take(one.of('192.0.2.4'), 25);
  memory.take(memory.addressAccount('192.0.2.5'), 25);
  expect(memory.canTake(other.of('192.0.2.6'), 1)).toBe(false);
  expect(memory.canTake(keyOf('key'), 200)).toBe(true);
  memory.add(other.of('192.0.2.3'), -25);
  expect(memory.canTake(other.of('192.0.2.6'), 25)).toBe(true);
  expect(memory.bytes).toBe(175);
  expect(one.of('192.0.2.1').payer).toBe(one.of('192.0.2.2').payer);
  expect(one.of('192.0.2.1').payer).not.toBe(other.of('192.0.2.1').payer);
  // The guard counts and closes what an address has on all networks.
  expect(one.of('192.0.2.1').memoryOwner).toBe(other.of('192.0.2.1').memoryOwner);
});

it('bytes of the gateway itself are never rejected', () => {
  const budget = open();
  budget.add(keyOf('a'), 300);
  budget.take(gatehouse, 1_000);
  expect(budget.bytes).toBe(1_300);
  budget.add(gatehouse, -1_000);
  expect(budget.bytes).toBe(300);
});

it('a reservation moves its bytes to another account, and takes none after its release', () => {
  const budget = open(1);
  const [former, key] = [keyOf('former'), keyOf('key')];
  const reservation = new Reservation(budget, former);
  reservation.take(200);
  reservation.moveTo(key);
  reservation.begin(50);
  expect(
    reasonOf(() => {
      new Reservation(budget, keyOf('other')).begin(1);
    }),
  ).toBe('overloaded');
  expect([former.bytes, key.bytes]).toEqual([0, 250]);
  budget.add(former, 600);
  expect(
    reasonOf(() => {
      reservation.take(1);
    }),
  ).toBe('overloaded');
  budget.add(former, -600);
  reservation.setTo(10);
  expect(budget.bytes).toBe(11);
  reservation.release();
  reservation.take(500);
  reservation.release();
  expect(budget.bytes).toBe(1);
  new Reservation(budget, keyOf('other')).begin(1);
});

it('a limited number of addresses is kept, and all objects of an address have the same bytes', () => {
  const budget = open();
  const heap = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const [one, same] = [budget.addressAccount('192.0.2.1'), budget.addressAccount('192.0.2.1')];
  const before = heap();
  for (let index = 0; index < 300_000; index++) {
    budget.take(budget.addressAccount(`address ${index}`), 1);
    budget.add(budget.addressAccount(`address ${index}`), -1);
  }
  expect(heap() - before).toBeLessThan(20_000_000);
  expect(budget.bytes).toBe(0);
  budget.take(one, 60);
  expect(same.bytes).toBe(60);
  budget.add(same, -60);
  expect([one.bytes, budget.bytes]).toEqual([0, 0]);
});
