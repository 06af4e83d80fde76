import { expect, it } from 'vitest';
import { ValueEnd } from '../../gateway/json/value-end.ts';

/** Where the value ends, in a text that arrives in two chunks. */
function endOf(text: string, at: number): number {
  const bytes = Buffer.from(text);
  const end = new ValueEnd();
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
])('the end of %s is found wherever its chunks begin', (value) => {
  const bytes = Buffer.byteLength(value);
  const text = `${value},"id":"]}"}`;
  for (let at = 0; at <= Buffer.byteLength(text); at++) expect(endOf(text, at), `at ${at}`).toBe(bytes);
});

it.each(['[', '{"a":"}', '[[1]', '"\\"', '["]\\"'])('%s has no end', (text) => {
  for (let at = 0; at <= text.length; at++) expect(endOf(text, at)).toBe(-1);
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
