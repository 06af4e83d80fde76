import { expect, it } from 'vitest';
import { outcomeClassOf } from '../../gateway/metrics/outcome-class.ts';

it.each([
  ['result', 'served'],
  ['revert', 'served'],
  ['upstream-error', 'upstream-error'],
  ['rate-limit', 'rejected'],
  ['invalid-params', 'rejected'],
  ['no-upstream', 'failed'],
  ['node-state', 'failed'],
  ['not-proven', 'failed'],
  ['incomplete', 'failed'],
])('the outcome %s is %s', (outcome, outcomeClass) => {
  expect(outcomeClassOf(outcome)).toBe(outcomeClass);
});
