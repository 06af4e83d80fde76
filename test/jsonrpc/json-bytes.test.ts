import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfValue, NotJson, skipSpace, walkArray, walkObject } from '../../gateway/jsonrpc/json-bytes.ts';

/** Whether the bytes are one JSON value and nothing else. */
function isJson(text: string): boolean {
  const bytes = Buffer.from(text);
  try {
    return skipSpace(bytes, endOfValue(bytes, skipSpace(bytes, 0))) === bytes.length;
  } catch (error) {
    if (error instanceof NotJson) return false;
    throw error;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The text with one character removed, inserted or changed. */
const broken = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '0', '-', 'e', '\\', 'x'),
  )
  .map(([json, place, character]) => {
    const at = place % (json.length + 1);
    return place % 2 === 0
      ? json.slice(0, at) + character + json.slice(at)
      : json.slice(0, at) + character + json.slice(at + 1);
  });

describe('a walk through bytes', () => {
  it('ends where the value ends, for all JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom('', ' ', '\n\t', ','), (json, after) => {
        const bytes = Buffer.from(json + after);
        expect(endOfValue(bytes, 0)).toBe(Buffer.byteLength(json));
      }),
    );
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => isJson(JSON.stringify(value, null, 3))));
  });

  it('rejects the same texts as JSON.parse, except for characters in strings', () => {
    fc.assert(
      fc.property(broken, (text) => {
        // Backslashes and line breaks in strings are not checked.
        fc.pre(!text.includes('\\'));
        expect([text, isJson(text)]).toEqual([text, parses(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '',
    ' ',
    'nul',
    'nulll',
    'True',
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '-',
    '"',
    '"a',
    '"a\\"',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{a:1}',
    '[',
    '[1',
    '[1,]',
    '[,]',
    '[1 2]',
    '[1}',
    '{"a":1]',
    '1 1',
    '{}{}',
    'undefined',
    'NaN',
    '['.repeat(5_000),
  ])('%j is not JSON', (text) => {
    expect(isJson(text)).toBe(false);
  });

  it.each(['"\\\\"', '"\\\\\\""', '{"a\\"":"\\\\"}', '-0', '1e5', '1E+5', '0.5', ' { } ', '[ ]', '"é"', '[[[[]]]]'])(
    '%s is JSON',
    (text) => {
      expect(isJson(text)).toBe(true);
    },
  );
});

it('callbacks get the positions of names, values and elements', () => {
  const bytes = Buffer.from('{"id" : 1 ,"é":[{"a":"}"}, null]}');
  const seen: string[] = [];
  walkObject(bytes, 0, (_, nameStart, nameEnd, valueStart, depth) => {
    const name = bytes.toString('utf8', nameStart, nameEnd);
    const logEntry = (at: number): number => {
      const end = endOfValue(bytes, at, depth);
      seen.push(`${name} ${bytes.toString('utf8', at, end)}`);
      return end;
    };
    return name === 'id' ? logEntry(valueStart) : walkArray(bytes, valueStart, (_bytes, at) => logEntry(at), depth);
  });
  expect(seen).toEqual(['id 1', 'é {"a":"}"}', 'é null']);
});
