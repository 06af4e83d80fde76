import { expect, it } from 'vitest';
import { exceeds } from '../../gateway/json/nesting.ts';

it.each([
  ['["[[[\\"[[["]', { depth: 1, values: 100 }, false],
  ['[{"a":[1]}]', { depth: 2, values: 100 }, true],
  ['[[],[],[]]', { depth: 2, values: 100 }, false],
  ['[[],[],[]]', { depth: 2, values: 3 }, false],
  ['[[],[],[]]', { depth: 2, values: 2 }, true],
  ['{"a":[1,2]}', { depth: 2, values: 3 }, false],
  ['{"a":[1,2]}', { depth: 2, values: 2 }, true],
  [`["${'\\\\"'.repeat(3)}\\\\"[["]`, { depth: 2, values: 100 }, false],
  ['"unterminated [[[', { depth: 1, values: 100 }, false],
  [']]]][1,2,3', { depth: 2, values: 2 }, false],
  [' [1,2,3', { depth: 2, values: 3 }, false],
  [' [1,2,3', { depth: 2, values: 2 }, true],
  [`{"${'k'.repeat(1_100)}" :1}`, { depth: 1, values: 100, nameBytes: 1_024 }, true],
  [`["${'k'.repeat(1_100)}"]`, { depth: 1, values: 100, nameBytes: 1_024 }, false],
  [`{"${'k'.repeat(1_000)}":"${'v'.repeat(1_100)}"}`, { depth: 1, values: 100, nameBytes: 1_024 }, false],
  ['"a long text, with a comma after more than twenty characters"', { depth: 1, values: 0 }, false],
])('%s with the limits %j: %s', (text, limits, expected) => {
  expect(exceeds(Buffer.from(text), limits)).toBe(expected);
});
