import { expect, it } from 'vitest';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { passThrough } from '../../gateway/spec/method-spec.ts';
import { cpuTimeOf } from '../support/cpu-time.ts';

const method = passThrough('eth_call');
/** Length of the longest message that is not cut, and a sixteenth of it. */
const LONG = 4_000;
const SHORT = LONG / 16;
const CHARS = 200_000;

/** The time for normalising so many characters in errors of this length, in ms. */
function timeOf(part: string, length: number): number {
  const message = part.repeat(Math.ceil(length / part.length)).slice(0, length);
  return cpuTimeOf(() => {
    for (let chars = 0; chars < CHARS; chars += length) {
      normalise(method, [], { kind: 'error', code: -32000, message, data: undefined });
    }
  });
}

/** With a quadratic pattern, 16 times the length costs 16 times the time for each character. */
it.each(['a-', 'a', 'a.', 'a+1', 'http:', '://', 'lookup ', '1.1.', 'err: ', 'a error: ', '"', '{', '\n ', '\n at'])(
  'the time for an error grows with its length, not with the square: %j',
  (part) => {
    timeOf(part, SHORT);
    // The best of three, measured in turn: a loaded machine is slow for some time.
    const times = [1, 2, 3].map(() => ({ long: timeOf(part, LONG), short: timeOf(part, SHORT) }));
    const [long, short] = [times.map((one) => one.long), times.map((one) => one.short)];
    expect(Math.min(...long) / Math.min(...short)).toBeLessThan(8);
  },
);

it.each([
  ['dial https://user:pw@host.example/path: refused', 'dial <url> refused'],
  ['a-b+c.d://x y', '<url> y'],
  ['(ws://a:1/b)', '(<url>)'],
  ['://x', '://x'],
  ['boom\n    at connect (/srv/node/index.js:3:7)\n    at next', 'boom'],
  ['one\ntwo at three', 'one\ntwo at three'],
])('addresses and stacks in %j are removed', (message, shown) => {
  const { response } = normalise(method, [], { kind: 'error', code: -32000, message, data: undefined });
  expect(response).toMatchObject({ message: shown });
});
