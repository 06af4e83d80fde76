import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { ValueEnd } from '../../gateway/json/value-end.ts';
import { findStaleWasm } from '../../schemas/find-stale-wasm.ts';
import { Random } from '../fuzz/random.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { endDifferenceIn, randomJson, scans } from './fuzz-json.ts';

const forms = Object.values(scans);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** Position of the end of the value, in a text that arrives in two chunks. */
function endOf(text: string, at: number, scan = scans.withSimd): number {
  const bytes = Buffer.from(text);
  const end = new ValueEnd(0, scan);
  const first = end.find(bytes.subarray(0, at));
  if (first !== -1) return first;
  const second = end.find(bytes.subarray(at));
  return second === -1 ? -1 : at + second;
}

it.each([
  '{}',
  '[]',
  '""',
  '{"a":[{"b":"}]"},[]],"c":{}}',
  '["\\"","\\\\","\\\\\\"]","\\u005d"]',
  '"a text of more than thirty-two bytes, with \\"quotes\\" and a backslash at its end: \\\\"',
  '[1,-2.5e3,true,null,"ü}"]',
  `{"a":"${'b'.repeat(100)}\\"${'c['.repeat(100)}"}`,
  `{"a":"${'['.repeat(100)}","b":[${'{},'.repeat(40)}1,${'['.repeat(70)}${']'.repeat(70)}],"c":"${'\\\\'.repeat(100)}"}`,
])('the end of %s is found wherever its chunks begin', (value) => {
  const bytes = Buffer.byteLength(value);
  const text = `${value},"id":"]}"}`;
  for (const scan of forms)
    for (let at = 0; at <= Buffer.byteLength(text); at++) expect(endOf(text, at, scan), `at ${at}`).toBe(bytes);
});

it.each(['[', '{"a":"}', '[[1]', '"\\"', '["]\\"'])('%s has no end', (text) => {
  for (const scan of forms) for (let at = 0; at <= text.length; at++) expect(endOf(text, at, scan)).toBe(-1);
});

it('the end of random JSON, and of what is almost JSON, is found wherever its chunks begin', () => {
  const random = new Random(String(seed));
  for (let index = 0; index < propertyRuns(40_000); index++) {
    const bytes = randomJson(random);
    expect(endDifferenceIn(bytes, random), `SEED=${seed}: ${JSON.stringify(bytes.toString('latin1'))}`).toBeUndefined();
  }
});

it('a value of several hundred kilobytes in one chunk has its end', () => {
  const text = `[${'{"a":"}]"},'.repeat(30_000)}"\\""]`;
  for (const scan of forms) expect(endOf(`${text}}`, 0, scan)).toBe(text.length);
});

it.each([
  ['{', true],
  ['[', true],
  ['"', true],
  ['t', false],
  ['1', false],
  ['}', false],
])('a value that begins with %s has an end of its own: %s', (first, expected) => {
  expect(ValueEnd.isFoundFor(first.charCodeAt(0))).toBe(expected);
});

it('a change of wasm/value-end.ts is found without its compiler, by the SHA-256 that the module names', () => {
  const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');
  const readChanged = (path: string): string => read(path).replace('u8 = 34', 'u8 = 35');
  expect(findStaleWasm(read)).toEqual([]);
  expect(findStaleWasm(readChanged)).toEqual([
    'gateway/json/value-end.generated.ts is stale: run `npm run test:all -- wasm --write`',
  ]);
});
