import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largeBlock } from '../../bench/large-block.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { FlowingBlock, isWholeBlock } from '../../gateway/normalise/results/flowing-block.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { UpstreamFailure } from '../../gateway/upstreams/transport/upstream-response.ts';
import { positions, propertyRuns } from '../support/property-runs.ts';

const spec = methods.find(({ name }) => name === 'eth_getBlockByNumber') ?? expect.fail();
const params = ['0x10', true];

interface Read {
  /** `collected`: the first chunk shows that the block must be collected. */
  readonly failure?: string;
  readonly text?: string;
  /** Hashes of the transactions. */
  readonly hashes?: readonly string[];
}

/** What a caller gets of a block that flows in chunks. */
function flow(chunks: readonly Buffer[], isUsable = true): Read {
  const passed: Buffer[] = [];
  const hashes: string[] = [];
  const block = new FlowingBlock(
    spec,
    params,
    () => isUsable,
    (_, found) => hashes.push(...found),
  );
  for (const [index, chunk] of chunks.entries()) {
    try {
      const end = block.read(chunk, passed);
      if (end === -1) continue;
      const rest = Buffer.concat([chunk.subarray(end), ...chunks.slice(index + 1)]).toString();
      return rest.trim() === '' ? { text: Buffer.concat(passed).toString(), hashes } : { failure: 'malformed' };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { failure: index === 0 ? 'collected' : error.failure };
    }
  }
  return { failure: 'malformed' };
}

/** What a caller gets of the same block as a whole. */
function collect(text: string): Read {
  let result: unknown;
  try {
    result = JSON.parse(text);
  } catch {
    return { failure: 'malformed' };
  }
  const outcome = normalise(spec, params, { kind: 'result', result, text });
  if (!outcome.final) return { failure: outcome.failure };
  return outcome.response.kind === 'result' ? { text: JSON.stringify(outcome.response.result) } : expect.fail();
}

/** @returns whether the block flowed */
function compare(text: string, chunks: readonly Buffer[]): boolean {
  const flowed = flow(chunks);
  if (flowed.failure === 'collected') return false;
  const collected = collect(text);
  if (flowed.text === undefined || collected.text === undefined) {
    expect(flowed.text).toBe(collected.text);
    return true;
  }
  const block = JSON.parse(flowed.text) as { transactions: { hash?: string }[] };
  expect(block).toEqual(JSON.parse(collected.text));
  expect(flowed.hashes).toEqual(block.transactions.flatMap(({ hash }) => (hash?.length === 66 ? hash : [])));
  return true;
}

function splitAt(bytes: Buffer, ...positions: readonly number[]): Buffer[] {
  const ends = [...positions].sort((a, b) => a - b).concat(bytes.length);
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

const { transactions: all, ...header } = largeBlock;
const [transaction = expect.fail()] = all;
const { size, uncles, ...early } = header;
const withdrawal = { index: '0x1', validatorIndex: '0x2', address: transaction.from, amount: '0x3' };
const two = [transaction, { ...transaction, nonce: '0x2' }];
const samples: [name: string, block: object][] = [
  ['a block without totalDifficulty', { ...header, transactions: two }],
  [
    'a block with fields after its transactions',
    { ...early, transactions: two, size, uncles, withdrawals: [withdrawal] },
  ],
  ['a block without transactions', { ...early, transactions: [], size, uncles }],
  [
    'fields to complete',
    { ...early, transactions: two, size: '0x01', uncles, withdrawals: [{ ...withdrawal, amount: 3 }] },
  ],
  [
    'transactions to complete',
    {
      ...header,
      transactions: [
        { ...transaction, to: '' },
        { ...transaction, value: 1 },
      ],
    },
  ],
  ['a rounded quantity', { ...header, transactions: [{ ...transaction, value: 'EXACT' }], totalDifficulty: 'EXACT' }],
  ['a block with withdrawals before its transactions', { ...header, withdrawals: [withdrawal], transactions: two }],
  ['hashes', { ...header, transactions: [transaction.hash] }],
  [
    'unknown fields',
    { ...header, l1Fee: '}]', transactions: [{ ...transaction, note: '\\"]}' }], extra: { a: ['"'] } },
  ],
];

describe.each(samples)('%s', (_, block) => {
  const text = JSON.stringify(block).replaceAll('"EXACT"', '90071992547409931');
  const bytes = Buffer.from(text);
  const start = text.indexOf('"transactions":') + '"transactions":['.length;

  it('is checked in chunks as it is as a whole', () => {
    // The first chunk may show that the block must be collected.
    expect(compare(text, splitAt(bytes, start))).toBe(true);
    for (const at of positions(start, bytes.length)) compare(text, splitAt(bytes, at));
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (positions) => {
        compare(text, splitAt(bytes, start, ...positions.filter((at) => at > start)));
      }),
      { seed: 38, numRuns: propertyRuns(50) },
    );
  });

  it('is checked as a whole after any change of one byte', () => {
    const change = fc.constantFrom(...Array.from('"{}[]:,\\0a \u0001'));
    let flowed = 0;
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), change, fc.nat(bytes.length), (at, byte, end) => {
        const changed = Buffer.from(bytes);
        changed[at] = byte.charCodeAt(0);
        compare(changed.toString(), splitAt(changed, end));
        if (compare(changed.toString(), splitAt(changed, start, Math.max(start, end)))) flowed++;
      }),
      { seed: 38, numRuns: propertyRuns(300) },
    );
    expect(flowed).toBeGreaterThan(0);
  });
});

it.each([
  ['is another one', { ...header, number: '0x11', transactions: two }],
  ['has its number after the transactions', { hash: header.hash, transactions: two, number: '0x10' }],
  ['has a padded quantity before its transactions', { ...header, gasUsed: '0x01', transactions: two }],
  [
    'has a number in withdrawals before its transactions',
    { ...header, withdrawals: [{ ...withdrawal, amount: 3 }], transactions: two },
  ],
  ['is null', null],
])('a block that %s is collected', (_, block) => {
  expect(flow([Buffer.from(JSON.stringify(block))])).toEqual({ failure: 'collected' });
});

it('a block that is older than a served one is collected', () => {
  expect(flow([Buffer.from(JSON.stringify(largeBlock))], false)).toEqual({ failure: 'collected' });
});

it('the missing field follows the bytes of the upstream', () => {
  const text = JSON.stringify(largeBlock);
  expect(flow(splitAt(Buffer.from(text), 32_768)).text).toBe(`${text.slice(0, -1)},"totalDifficulty":null}`);
});

it('a field after the transactions that was there before is an upstream failure', () => {
  const text = JSON.stringify({ ...header, transactions: two }).replace(/}$/, ',"hash":"0x1"}');
  expect(flow(splitAt(Buffer.from(text), text.indexOf('[{') + 5)).failure).toBe('malformed');
});

it('a field after the transactions that JSON.stringify would move is an upstream failure', () => {
  const text = JSON.stringify({ ...header, transactions: two }).replace(/}$/, ',"7":1}');
  expect(flow(splitAt(Buffer.from(text), text.indexOf('[{') + 5)).failure).toBe('malformed');
});

it('a block with bytes before its transactions that are not UTF-8 is collected', () => {
  const bytes = Buffer.from(JSON.stringify({ note: '~', ...header, totalDifficulty: '0x1', transactions: two }));
  const start = bytes.indexOf('[{') + 5;
  expect(flow(splitAt(bytes, start)).text).toBe(bytes.toString());
  bytes[bytes.indexOf('~')] = 0xff;
  expect(flow(splitAt(bytes, start)).failure).toBe('collected');
});

it('only a block with whole transactions flows', () => {
  expect(
    [
      ['0x10', true],
      ['0x10', false],
      ['pending', true],
      ['latest', true],
    ].map((one) => isWholeBlock(spec, one)),
  ).toEqual([true, false, false, true]);
});
