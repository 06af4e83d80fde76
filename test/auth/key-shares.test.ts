import { describe, expect, it } from 'vitest';
import { KeyShares } from '../../gateway/auth/key-shares.ts';

/** The number of requests that an account may have in flight. */
function slotsOf(share: ReturnType<KeyShares['of']>): number {
  let slots = 0;
  while (slots < 1_000 && share.requests.tryEnter(share)) slots++;
  for (let left = 0; left < slots; left++) share.requests.leave(share);
  return slots;
}

describe('the lowest concurrency of the keys of a team holds for all of them', () => {
  it.each([
    ['first', [2, undefined, 5]],
    ['last', [undefined, 5, 2]],
    ['in the middle', [5, 2, undefined]],
  ])('if it is read %s', (_, limits) => {
    const shares = new KeyShares();
    limits.forEach((limit, index) => shares.of('team:a', `key-${index}`, limit));
    expect(slotsOf(shares.of('team:a', 'another', undefined))).toBe(2);
    expect(slotsOf(shares.of('team:b', 'another', undefined))).toBe(256);
  });

  it('until it is removed from the key', () => {
    const shares = new KeyShares();
    shares.of('team:a', 'one', 2);
    shares.of('team:a', 'two', 5);
    expect(slotsOf(shares.of('team:a', 'one', undefined))).toBe(5);
    expect(slotsOf(shares.of('team:a', 'two', undefined))).toBe(256);
  });

  it('until the key moves to another team', () => {
    const shares = new KeyShares();
    const old = shares.of('team:a', 'one', 2);
    expect(slotsOf(shares.of('team:b', 'one', 2))).toBe(2);
    expect(slotsOf(old)).toBe(256);
    expect(slotsOf(shares.of('team:a', 'one', undefined))).toBe(256);
    expect(slotsOf(shares.of('team:b', 'two', undefined))).toBe(256);
  });

  it('until the key changes or is revoked, and from its next use on', () => {
    const shares = new KeyShares();
    const share = shares.of('team:a', 'one', 2);
    shares.forget('one');
    expect(slotsOf(share)).toBe(256);
    expect(slotsOf(shares.of('team:a', 'one', 3))).toBe(3);
  });
});

it('a share that is used stays, whatever number of other accounts come', () => {
  const shares = new KeyShares();
  const share = shares.of('token:used', 'used', 2);
  for (let n = 0; n < 100_000; n += 1) {
    shares.of(`token:${n}`, `${n}`, 2);
    if (n % 10_000 === 0) shares.renew({ account: 'token:used', record: { id: 'used' } });
  }
  expect(shares.of('token:used', 'used', 2)).toBe(share);
});
