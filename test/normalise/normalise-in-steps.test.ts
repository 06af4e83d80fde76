import { afterEach, describe, expect, it, vi } from 'vitest';
import { Account } from '../../gateway/admission/account.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { normaliseInSteps, type Receiver } from '../../gateway/normalise/normalise-in-steps.ts';
import { passThrough, type MethodSpec } from '../../gateway/spec/method-spec.ts';
import { readResponse } from '../../gateway/upstreams/transport/read-response.ts';
import { IN_STEPS_OVER_BYTES } from '../../gateway/upstreams/transport/response-envelope.ts';
import { Cancellation, Cancelled } from '../../gateway/upstreams/transport/cancellation.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';
import { TooManyValues } from '../../gateway/upstreams/transport/upstream-response.ts';
import { specOf } from './normalised.ts';

const hash = `0x${'ab'.repeat(32)}`;
const address = `0x${'cd'.repeat(20)}`;
const place = { blockHash: hash, blockNumber: '0x10', transactionIndex: '0x0' };
const log = { ...place, transactionHash: hash, address, data: '0x', logIndex: '0x0', removed: false, topics: [hash] };
const receipt = {
  ...{ ...place, transactionHash: hash, from: address, to: address, contractAddress: null, cumulativeGasUsed: '0x1' },
  ...{ gasUsed: '0x1', effectiveGasPrice: '0x1', logs: [log, log], logsBloom: '0x00', status: '0x1', type: '0x0' },
};
const transaction = {
  ...{ ...place, hash, from: address, to: null, gas: '0x1', gasPrice: '0x1', input: '0x', nonce: '0x1', r: '0x1' },
  ...{ s: '0x1', v: '0x1', type: '0x0', value: '0x0' },
};
const block = {
  ...{ number: '0x10', hash, parentHash: hash, nonce: '0x0000000000000000', sha3Uncles: hash, logsBloom: '0x00' },
  ...{
    transactionsRoot: hash,
    stateRoot: hash,
    receiptsRoot: hash,
    miner: address,
    difficulty: '0x0',
    extraData: '0x',
  },
  ...{
    size: '0x1',
    gasLimit: '0x1',
    gasUsed: '0x1',
    timestamp: '0x1',
    uncles: [],
    mixHash: hash,
    totalDifficulty: '0x1',
  },
};
const many = <T>(value: T, last = value): T[] => [...Array.from({ length: 2_000 }, () => value), last];
/** Logs with the fewest bytes for each value. */
const bare = Array.from({ length: 23_000 }, () => ({ ...log, topics: [], blockTimestamp: '0x1' }));

function bodyOf(result: unknown, id = 1): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

function inSteps(
  method: MethodSpec,
  params: readonly unknown[],
  body: Buffer,
  name = 'key',
  call: Partial<Receiver> = {},
): Promise<Outcome> {
  const response = readResponse({ status: 200, body }, 1, undefined);
  if (response.kind !== 'large') throw new Error('the response is not large');
  const receiver = { name, owner: new Account(name), deadline: Infinity, cancellation: undefined, ...call };
  return normaliseInSteps(method, params, response, receiver);
}

function resultOf(outcome: Outcome): unknown {
  if (!outcome.final) return outcome.failure;
  const { response } = outcome;
  if (response.kind === 'large') return JSON.parse(Buffer.concat(response.parts).toString());
  return response.kind === 'result' ? response.result : response;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a large result that is checked in steps', () => {
  it.each<[string, string, readonly unknown[], unknown]>([
    ['logs without changes', 'eth_getLogs', [{}], many(log)],
    ['logs with a number', 'eth_getLogs', [{}], many({ ...log, logIndex: 7 })],
    [
      'logs of which the last one lacks a field',
      'eth_getLogs',
      [{}],
      many<object>(log, { ...log, removed: undefined }),
    ],
    ['logs with a text', 'eth_getLogs', [{}], many({ ...log, note: 'ü"\\\n' })],
    ['logs and a number', 'eth_getLogs', [{}], many<unknown>(log, 1)],
    ['a large log', 'eth_getLogs', [{}], [{ ...log, data: `0x${'00'.repeat(200_000)}` }, log]],
    ['receipts', 'eth_getBlockReceipts', ['0x10'], many(receipt)],
    [
      'receipts of which one is pending',
      'eth_getBlockReceipts',
      ['0x10'],
      many<object>(receipt, { ...receipt, blockHash: null }),
    ],
    ['a receipt', 'eth_getTransactionReceipt', [hash], { ...receipt, logs: many(log) }],
    ['a receipt of 23,000 logs', 'eth_getTransactionReceipt', [hash], { ...receipt, logs: bare }],
    [
      'a receipt of 23,000 logs with a number',
      'eth_getTransactionReceipt',
      [hash],
      { ...receipt, gasUsed: 5, logs: bare },
    ],
    ['a receipt with a number', 'eth_getTransactionReceipt', [hash], { ...receipt, gasUsed: 5, logs: many(log) }],
    ['a block', 'eth_getBlockByNumber', ['0x10', true], { ...block, transactions: many(transaction) }],
    [
      'a block without a field',
      'eth_getBlockByHash',
      [hash, true],
      { ...block, nonce: undefined, transactions: many(transaction) },
    ],
    [
      'another block',
      'eth_getBlockByHash',
      [`0x${'11'.repeat(32)}`, true],
      { ...block, transactions: many(transaction) },
    ],
    [
      'a block with hashes',
      'eth_getBlockByNumber',
      ['0x10', false],
      { ...block, transactions: many(hash).concat(many(hash)) },
    ],
    ['a code', 'eth_getCode', [address, '0x1'], `0x${'60'.repeat(200_000)}`],
    ['a code in capitals', 'eth_getCode', [address, '0x1'], `0x${'AB'.repeat(200_000)}`],
    ['a code with half a byte', 'eth_getCode', [address, '0x1'], `0x${'60'.repeat(200_000)}6`],
    ['a code without 0x', 'eth_getCode', [address, '0x1'], '60'.repeat(200_000)],
    ['a code with another digit at its end', 'eth_getCode', [address, '0x1'], `0x${'60'.repeat(200_000)}6g`],
    ['a code with a backslash', 'eth_getCode', [address, '0x1'], `0x${'60'.repeat(200_000)}\\\\`],
    ['a text in place of a code', 'eth_getCode', [address, '0x1'], 'x'.repeat(300_000)],
    ['a text in place of a quantity', 'eth_estimateGas', [{}], `0x${'1'.repeat(300_000)}`],
    ['a text in place of a list', 'eth_getLogs', [{}], `0x${'60'.repeat(200_000)}`],
    [
      'simulated calls with a text',
      'eth_simulateV1',
      [{}],
      [{ calls: many({ returnData: `0x${'00'.repeat(90)}`, error: 'é' }) }],
    ],
  ])('is that of a parsed one: %s', async (_, method, params, result) => {
    const body = bodyOf(result);
    expect(body.length).toBeGreaterThan(IN_STEPS_OVER_BYTES * 0.95);
    const given = JSON.parse(JSON.stringify(result)) as unknown;
    const expected = resultOf(
      normalise(specOf(method), params, { kind: 'result', result: given, text: JSON.stringify(given) }),
    );
    expect(resultOf(await inSteps(specOf(method), params, body))).toEqual(expected);
  });

  it('passes unparsed if its method has no schema: 12 MB of a trace with two million values', async () => {
    const step = { pc: 1, op: 'PUSH1', gas: 1, stack: ['0x0', '0x1', 'é'] };
    const body = bodyOf({ structLogs: Array.from({ length: 220_000 }, () => step) });
    const parse = vi.spyOn(JSON, 'parse');
    const outcome = await inSteps(passThrough('debug_traceTransaction'), [], body);
    expect(parse.mock.calls).toEqual([]);
    expect(outcome).toMatchObject({ final: true, response: { kind: 'large' } });
    if (!outcome.final || outcome.response.kind !== 'large') return;
    expect(body.includes(Buffer.concat(outcome.response.parts))).toBe(true);
  });

  it.each([
    [
      'simulated calls with a text that a caller wrote',
      'eth_simulateV1',
      [{ calls: [{ error: 'é', returnData: '00'.repeat(1_000_000) }] }],
    ],
    ['logs that lack a field', 'eth_getLogs', many({ ...log, removed: undefined })],
    ['logs with a text', 'eth_getLogs', many({ ...log, note: 'é' })],
  ])('is not parsed at once: %s', async (_, method, result) => {
    const body = bodyOf(result);
    const parse = vi.spyOn(JSON, 'parse');
    await inSteps(specOf(method), [{}], body);
    expect(Math.max(0, ...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(100_000);
  });

  it('is checked piece by piece, and not parsed: 24 MB of bytes', async () => {
    const body = bodyOf(`0x${'60'.repeat(12_000_000)}`);
    const parse = vi.spyOn(JSON, 'parse');
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const outcome = await inSteps(specOf('eth_call'), [{}], body);
    isDone = true;
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([]);
    expect(turns).toBeGreaterThan(3);
    expect(outcome).toMatchObject({ final: true, response: { kind: 'large' } });
    if (outcome.final && outcome.response.kind === 'large')
      expect(body.includes(Buffer.concat(outcome.response.parts))).toBe(true);
  });

  it.each([
    ['a quantity', 'eth_estimateGas'],
    ['a list', 'eth_getLogs'],
    ['an object', 'eth_getTransactionReceipt'],
  ])('is not parsed if it is 24 MB of text in place of %s', async (_, method) => {
    const body = bodyOf(`0x${'60'.repeat(12_000_000)}`);
    const parse = vi.spyOn(JSON, 'parse');
    const outcome = await inSteps(specOf(method), [{}], body);
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([]);
    expect(outcome).toMatchObject({ final: false, failure: 'malformed' });
  });

  it('is not parsed if it is a number of 1 MB', async () => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":1${'0'.repeat(1_000_000)}}`);
    const parse = vi.spyOn(JSON, 'parse');
    await expect(inSteps(specOf('eth_getLogs'), [{}], body)).rejects.toMatchObject({ failure: 'malformed' });
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([]);
  });

  it('is that of a parsed one if its envelope has other members: a code', async () => {
    const code = `"0x${'60'.repeat(200_000)}"`;
    const response = await inSteps(
      specOf('eth_getCode'),
      [address, '0x1'],
      Buffer.from(`{"jsonrpc":"2.0","result":${code} ,"x":1,"id":1}`),
    );
    expect(resultOf(response)).toBe(JSON.parse(code));
  });

  it.each<[string, MethodSpec, unknown]>([
    ['a list', specOf('eth_getLogs'), many(log).map((one, at) => ({ ...one, logIndex: `0x${at.toString(16)}` }))],
    ['bytes', specOf('eth_getCode'), `0x${'60'.repeat(200_000)}`],
    ['null', specOf('eth_getTransactionReceipt'), null],
    ['an object', passThrough('debug_traceBlock'), { all: many(log) }],
  ])('is not parsed if its envelope has members behind it: %s', async (_, method, result) => {
    const text = JSON.stringify(result);
    const most = JSON.stringify({ x: `0x${'0'.repeat(300_000)}` });
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${text},"more":[],"most":${most}}`);
    const parse = vi.spyOn(JSON, 'parse');
    const outcome = await inSteps(method, [{}], body);
    expect(parse.mock.calls.filter(([parsed]) => parsed.length > 100)).toEqual([]);
    expect(resultOf(outcome)).toEqual(result);
  });

  it('waits for the earlier ones of its owner only', async () => {
    const ended: string[] = [];
    const start = (name: string, owner: string, elements: number): Promise<void> =>
      inSteps(specOf('eth_getLogs'), [{}], bodyOf(Array.from({ length: elements }, () => log)), owner).then(() => {
        ended.push(name);
      });
    await Promise.all([start('long', 'one', 12_000), start('short', 'one', 1_000), start('other', 'two', 1_000)]);
    expect(ended).toEqual(['other', 'long', 'short']);
  });

  it('does not get its turn if its caller has left, or its call has no more time', async () => {
    const cancellation = new Cancellation();
    const ended: string[] = [];
    const start = (name: string, method: string, result: unknown, call: Partial<Receiver> = {}): Promise<unknown> =>
      inSteps(specOf(method), [hash], bodyOf(result), 'one', call)
        .catch((error: unknown) => error)
        .finally(() => ended.push(name));
    const lacking = { ...receipt, gasUsed: 5, logs: bare };
    const all = [
      start('first', 'eth_getTransactionReceipt', lacking),
      start('left', 'eth_getLogs', many(log), { cancellation }),
      start('late', 'eth_getLogs', many(log), { deadline: clock.now() }),
    ];
    cancellation.cancel();
    const [first, left, late] = await Promise.all(all);
    expect(first).toMatchObject({ final: true });
    expect(left).toBeInstanceOf(Cancelled);
    expect(late).toMatchObject({ failure: 'transport', isCallerTimeout: true });
    expect(ended[0]).toBe('left');
  });

  it('is not decoded if its bytes are not UTF-8', async () => {
    const body = bodyOf(many({ ...log, note: 'x' }));
    body[body.lastIndexOf('x"}')] = 0xff;
    await expect(inSteps(specOf('eth_getLogs'), [{}], body)).rejects.toMatchObject({ failure: 'malformed' });
  });

  it('is not parsed if one element has very many values', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const texts = Array.from({ length: 260_000 }, () => '0x00000000000000000000000000000000');
    const body = bodyOf({ ...receipt, gasUsed: 5, logs: [{ ...log, x: texts }] });
    await expect(inSteps(specOf('eth_getTransactionReceipt'), [hash], body)).rejects.toBeInstanceOf(TooManyValues);
    expect(Math.max(0, ...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(100_000);
  });

  it('is not parsed if a member has a very long name', async () => {
    const body = bodyOf({ ...receipt, gasUsed: 5, x: [{ ['k'.repeat(100_000)]: 1 }] });
    await expect(inSteps(specOf('eth_getTransactionReceipt'), [hash], body)).rejects.toBeInstanceOf(TooManyValues);
  });

  it.each([
    ['objects that lack all fields', `[${'{"a":"0123456789"},'.repeat(20_000)}{}]`],
    ['objects in an unknown field', `[${JSON.stringify(log).slice(0, -1)},"x":[${'{},'.repeat(200_000)}1]}]`],
    ['an incomplete list', `[${'{},'.repeat(200_000)}`],
  ])('is an upstream failure: %s', async (_, result) => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
    await expect(inSteps(specOf('eth_getLogs'), [{}], body)).rejects.toMatchObject({ failure: 'malformed' });
  });
});
