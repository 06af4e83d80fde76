import { expect, it } from 'vitest';
import { RangeLimits } from '../../gateway/ranges/range-limits.ts';

const [one, other] = [{}, {}];

it('an unknown upstream allows any range', () => {
  const limits = new RangeLimits<object>();
  expect(limits.isEmpty).toBe(true);
  expect(limits.widestFor(one, 'a', 0)).toBe(Infinity);
});

it('a refused range limits all filters of its upstream', () => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', 'range', 50_000, 0);
  limits.recordRefused(one, 'a', 'range', 2_001, 1);
  limits.recordRefused(one, 'a', 'range', 20_000, 2);
  expect(limits.widestFor(one, 'a', 3)).toBe(2_000);
  expect(limits.widestFor(one, 'b', 3)).toBe(2_000);
  expect(limits.widestFor(other, 'a', 3)).toBe(Infinity);
});

it('a refused result limits its filter only', () => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', 'results', 10_000, 0);
  expect(limits.widestFor(one, 'a', 1)).toBe(5_000);
  expect(limits.widestFor(one, 'b', 1)).toBe(Infinity);
});

it('a limit ends after ten minutes', () => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', 'range', 10_000, 0);
  expect(limits.widestFor(one, 'a', 599_999)).toBe(5_000);
  expect(limits.widestFor(one, 'a', 600_000)).toBe(Infinity);
});

it.each(['none', 'addresses'] as const)('a refusal of the kind %s says nothing about ranges', (kind) => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', kind, 10_000, 0);
  expect(limits.isEmpty).toBe(true);
});

it('a single block is always allowed', () => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', 'range', 2, 0);
  limits.recordRefused(one, 'a', 'range', 1, 0);
  expect(limits.widestFor(one, 'a', 1)).toBe(1);
});

it('parts become wider where results are far smaller than before', () => {
  const limits = new RangeLimits<object>();
  limits.recordRefused(one, 'a', 'results', 5_000, 0);
  limits.recordReturned(one, 'a', 2_000, 1_000_000);
  expect(limits.widestFor(one, 'a', 1)).toBe(2_000);
  limits.recordReturned(one, 'a', 2_000, 400_001);
  expect(limits.widestFor(one, 'a', 1)).toBe(2_000);
  limits.recordReturned(one, 'a', 100, 10);
  expect(limits.widestFor(one, 'a', 1), 'by a narrow part').toBe(2_000);
  limits.recordReturned(one, 'a', 2_000, 399_999);
  expect(limits.widestFor(one, 'a', 1)).toBe(5_000);
});

it('are settled when a range is returned', () => {
  const limits = new RangeLimits<object>();
  expect(limits.isSettled).toBe(true);
  limits.recordRefused(one, 'a', 'range', 5_000, 0);
  expect(limits.isSettled).toBe(false);
  limits.recordReturned(one, 'a', 2_000, 10);
  expect(limits.isSettled).toBe(true);
});
