import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { checkResultBytes } from '../../gateway/normalise/results/check-result-bytes.ts';
import { checkResult } from '../../gateway/normalise/results/check-result.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';
import { jsonResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import { propertyRuns } from '../support/property-runs.ts';

interface Sample {
  readonly name: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result: unknown;
}

const folder = join(packageRoot, 'test/recorded');
const recorded: Sample[] = readdirSync(folder).flatMap((file) =>
  (
    parse(readFileSync(join(folder, file), 'utf8')) as {
      name: string;
      method: string;
      params?: unknown[];
      upstreamResponse?: { result?: unknown };
    }[]
  )
    .map(({ name, method, params = [], upstreamResponse }) => ({
      name: `${file}: ${name}`,
      method,
      params,
      result: upstreamResponse?.result,
    }))
    .filter(({ result }) => typeof result === 'object' && result !== null),
);

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const address = `0x${'1'.repeat(40)}`;
const place = { blockHash: hash('a'), blockNumber: '0x10', transactionIndex: '0x1' };
const transaction = {
  ...{ ...place, hash: hash('c'), from: address, to: null, gas: '0x1', gasPrice: '0x1', input: '0x', nonce: '0x1' },
  ...{
    value: '0x0',
    type: '0x2',
    chainId: '0x1',
    accessList: [],
    v: '0x1',
    yParity: '0x1',
    r: hash('d'),
    s: '0xe',
    authorizationList: [{ chainId: '0x0', address, nonce: '0x1', yParity: '0x0', r: '0x1', s: hash('f') }],
  },
};
const log = {
  ...place,
  address,
  topics: [hash('b')],
  data: '0x',
  logIndex: '0x0',
  transactionHash: hash('c'),
  removed: false,
};
const receipt = {
  ...{ ...place, transactionHash: hash('c'), from: address, to: null, contractAddress: null, gasUsed: '0x1' },
  ...{ cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1', logs: [log], logsBloom: '0x00', status: '0x1', type: '0x2' },
};
const block = {
  ...{ number: '0x10', hash: hash('a'), parentHash: hash('1'), nonce: '0x0000000000000000', sha3Uncles: hash('2') },
  ...{ logsBloom: '0x00', transactionsRoot: hash('3'), stateRoot: hash('4'), receiptsRoot: hash('5'), miner: address },
  ...{ difficulty: '0x0', extraData: '0x', size: '0x1', gasLimit: '0x1', gasUsed: '0x1', timestamp: '0x1', uncles: [] },
  ...{
    mixHash: hash('6'),
    baseFeePerGas: '0x7',
    withdrawals: [{ index: '0x1', validatorIndex: '0x0', address, amount: '0x1' }],
    transactions: [transaction, transaction],
  },
};
/** Common results of nodes. */
const usual: Sample[] = [
  { name: 'a block', method: 'eth_getBlockByHash', params: [hash('a'), true], result: block },
  { name: 'a block by number', method: 'eth_getBlockByNumber', params: ['0x10', true], result: block },
  { name: 'the latest block', method: 'eth_getBlockByNumber', params: ['latest', true], result: block },
  {
    name: 'a block with hashes',
    method: 'eth_getBlockByHash',
    params: [hash('a'), false],
    result: { ...block, transactions: [hash('c'), hash('d')] },
  },
  { name: 'a receipt', method: 'eth_getTransactionReceipt', params: [hash('c')], result: receipt },
  { name: 'the receipts of a block', method: 'eth_getBlockReceipts', params: ['0x10'], result: [receipt, receipt] },
  { name: 'logs', method: 'eth_getLogs', params: [{ fromBlock: '0x10' }], result: [log, log] },
  { name: 'no logs', method: 'eth_getLogs', params: [{}], result: [] },
];

const passThrough: MethodSpec = {
  name: 'debug_x',
  namespace: 'debug',
  group: 'long',
  nullable: false,
  reverts: false,
  hashParams: [],
};
const specOf = (name: string): MethodSpec => methods.find((method) => method.name === name) ?? passThrough;

/** The result as it is passed on; undefined: it must be parsed as a whole. */
function passedOf(spec: MethodSpec, params: readonly unknown[], text: string): string | undefined {
  return textOf(checkResultBytes(spec, params, jsonResponse(text)));
}

function textOf(outcome: Outcome | undefined): string | undefined {
  const response = outcome?.response;
  return response?.kind === 'large' ? Buffer.concat(response.parts).toString() : undefined;
}

/** Expects equal results with and without parsing. @returns whether the result did not need parsing */
function compareBoth({ method, params }: Sample, text: string): boolean {
  const spec = specOf(method);
  const asBytes = checkResultBytes(spec, params, jsonResponse(text));
  const passed = textOf(asBytes);
  const { response, ...outcome } = checkResult(spec, params, { kind: 'result', result: JSON.parse(text), text });
  // The text is passed on only if the result is unchanged.
  if (response?.kind === 'result' && response.text !== undefined)
    expect(response.result).toEqual(JSON.parse(response.text));
  if (asBytes === undefined || passed === undefined) return false;
  expect({ ...asBytes, response: undefined }).toEqual({ ...outcome, response: undefined });
  expect(outcome.final || outcome.isIrregular).toBe(true);
  expect(JSON.parse(passed)).toEqual(response?.kind === 'result' ? response.result : undefined);
  return true;
}

describe('a result that is checked as bytes', () => {
  it.each(usual.map((sample) => [sample.name, sample] as const))('does not need parsing: %s', (_, sample) => {
    expect(compareBoth(sample, JSON.stringify(sample.result))).toBe(true);
    expect(compareBoth(sample, JSON.stringify(sample.result).replaceAll(':', ' : '))).toBe(true);
  });

  it('is equal to the parsed result, for recorded results', () => {
    const unparsed = recorded.filter((sample) => compareBoth(sample, JSON.stringify(sample.result)));
    expect(unparsed.length).toBeGreaterThan(10);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a padded quantity of a block', { gasUsed: '0x01' }],
    ['a padded quantity that some blocks have', { baseFeePerGas: '0x07' }],
    ['a quantity without digits', { difficulty: '0x' }],
    ['a quantity as a number', { size: 5 }],
    ['a padded quantity of a withdrawal', { withdrawals: [{ index: '0x01' }] }],
    ['a padded r', { transactions: [{ ...transaction, r: `0x0${'d'.repeat(63)}` }] }],
    ['a padded r of an authorization', { transactions: [{ ...transaction, authorizationList: [{ r: '0x00' }] }] }],
    ...['', '0x', '0x0'].flatMap((none): [string, Record<string, unknown>][] => [
      [`the miner ${none}`, { miner: none }],
      [`a receiver ${none}`, { transactions: [{ ...transaction, to: none }] }],
    ]),
    ['hashes in place of transactions', { transactions: [hash('c')] }],
    ['a hash among transactions', { transactions: [transaction, hash('c')] }],
    ['no list of transactions', { transactions: 'none' }],
  ])('must be parsed for %s', (_, changed) => {
    const sample = { name: '', method: 'eth_getBlockByHash', params: [hash('a'), true], result: undefined };
    expect(passedOf(specOf(sample.method), sample.params, JSON.stringify({ ...block, ...changed }))).toBe(undefined);
    for (const indent of [undefined, 1]) compareBoth(sample, JSON.stringify({ ...block, ...changed }, null, indent));
  });

  it('must be parsed if it has transactions in place of the requested hashes', () => {
    expect(passedOf(specOf('eth_getBlockByHash'), [hash('a'), false], JSON.stringify(block))).toBeUndefined();
  });

  it.each(['0X05', '0x@', '0x`', `0x1${'0'.repeat(64)}`])(
    'is equal to the parsed result if %j is in place of a quantity of a log',
    (blockNumber) => {
      for (const changed of [{ blockNumber }, { logIndex: blockNumber }, { transactionIndex: blockNumber }]) {
        const sample = { name: '', method: 'eth_getLogs', params: [{ fromBlock: '0x10' }], result: undefined };
        expect(compareBoth(sample, JSON.stringify([{ ...log, ...changed }]))).toBe(true);
      }
    },
  );

  it('is equal to the parsed result after random changes', () => {
    const values = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0xX19afAFgG@`/: '), maxLength: 5 }).map((digits) => `0x${digits}`),
      fc.constantFrom(
        null,
        0,
        7,
        -1,
        1.5,
        true,
        '',
        '0x',
        '0x0',
        '0x01',
        '0x00',
        'l0x05',
        '0X05',
        '0x1',
        hash('0'),
        hash('A'),
        'latest',
        {},
        [],
        [{}],
        [null],
      ),
      fc.constantFrom(...[block, receipt, transaction, log].flatMap((object): unknown[] => Object.values(object))),
    );
    const names = [block, receipt, transaction, log].flatMap((object) => Object.keys(object));
    const name = fc.constantFrom(...names, 'chainID', 'root', 'status', 'l1Fee', '', 'ha\\sh', 'é');
    let unparsed = 0;
    const numRuns = propertyRuns(3_000);
    fc.assert(
      fc.property(
        fc.constantFrom<Sample>(...usual, ...recorded),
        fc.array(fc.tuple(fc.nat(), name, fc.option(values, { nil: undefined })), { maxLength: 3 }),
        fc.constantFrom(undefined, 1),
        (sample, changes, indent) => {
          const result = structuredClone(sample.result);
          for (const [where, field, value] of changes) {
            const objects = objectsIn(result);
            const object = objects[where % objects.length];
            if (value === undefined) delete object?.[field];
            else if (object !== undefined) object[field] = structuredClone(value);
          }
          if (compareBoth(sample, JSON.stringify(result, null, indent))) unparsed++;
        },
      ),
      { numRuns },
    );
    expect(unparsed).toBeGreaterThan(numRuns / 20);
  });

  it.each(['', '{}', '[{}]', 'null', '1', '"x"', '{"hash":1', '[1,', '{"hash":"0x1"}}', '[]]'])(
    'must be parsed for %j',
    (text) => {
      for (const { name, params } of [
        { name: 'eth_getBlockByHash', params: [hash('a'), true] },
        { name: 'eth_getLogs', params: [{}] },
      ]) {
        if (name === 'eth_getLogs' && text === '[]') continue;
        expect(passedOf(specOf(name), params, text)).toBeUndefined();
      }
    },
  );

  it.each([String.raw`\q`, '\n', '\u0000', 'é', '\u007f', '"'])('is parsed if one of its strings has %j', (odd) => {
    const text = JSON.stringify({ ...receipt, note: 'NOTE' }).replace('NOTE', odd);
    const passed = passedOf(specOf('eth_getTransactionReceipt'), [hash('c')], text);
    expect(passed === undefined).toBe(odd !== '\u007f');
  });

  it.each(['é', String.raw`\u0041`, '\ufffd'])('is passed on element by element: a list with %j in a text', (odd) => {
    const text = JSON.stringify([log, { ...log, logIndex: '0x1', note: 'NOTE' }]).replace('NOTE', odd);
    expect(passedOf(specOf('eth_getLogs'), [{}], text)).toBe(text);
  });

  it('must be parsed if a list is not UTF-8', () => {
    const bytes = Buffer.from(JSON.stringify([{ ...log, note: 'x' }]));
    bytes[bytes.lastIndexOf('x"}')] = 0xff;
    expect(checkResultBytes(specOf('eth_getLogs'), [{}], jsonResponse(bytes))).toBeUndefined();
  });

  it('must be parsed if a name has an escape sequence', () => {
    const text = JSON.stringify(block).replace('"hash"', String.raw`"has\u0068"`);
    expect(passedOf(specOf('eth_getBlockByHash'), [hash('a'), true], text)).toBeUndefined();
  });

  it('of a pass-through method is any JSON', () => {
    expect(passedOf(passThrough, [], '[{"a":[1.5,null]}]')).toBe('[{"a":[1.5,null]}]');
    expect(passedOf(passThrough, [], '[{"a":[1.5,nil]}]')).toBeUndefined();
  });
});

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap((one: unknown) => objectsIn(one));
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner];
}
