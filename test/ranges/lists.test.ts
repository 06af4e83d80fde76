import { expect, it } from 'vitest';
import { bytesOf, countElements, elementsIn, joinLists } from '../../gateway/ranges/list-bytes.ts';
import { mergeLogs } from '../../gateway/normalise/results/merge-logs.ts';
import { jsonResponse } from '../../gateway/upstreams/transport/upstream-response.ts';

it.each([
  ['[]', ''],
  [' [ ] \n', ''],
  ['[1]', '1'],
  ['\n[ {"a":[1]} ,\t2 ] ', '{"a":[1]} ,\t2'],
])('the elements in %j', (list, elements) => {
  expect(elementsIn(Buffer.from(list))?.toString()).toBe(elements);
});

it.each([
  ['', 0],
  ['1', 1],
  [' {"a":[1,2]} , "," ,\n3 ', 3],
])('%j has %i elements', (elements, count) => {
  expect(countElements(Buffer.from(elements))).toBe(count);
});

it.each(['', 'null', '{}', '"[]"', '[', ']', '[1', '1]'])('%j is not a list', (text) => {
  expect(elementsIn(Buffer.from(text))).toBeUndefined();
});

it('joined lists have all elements in order, and share the bytes', () => {
  const lists = ['[1,2]', '[]', '[ 3 ]', '[]'].map((text) => Buffer.from(text));
  const elements = lists.map((list) => elementsIn(list) as Buffer);
  const { parts, parse } = joinLists(elements);
  expect(Buffer.concat(parts).toString()).toBe('[1,2,3]');
  expect(parse()).toEqual({ kind: 'result', result: [1, 2, 3] });
  expect(parts.map(({ buffer }) => buffer)).toContain(lists[0]?.buffer);
  expect(Buffer.concat(joinLists([]).parts).toString()).toBe('[]');
});

it('reads the bytes of each kind of response', () => {
  const large = jsonResponse('[1]');
  expect(bytesOf(large)).toBe(large.parts[0]);
  expect(bytesOf({ kind: 'cached', result: '[2]' }).toString()).toBe('[2]');
  expect(bytesOf({ kind: 'result', result: [3] }).toString()).toBe('[3]');
  expect(bytesOf({ kind: 'result', result: [3], text: '[ 3 ]' }).toString()).toBe('[ 3 ]');
});

const log = (block: number, index: number): string =>
  `{"blockNumber":"0x${block.toString(16)}","data":"0x","logIndex":"0x${index.toString(16)}"}`;

it('merges logs in the order of the chain', async () => {
  const one = Buffer.from(`[${log(9, 0)},${log(9, 17)},${log(16, 1)}]`);
  const other = Buffer.from(` [${log(9, 2)} , ${log(16, 0)},${log(256, 0)}]`);
  const merged = [log(9, 0), log(9, 2), log(9, 17), log(16, 0), log(16, 1), log(256, 0)];
  expect((await mergeLogs([one, Buffer.from('[]'), other], 'key'))?.toString()).toBe(merged.join());
});

it('gives way to other work while it merges many logs', async () => {
  const list = Buffer.from(`[${Array.from({ length: 100_000 }, (_, at) => log(100_000 - at, 0)).join()}]`);
  let turns = 0;
  const count = (): unknown => (turns++, (timer = setImmediate(count)));
  let timer = setImmediate(count);
  const merged = await mergeLogs([list], 'key');
  clearImmediate(timer);
  expect(merged?.toString().startsWith(log(1, 0))).toBe(true);
  expect(turns).toBeGreaterThan(0);
});

it.each(['{}', '[1]', '[{"blockNumber":"0x1"}]', '[{"blockNumber":"0x1","logIndex":""}]', '[{"blockNumber":'])(
  'does not merge %s',
  async (text) => {
    expect(await mergeLogs([Buffer.from(`[${log(1, 1)}]`), Buffer.from(text)], 'key')).toBeUndefined();
  },
);
