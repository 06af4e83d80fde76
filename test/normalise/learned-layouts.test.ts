import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largeBlock } from '../../bench/large-block.ts';
import { checkResultBytes } from '../../gateway/normalise/results/check-result-bytes.ts';
import { Layouts } from '../../gateway/normalise/results/layout.ts';
import { passThrough, type MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { jsonResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import { propertyRuns } from '../support/property-runs.ts';

/** An object whose members keep their order and may be there twice. Names are JSON text. */
class Members {
  readonly list: [name: string, value: unknown][];

  constructor(object: object) {
    this.list = Object.entries(object).map(([name, value]) => [JSON.stringify(name), membersOf(value)]);
  }
}

function membersOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(membersOf);
  return typeof value === 'object' && value !== null ? new Members(value) : value;
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  return value instanceof Members
    ? `{${value.list.map(([name, one]) => `${name}:${write(one)}`).join(',')}}`
    : JSON.stringify(value);
}

function objectsIn(value: unknown): Members[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return value instanceof Members ? [value, ...value.list.flatMap(([, one]) => objectsIn(one))] : [];
}

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const address = `0x${'3'.repeat(40)}`;
const [transaction] = largeBlock.transactions;
const legacy = Object.fromEntries(Object.entries({ ...transaction }).filter(([name]) => !/^max|^access|^y/.test(name)));
const transactions = [
  ...[transaction, { ...legacy, type: '0x0', to: null, input: '0x' }, { ...legacy, type: '0x0' }, transaction],
  { ...transaction, accessList: [{ address, storageKeys: [hash('2'), hash('3')] }] },
];
const log = {
  ...{ address, topics: [hash('7'), hash('8')], data: hash('9'), blockNumber: '0x10', blockHash: hash('a') },
  ...{ transactionHash: hash('c'), transactionIndex: '0x1', logIndex: '0x0', removed: false },
};
const step = { pc: 0, op: 'PUSH1', stack: ['0x1'], error: null, storage: { a: 'b' } };

const tracing = passThrough('debug_traceTransaction');
const specOf = (name: string) => methods.find((method) => method.name === name) ?? tracing;

/** The result as it is passed on; undefined: it must be parsed as a whole. */
function passedOf(spec: MethodSpec, params: readonly unknown[], json: string, layouts: Layouts): string | undefined {
  const response = checkResultBytes(spec, params, jsonResponse(json), layouts)?.response;
  return response?.kind === 'large' ? Buffer.concat(response.parts).toString() : undefined;
}

const samples: [name: string, method: string, params: unknown[], result: object][] = [
  ['a block', 'eth_getBlockByHash', [hash('a'), true], { ...largeBlock, transactions }],
  ['a block with hashes', 'eth_getBlockByHash', [hash('a'), false], { ...largeBlock, transactions: [hash('c')] }],
  ['logs', 'eth_getLogs', [{ blockHash: hash('a') }], [log, log, { ...log, topics: [] }]],
  ['a trace', tracing.name, [], { gas: 21_000, failed: false, structLogs: [step, step, { ...step, memory: [] }] }],
];

describe.each(samples)('with layouts learned from %s', (_, method, params, result) => {
  const spec = specOf(method);
  const text = JSON.stringify(result);
  const check = (json: string, layouts: Layouts): string | undefined => passedOf(spec, params, json, layouts);
  const learned = new Layouts();
  check(text, learned);

  /** Expects what a check without any layout finds. @returns whether the result did not need parsing */
  function compare(json: string, layouts = learned): boolean {
    const found = check(json, layouts);
    expect(found, json).toBe(check(json, new Layouts(0)));
    if (found !== undefined) JSON.parse(found);
    return found !== undefined;
  }

  it('the same result passes', () => {
    expect(compare(text)).toBe(true);
    const spaced = text.replaceAll(':', ' : ');
    for (const json of [spaced, spaced, text]) expect(compare(json)).toBe(true);
  });

  it('a result that ends early must be parsed', () => {
    for (let end = 0; end < text.length; end += 1 + Math.floor(text.length / 500)) {
      expect(compare(text.slice(0, end))).toBe(false);
    }
  });

  it('a result with removed, added or replaced bytes is checked as without layouts', () => {
    const bytes = fc.constantFrom('', '"', '\\', ',', ':', '{', '}', '[', ']', '0', 'n', 'N', ' ', '\n', '\0', 'é');
    const change = fc.tuple(fc.nat(text.length - 1), fc.constantFrom(0, 1, 2), bytes);
    let passed = 0;
    const numRuns = propertyRuns(600);
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
        let changed = text;
        for (const [at, removed, added] of changes)
          changed = changed.slice(0, at) + added + changed.slice(at + removed);
        if (compare(changed)) passed++;
      }),
      { numRuns },
    );
    expect(passed).toBeGreaterThan(numRuns / 40);
  });

  it('a result with changed members is checked as without layouts', () => {
    const values = [null, 7, -1.5, '', '0x', '0x0', '0x07', hash('0'), hash('b'), [], {}, [{}], [null], 'a"b', true];
    const names = ['"hash"', '"Hash"', '"to"', '"root"', '"chainID"', '"blockHash"', '""', '"data"', '"h\\u0061sh"'];
    const name = fc.constantFrom(...names, '"transactions"', '"é"', 'hash', "'to'");
    const change = fc.record({
      ...{ object: fc.nat(), from: fc.nat(), to: fc.nat(), name, value: fc.constantFrom<unknown>(...values) },
      kind: fc.constantFrom('remove', 'double', 'move', 'rename', 'retype', 'add'),
    });
    let passed = 0;
    const relearned = new Layouts();
    const numRuns = propertyRuns(400);
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const root = membersOf(result);
        for (const { object, from, to, name, value, kind } of changes) {
          const objects = objectsIn(root);
          const list = objects[object % objects.length]?.list ?? [];
          const [one] = list.splice(from % list.length, kind === 'double' || kind === 'add' ? 0 : 1);
          const place = to % (list.length + 1);
          if (kind === 'double') list.splice(place, 0, list[from % list.length] ?? [name, value]);
          if (kind === 'add') list.splice(place, 0, [name, value]);
          if (one === undefined) continue;
          if (kind === 'move') list.splice(place, 0, one);
          if (kind === 'rename') list.splice(from % (list.length + 1), 0, [name, one[1]]);
          if (kind === 'retype') list.splice(from % (list.length + 1), 0, [one[0], membersOf(value)]);
        }
        const changed = write(root);
        // Whatever a changed result teaches, the next check does not depend on it.
        if (compare(changed, relearned)) passed++;
        compare(changed, learned);
        expect(compare(text, relearned)).toBe(true);
      }),
      { numRuns },
    );
    expect(passed).toBeGreaterThan(numRuns / 40);
  });
});

it('learned layouts are forgotten before they take much memory', () => {
  const layouts = new Layouts(100);
  for (let round = 0; round < 50; round++) {
    const object = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${round} ${index}`, '0x']));
    expect(passedOf(tracing, [], JSON.stringify([object]), layouts)).toBeDefined();
    expect(countLearned(layouts.of(tracing))).toBeLessThanOrEqual(100);
  }
});

function countLearned(layout: ReturnType<Layouts['of']>): number {
  return layout.next.reduce((sum, next) => sum + 1 + countLearned(next), 0);
}
