import { describe, expect, it } from 'vitest';
import { JsonReader, NotJson, type JsonReaderOptions } from '../../gateway/json/json-reader.ts';
import { Random } from '../fuzz/random.ts';
import { differenceIn, randomJson } from './fuzz-json.ts';
import { propertyRuns } from '../support/property-runs.ts';

/** `npm run test:all -- fuzz-json` reads millions. */
const INPUTS = propertyRuns(40_000);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** The position of the first error; undefined: the bytes are one JSON value. */
function errorIn(text: string, options?: JsonReaderOptions): number | undefined {
  const reader = new JsonReader(Buffer.from(text), options);
  try {
    reader.skipSpace();
    reader.skipValue();
    reader.skipSpace();
    return reader.at < reader.bytes.length ? reader.at : undefined;
  } catch (error) {
    if (error instanceof NotJson) return error.at;
    throw error;
  }
}

describe('the reader of JSON bytes', () => {
  it(`agrees with JSON.parse about the verdict, the value and the positions (seed ${seed})`, () => {
    const random = new Random(String(seed));
    let valid = 0;
    for (let index = 0; index < INPUTS; index++) {
      const bytes = randomJson(random);
      const difference = differenceIn(bytes);
      if (difference !== undefined)
        expect.fail(`input ${index} of seed ${seed}: ${difference}: ${JSON.stringify(bytes.toString())}`);
      if (errorIn(bytes.toString('latin1'), { maxDepth: Infinity }) === undefined) valid++;
    }
    expect(valid / INPUTS).toBeGreaterThan(0.3);
    expect(valid / INPUTS).toBeLessThan(0.8);
  });

  it.each([
    ['', 0],
    [' ', 1],
    ['nul', 3],
    ['nulll', 4],
    ['nulx', 3],
    ['True', 0],
    ['01', 1],
    ['1.', 2],
    ['.5', 0],
    ['+1', 0],
    ['1e', 2],
    ['-', 1],
    ['-a', 1],
    ['"', 1],
    ['"a\\"', 4],
    ['"\\x"', 2],
    ['"\\u00g0"', 5],
    ['"a\nb"', 2],
    ['{', 1],
    ['{"a"}', 4],
    ['{"a":}', 5],
    ['{"a":1,}', 7],
    ['{,}', 1],
    ['{a:1}', 1],
    ['[', 1],
    ['[1', 2],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['[1}', 2],
    ['{"a":1]', 6],
    ['1 1', 2],
    ['\ufeff1', 0],
  ])('finds the error in %j at %i', (text, at) => {
    expect(errorIn(text)).toBe(at);
  });

  it('has a limit of depth, and no stack that could overflow', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect([errorIn(nested(100)), errorIn(nested(101))]).toEqual([undefined, 100]);
    expect(errorIn(nested(200_000), { maxDepth: Infinity })).toBeUndefined();
  });

  it('gives the positions of names, values and elements', () => {
    const bytes = Buffer.from(' {"id" : 1 ,"é":[{"a":"}"}, null]} ');
    const reader = new JsonReader(bytes);
    const seen: string[] = [];
    const skip = (name: string): void => {
      const start = reader.at;
      reader.skipValue();
      seen.push(`${name} ${bytes.toString('utf8', start, reader.at)}`);
    };
    reader.skipSpace();
    reader.enterObject();
    while (reader.nextMember()) {
      const name = bytes.toString('utf8', reader.nameStart, reader.nameEnd);
      if (!reader.isAtArray) {
        skip(name);
        continue;
      }
      reader.enterArray();
      while (reader.nextElement()) skip(name);
    }
    expect(seen).toEqual(['id 1', 'é {"a":"}"}', 'é null']);
  });
});
