import { expect, it } from 'vitest';

it('is written next', () => {
  expect(1).toBe(1);
});
