import { expect, it } from 'vitest';
import { Gate } from '../../gateway/admission/gate.ts';
import { KeyShare, type CallerShare } from '../../gateway/admission/key-share.ts';
import { PublicShares } from '../../gateway/admission/public-shares.ts';

function openShares(total: number, perAddress: number): PublicShares {
  const shares = new PublicShares('public:main', (name) => ({ name, isAddress: true, bytes: 0 }));
  shares.limitConcurrency(total, perAddress);
  return shares;
}

const addresses = (shares: PublicShares, count: number): CallerShare[] =>
  Array.from({ length: count }, (_, index) => shares.of(`192.0.2.${index}`));

it('all addresses together have the slots of one key at a network', () => {
  const slots = new Gate({ slots: 8, rejection: () => new Error('rejected') });
  const taken = addresses(openShares(256, 16), 100).filter((address) => slots.tryEnter(address));
  expect(taken).toHaveLength(7);
  expect(slots.tryEnter(new KeyShare('one'))).toBe(true);
});

it('a key that waits is served before addresses that wait longer, because they have more slots', async () => {
  const slots = new Gate({ slots: 8, rejection: () => new Error('rejected') });
  const [first, ...others] = addresses(openShares(256, 16), 100) as [CallerShare, ...CallerShare[]];
  expect([first, ...others].filter((address) => slots.tryEnter(address))).toHaveLength(7);
  const busy = new KeyShare('busy');
  expect(slots.tryEnter(busy)).toBe(true);
  const started: string[] = [];
  const waiting = others.slice(10, 60).map((address) => slots.wait(address, Infinity, undefined));
  const key = slots.wait(new KeyShare('late'), Infinity, undefined).then(() => started.push('key'));
  void waiting[0]?.then(() => started.push('address'));
  slots.leave(first);
  await key;
  expect(started).toEqual(['key']);
});

it('requests in flight of one address leave those of others their places', () => {
  const shares = openShares(16, 2);
  const [greedy, other] = addresses(shares, 2) as [CallerShare, CallerShare];
  const enter = (share: CallerShare): boolean => share.requests.tryEnter(share);
  expect([enter(greedy), enter(greedy), enter(greedy), enter(other)]).toEqual([true, true, false, true]);
  greedy.requests.leave(greedy);
  expect(enter(shares.of('192.0.2.0'))).toBe(true);
});

it('requests of all addresses have a limit, which a reload changes', () => {
  const shares = openShares(4, 2);
  const enterAll = (): number => addresses(shares, 50).filter((share) => share.requests.tryEnter(share)).length;
  expect(enterAll()).toBe(4);
  expect(enterAll()).toBe(0);
  shares.limitConcurrency(10, 2);
  expect(enterAll()).toBe(6);
});
