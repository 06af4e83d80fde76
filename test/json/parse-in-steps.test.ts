import { describe, expect, it } from 'vitest';
import { OwnedSteps } from '../../gateway/event-loop/owned-steps.ts';
import { TurnBudget } from '../../gateway/event-loop/turn-budget.ts';
import { parseInSteps } from '../../gateway/json/parse-in-steps.ts';

const element = { text: 'ü"\\', list: [1, 'x', { a: null }], number: '0x1' };
const list = Array.from({ length: 4_000 }, () => element);

/** Parser that does not rest for what other tests of this process have used. */
const parse = (text: string): Promise<unknown> =>
  parseInSteps(Buffer.from(text), new OwnedSteps('test', new TurnBudget()), { depth: 100, values: 1_000_000 });

describe('a result that is parsed in steps', () => {
  it.each([
    ['a list', list],
    ['an object with a list', { hash: '0x1', transactions: list, uncles: [], 'ü"': 1 }],
    ['an object with an object', { inner: { transactions: list } }],
    ['a text', 'x'.repeat(200_000)],
    ['a short result', { a: 1 }],
  ])('is that of JSON.parse: %s', async (_, value) => {
    expect(await parse(JSON.stringify(value))).toEqual(value);
    expect(await parse(JSON.stringify(value, undefined, 1))).toEqual(value);
  });
});
