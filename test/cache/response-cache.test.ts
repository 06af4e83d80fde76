import { expect, it } from 'vitest';
import { ResponseCache } from '../../gateway/cache/response-cache.ts';

it('a call is requested again only if its key is that of an earlier one', () => {
  const cache = new ResponseCache(1_000_000);
  for (let length = 1; length <= 40; length++) {
    for (let digit = 0; digit < 16; digit++) {
      const key = `${'x'.repeat(length)}${digit.toString(16)}"]`;
      expect([key, cache.isRequestedAgain(key), cache.isRequestedAgain(key)]).toEqual([key, false, true]);
    }
  }
  const long = `${'x'.repeat(100_000)}"]`;
  expect([cache.isRequestedAgain(long), cache.isRequestedAgain(long)]).toEqual([false, true]);
});
