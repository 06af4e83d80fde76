import { expect, it } from 'vitest';
import { callText, RecentEvents, responseText } from '../../../bench/soak/recent-events.ts';

const hash = `0x${'ab'.repeat(32)}`;

it('recent events show at most 200, oldest first, with changes that are older than all shown exchanges', () => {
  const events = new RecentEvents();
  events.addChange('node 1: block 5', 1_000);
  for (let count = 0; count < 8_000; count++) events.addExchange(`call ${count}`, 2_000 + count);
  events.addChange('node 1: "reachable"', 9_000);
  const lines = events.describe(1_000).split('\n');
  expect(lines).toHaveLength(200);
  expect(lines[0]).toBe('    0.000 ** node 1: block 5');
  expect(lines[1]).toBe('    8.000 ** node 1: "reachable"');
  expect(lines[2]).toBe('    8.802 call 7802');
  expect(lines.at(-1)).toBe('    8.999 call 7999');
});

it('recent events show only exchanges with one of the given texts, and all changes', () => {
  const events = new RecentEvents();
  for (const text of ['one', 'two', 'three']) events.addExchange(text, 1);
  events.addChange('fault ends', 2);
  expect(events.describe(0, ['one', 'three']).split('\n')).toEqual([
    '    0.001 one',
    '    0.001 three',
    '    0.002 ** fault ends',
  ]);
});

it('calls and responses are shown by their block, with short hashes', () => {
  expect(callText('eth_getBlockByHash', [hash, false])).toBe('eth_getBlockByHash ["0xabababab…ababab",false]');
  expect(responseText({ result: { number: '0x10', hash } })).toBe('block 16 0xabababab');
  expect(responseText({ result: hash })).toBe('"0xabababab…ababab"');
  expect(responseText({ result: null })).toBe('null');
  expect(responseText({ error: { code: -32603, message: 'no' } })).toBe('{"code":-32603,"message":"no"}');
});
