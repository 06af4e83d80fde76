import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TextSearch } from '../../gateway/jsonrpc/text-search.ts';

/** Few characters, so that parts of the texts are frequent. */
const textOf = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('0', '1', 'a', 'B'), minLength, maxLength });
const texts = fc.array(textOf(7, 20), { minLength: 1, maxLength: 3 });

it('finds each text at each position of bytes that begin at any address', () => {
  fc.assert(
    fc.property(
      texts,
      textOf(0, 40),
      textOf(0, 40),
      fc.nat(3),
      fc.boolean(),
      (all, before, after, address, isUpper) => {
        const [first = ''] = all;
        const bytes = Buffer.from(`${'x'.repeat(address)}${before}${isUpper ? first.toUpperCase() : first}${after}`);
        expect(new TextSearch(all).isIn(bytes.subarray(address))).toBe(true);
      },
    ),
  );
});

it('finds nothing else, in any case', () => {
  fc.assert(
    fc.property(texts, textOf(0, 200), (all, text) => {
      const found = all.some((each) => text.toLowerCase().includes(each.toLowerCase()));
      expect(new TextSearch(all).isIn(Buffer.from(text))).toBe(found);
    }),
    { numRuns: 500 },
  );
});

it('reads nothing beyond short bytes', () => {
  const search = new TextSearch(['abcdefg']);
  const bytes = Buffer.from('..abcdefg..');
  expect(search.isIn(bytes.subarray(2, 9))).toBe(true);
  for (let end = 2; end < 9; end++) expect(search.isIn(bytes.subarray(2, end))).toBe(false);
});
