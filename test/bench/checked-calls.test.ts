import { describe, expect, it } from 'vitest';
import { CheckedCalls } from '../../bench/checked-calls.ts';
import type { CallKind } from '../../bench/wallet-calls.ts';

const word: CallKind = {
  method: 'eth_getStorageAt',
  params: '["0xbeef00000000"]',
  result: '"0x00beef00000000"',
};
const object: CallKind = { method: 'eth_getBlockByHash', params: '["0xbeef00000000"]', result: '{"a":[1],"b":null}' };
const first = '"0x00beef10000000"';
const second = '"0x00beef10000001"';

describe('a single call', () => {
  it.each([
    ['correct', `{"jsonrpc":"2.0","id":1,"result":${first}}`],
    ['correct', `{"id":1,"jsonrpc":"2.0","result":${first}}`],
    ['rejected', '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"slow down"}}'],
    ['failed', `{"jsonrpc":"2.0","id":2,"result":${first}}`],
    ['failed', `{"jsonrpc":"2.0","id":1,"result":${second}}`],
    ['failed', '{"jsonrpc":"2.0","id":1,"result":null}'],
    ['failed', '<html>502</html>'],
    ['failed', ''],
  ])('is %s with the response %s', (outcome, body) => {
    expect(outcomesOf([word], 0, body)).toEqual({ correct: 0, rejected: 0, failed: 0, [outcome]: 1 });
  });

  it.each([
    ['correct', '{"a":[1],"b":null,"c":null}'],
    ['failed', '{"a":[1],"b":null,"c":1}'],
    ['failed', '{"a":[2],"b":null}'],
    ['failed', '{"b":null}'],
  ])('may get additional fields if they are null: %s for %s', (outcome, result) => {
    const outcomes = outcomesOf([object], 0, `{"jsonrpc":"2.0","id":1,"result":${result}}`);
    expect(outcomes).toEqual({ correct: 0, rejected: 0, failed: 0, [outcome]: 1 });
  });

  it('fails without a response', () => {
    const calls = new CheckedCalls([word]);
    calls.addLost(calls.next());
    expect(calls.outcomes).toEqual({ correct: 0, rejected: 0, failed: 1 });
  });

  it('differs from the other calls until the calls repeat', () => {
    const calls = new CheckedCalls([word], 0, 2);
    const texts = [calls.next(), calls.next(), calls.next()].map(({ text }) => /0x\w+/.exec(text)?.[0]);
    expect(texts).toEqual(['0xbeef10000000', '0xbeef10000001', '0xbeef10000000']);
  });
});

describe('a batchSize', () => {
  const correct = (id: number, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  const error = '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}';

  it.each([
    [{ correct: 2 }, `[${correct(1, first)},${correct(2, second)}]`],
    [{ correct: 1, rejected: 1 }, `[${correct(1, first)},${error}]`],
    [{ correct: 1, failed: 1 }, `[${correct(1, first)},${correct(2, first)}]`],
    [{ failed: 2 }, `[${correct(2, second)},${correct(1, first)}]`],
    [{ correct: 1, failed: 1 }, `[${correct(1, first)},{}]`],
    [{ rejected: 2 }, error],
    [{ failed: 2 }, '[]'],
  ])('counts each of its calls: %o', (outcomes, body) => {
    expect(outcomesOf([word], 2, body)).toEqual({ correct: 0, rejected: 0, failed: 0, ...outcomes });
  });
});

function outcomesOf(kinds: readonly CallKind[], batchSize: number, body: string) {
  const calls = new CheckedCalls(kinds, batchSize);
  calls.addResponse(calls.next(), body);
  return calls.outcomes;
}
