import { expect, it } from 'vitest';
import { PolledFilter } from '../../gateway/subscriptions/polled-filter.ts';

it('releases the bytes of results for which it was removed', () => {
  let taken = 0;
  const memory = {
    take: (bytes: number) => {
      taken += bytes;
      filter.close();
    },
    giveBack: (bytes: number) => void (taken -= bytes),
  };
  const filter = new PolledFilter({}, { kind: 'newPendingTransactions', isFull: false }, memory, () => undefined);
  filter.deliver(['"0x01"']);
  expect(taken).toBe(0);
});
