import { expect, it } from 'vitest';
import { Gate } from '../../gateway/admission/gate.ts';
import type { CallerAccount } from '../../gateway/admission/caller-account.ts';
import { KeyAccount } from '../../gateway/admission/key-accounts.ts';
import { PublicAccounts } from '../../gateway/admission/public-accounts.ts';

function openAccounts(total: number, perAddress: number): PublicAccounts {
  const accounts = new PublicAccounts('public:main');
  accounts.limitConcurrency(total, perAddress);
  return accounts;
}

const addresses = (accounts: PublicAccounts, count: number): CallerAccount[] =>
  Array.from({ length: count }, (_, index) => accounts.of(`192.0.2.${index}`));

it('all addresses together have the slots of one key at a network', () => {
  const slots = new Gate({ slots: 8, rejection: () => new Error('rejected') });
  const taken = addresses(openAccounts(256, 16), 100).filter((address) => slots.tryEnter(address));
  expect(taken).toHaveLength(7);
  expect(slots.tryEnter(new KeyAccount('one'))).toBe(true);
});

it('a key that waits is served before addresses that wait longer, because they have more slots', async () => {
  const slots = new Gate({ slots: 8, rejection: () => new Error('rejected') });
  const [first, ...others] = addresses(openAccounts(256, 16), 100) as [CallerAccount, ...CallerAccount[]];
  expect([first, ...others].filter((address) => slots.tryEnter(address))).toHaveLength(7);
  const busy = new KeyAccount('busy');
  expect(slots.tryEnter(busy)).toBe(true);
  const started: string[] = [];
  const waiting = others.slice(10, 60).map((address) => slots.wait(address, Infinity, undefined));
  const key = slots.wait(new KeyAccount('late'), Infinity, undefined).then(() => started.push('key'));
  void waiting[0]?.then(() => started.push('address'));
  slots.leave(first);
  await key;
  expect(started).toEqual(['key']);
});

it('requests in flight of one address leave those of others their places', () => {
  const accounts = openAccounts(16, 2);
  const [greedy, other] = addresses(accounts, 2) as [CallerAccount, CallerAccount];
  const enter = (account: CallerAccount): boolean => account.requests.tryEnter(account);
  expect([enter(greedy), enter(greedy), enter(greedy), enter(other)]).toEqual([true, true, false, true]);
  greedy.requests.leave(greedy);
  expect(enter(accounts.of('192.0.2.0'))).toBe(true);
});

it('requests of all addresses have a limit, which a reload changes', () => {
  const accounts = openAccounts(4, 2);
  const enterAll = (): number => addresses(accounts, 50).filter((account) => account.requests.tryEnter(account)).length;
  expect(enterAll()).toBe(4);
  expect(enterAll()).toBe(0);
  accounts.limitConcurrency(10, 2);
  expect(enterAll()).toBe(6);
});
