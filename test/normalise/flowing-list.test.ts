import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largeBlock } from '../../bench/large-block.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { FlowingList, listElementsOf } from '../../gateway/normalise/results/flowing-list.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { parseResponse, UpstreamFailure } from '../../gateway/upstreams/transport/upstream-response.ts';
import { positions, propertyRuns } from '../support/property-runs.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const log = {
  ...{ address: `0x${'3'.repeat(40)}`, topics: [hash('7'), hash('8')], data: hash('9'), blockNumber: '0x10' },
  ...{ blockHash: hash('a'), transactionHash: hash('c'), transactionIndex: '0x1', logIndex: '0x0', removed: false },
};
const receipt = {
  ...{ blockHash: hash('a'), blockNumber: '0x10', contractAddress: null, cumulativeGasUsed: '0x5208' },
  ...{
    effectiveGasPrice: '0x1',
    from: log.address,
    gasUsed: '0x5208',
    logs: [log],
    logsBloom: `0x${'00'.repeat(256)}`,
  },
  ...{ status: '0x1', to: log.address, transactionHash: hash('c'), transactionIndex: '0x0', type: '0x2' },
};
const specOf = (name: string) => methods.find((method) => method.name === name) ?? expect.fail(name);

interface Read {
  /** Text of the response; undefined: it failed. */
  readonly text: string | undefined;
  readonly failure?: string;
  /** Whether another upstream is asked for logs in order. Those that flow keep their order. */
  readonly isIrregular?: boolean;
}

/** What a caller gets of a result that flows in chunks. */
function flow(method: string, params: readonly unknown[], chunks: readonly Buffer[]): Read {
  const list = new FlowingList(listElementsOf(specOf(method), params));
  const passed: Buffer[] = [];
  try {
    for (const [index, chunk] of chunks.entries()) {
      const end = list.read(chunk, passed);
      if (end === -1) continue;
      const rest = Buffer.concat([chunk.subarray(end), ...chunks.slice(index + 1)]).toString();
      return rest.trim() === ''
        ? { text: Buffer.concat(passed).toString() }
        : { text: undefined, failure: 'malformed' };
    }
    return { text: undefined, failure: 'malformed' };
  } catch (error) {
    if (error instanceof UpstreamFailure) return { text: undefined, failure: error.failure };
    throw error;
  }
}

/** What a caller gets of the same result as a whole. */
function collect(method: string, params: readonly unknown[], text: string): Read {
  let result: unknown;
  try {
    result = JSON.parse(text);
  } catch {
    return { text: undefined, failure: 'malformed' };
  }
  const outcome = normalise(specOf(method), params, { kind: 'result', result, text });
  const response = outcome.response && parseResponse(outcome.response);
  const isIrregular = !outcome.final && outcome.failure === 'unknown';
  if (!outcome.final && !isIrregular) return { text: undefined, failure: outcome.failure };
  return response?.kind === 'result' ? { text: JSON.stringify(response.result), isIrregular } : expect.fail();
}

/** The elements of a list, each once, in an order of their own. */
function elementsOf(text: string | undefined): string[] {
  const list = JSON.parse(text ?? expect.fail('the list did not flow')) as unknown[];
  return [...new Set(list.map((element) => JSON.stringify(element)))].sort();
}

function compare(method: string, params: readonly unknown[], text: string, chunks: readonly Buffer[]): void {
  const [flowed, collected] = [flow(method, params, chunks), collect(method, params, text)];
  // Before its first byte a result that does not flow is collected.
  if (collected.text === 'null' || !text.trimStart().startsWith('[')) expect(flowed.text).toBeUndefined();
  else if (collected.isIrregular === true) expect(elementsOf(flowed.text)).toEqual(elementsOf(collected.text));
  else {
    // A later part of the result may be no JSON.
    if (collected.failure !== 'malformed') expect(flowed.failure).toBe(collected.failure);
    expect(flowed.text && JSON.parse(flowed.text)).toEqual(collected.text && JSON.parse(collected.text));
  }
}

function splitAt(bytes: Buffer, ...positions: readonly number[]): Buffer[] {
  const ends = [...positions.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

const [second, third, fourth] = [
  { ...log, logIndex: '0x1' },
  { ...log, logIndex: '0x2' },
  { ...log, logIndex: '0x3' },
];
const withoutTopics = Object.fromEntries(Object.entries(second).filter(([name]) => name !== 'topics'));
const filter = [{ blockHash: hash('a') }];
const samples: [name: string, method: string, params: unknown[], text: string][] = [
  ['logs', 'eth_getLogs', filter, JSON.stringify([log, { ...second, topics: [] }, third])],
  ['logs out of order and twice', 'eth_getLogs', filter, JSON.stringify([log, { ...third, topics: [] }, second, log])],
  ['logs with white space', 'eth_getLogs', filter, JSON.stringify([log, second], null, 1)],
  ['no logs', 'eth_getLogs', filter, ' [ ] '],
  ['logs to complete', 'eth_getLogs', filter, JSON.stringify([log, withoutTopics, { ...log, logIndex: 2 }, fourth])],
  ['a rounded quantity', 'eth_getLogs', filter, JSON.stringify([log, second]).replace('"0x10"', '90071992547409931')],
  ['unknown text', 'eth_getLogs', filter, JSON.stringify([log, { ...second, note: '}]\\" ü' }, third])],
  ['logs of another block', 'eth_getLogs', filter, JSON.stringify([log, { ...log, blockHash: hash('b') }])],
  ['a hash in the list', 'eth_getLogs', filter, JSON.stringify([log, hash('a'), second])],
  ['a list in the list', 'eth_getLogs', filter, JSON.stringify([log, [log]])],
  ['receipts', 'eth_getBlockReceipts', ['0x10'], JSON.stringify([receipt, { ...receipt, transactionIndex: '0x1' }])],
  ['a receipt with a root', 'eth_getBlockReceipts', ['0x10'], JSON.stringify([receipt, { ...receipt, root: '0x' }])],
  ['a receipt without a status', 'eth_getBlockReceipts', ['0x10'], JSON.stringify([{ ...receipt, status: null }])],
  ['a pending receipt', 'eth_getBlockReceipts', ['0x10'], JSON.stringify([receipt, { ...receipt, blockHash: null }])],
  ['an object', 'eth_getLogs', filter, JSON.stringify(log)],
  ['two lists', 'eth_getLogs', filter, JSON.stringify([log]) + JSON.stringify([log])],
  ['a comma at the end', 'eth_getLogs', filter, `${JSON.stringify([log]).slice(0, -1)},]`],
  ['a comma at the start', 'eth_getLogs', filter, `[,${JSON.stringify([log]).slice(1)}`],
];

describe.each(samples)('%s', (_, method, params, text) => {
  it('are checked in chunks as they are as a whole', () => {
    const bytes = Buffer.from(text);
    for (const at of positions(0, bytes.length)) compare(method, params, text, splitAt(bytes, at));
    const position = fc.nat(bytes.length);
    fc.assert(
      fc.property(fc.array(position, { minLength: 2, maxLength: 40 }), (positions) => {
        compare(method, params, text, splitAt(bytes, ...positions));
      }),
      { seed: 38, numRuns: propertyRuns(50) },
    );
  });

  it('are checked as a whole after any change of one byte', () => {
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(
        fc.nat(bytes.length - 1),
        fc.constantFrom(...Array.from('"{}[]:,\\0a \u0001')),
        fc.nat(bytes.length),
        (at, byte, end) => {
          const changed = Buffer.from(bytes);
          changed[at] = byte.charCodeAt(0);
          compare(method, params, changed.toString(), splitAt(changed, end));
        },
      ),
      { seed: 38, numRuns: propertyRuns(200) },
    );
  });
});

it('bytes without changes are those of the upstream', () => {
  const text = JSON.stringify(
    Array.from({ length: 50 }, (_, index) => ({ ...log, logIndex: `0x${(index + 1).toString(16)}` })),
  );
  const bytes = Buffer.from(text);
  for (const at of [0, 1, 500, 5_000, bytes.length])
    expect(flow('eth_getLogs', filter, splitAt(bytes, at)).text).toBe(text);
});

it('transactions of a block are no list', () => {
  expect(flow('eth_getLogs', filter, [Buffer.from(JSON.stringify(largeBlock))]).failure).toBe('malformed');
});
