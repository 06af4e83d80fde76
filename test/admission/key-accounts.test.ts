import { describe, expect, it } from 'vitest';
import { KeyAccounts } from '../../gateway/admission/key-accounts.ts';

/** The number of requests that an account may have in flight. */
function slotsOf(account: ReturnType<KeyAccounts['of']>): number {
  let slots = 0;
  while (slots < 1_000 && account.requests.tryEnter(account)) slots++;
  for (let left = 0; left < slots; left++) account.requests.leave(account);
  return slots;
}

describe('the lowest concurrency of the keys of a team holds for all of them', () => {
  it.each([
    ['first', [2, undefined, 5]],
    ['last', [undefined, 5, 2]],
    ['in the middle', [5, 2, undefined]],
  ])('if it is read %s', (_, limits) => {
    const accounts = new KeyAccounts();
    limits.forEach((limit, index) => accounts.of('team:a', `key-${index}`, limit));
    expect(slotsOf(accounts.of('team:a', 'another', undefined))).toBe(2);
    expect(slotsOf(accounts.of('team:b', 'another', undefined))).toBe(256);
  });

  it('until it is removed from the key', () => {
    const accounts = new KeyAccounts();
    accounts.of('team:a', 'one', 2);
    accounts.of('team:a', 'two', 5);
    expect(slotsOf(accounts.of('team:a', 'one', undefined))).toBe(5);
    expect(slotsOf(accounts.of('team:a', 'two', undefined))).toBe(256);
  });

  it('until the key moves to another team', () => {
    const accounts = new KeyAccounts();
    const old = accounts.of('team:a', 'one', 2);
    expect(slotsOf(accounts.of('team:b', 'one', 2))).toBe(2);
    expect(slotsOf(old)).toBe(256);
    expect(slotsOf(accounts.of('team:a', 'one', undefined))).toBe(256);
    expect(slotsOf(accounts.of('team:b', 'two', undefined))).toBe(256);
  });

  it('until the key changes or is revoked, and from its next use on', () => {
    const accounts = new KeyAccounts();
    const account = accounts.of('team:a', 'one', 2);
    accounts.forget('one');
    expect(slotsOf(account)).toBe(256);
    expect(slotsOf(accounts.of('team:a', 'one', 3))).toBe(3);
  });
});

it('an account that is used stays, whatever number of other accounts come', () => {
  const accounts = new KeyAccounts();
  const account = accounts.of('token:used', 'used', 2);
  for (let n = 0; n < 100_000; n += 1) {
    accounts.of(`token:${n}`, `${n}`, 2);
    if (n % 10_000 === 0) accounts.renew('token:used', 'used');
  }
  expect(accounts.of('token:used', 'used', 2)).toBe(account);
});
