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

describe('a single call of the bench', () => {
  it.each([
    ['right', `{"jsonrpc":"2.0","id":1,"result":${first}}`],
    ['right', `{"id":1,"jsonrpc":"2.0","result":${first}}`],
    ['refused', '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"slow down"}}'],
    ['failed', `{"jsonrpc":"2.0","id":2,"result":${first}}`],
    ['failed', `{"jsonrpc":"2.0","id":1,"result":${second}}`],
    ['failed', '{"jsonrpc":"2.0","id":1,"result":null}'],
    ['failed', '<html>502</html>'],
    ['failed', ''],
  ])('is %s when answered %s', (outcome, body) => {
    expect(outcomesOf([word], 0, body)).toEqual({ right: 0, refused: 0, failed: 0, [outcome]: 1 });
  });

  it.each([
    ['right', '{"a":[1],"b":null,"c":null}'],
    ['failed', '{"a":[1],"b":null,"c":1}'],
    ['failed', '{"a":[2],"b":null}'],
    ['failed', '{"b":null}'],
  ])('may be answered with more fields when those are null: %s for %s', (outcome, result) => {
    const outcomes = outcomesOf([object], 0, `{"jsonrpc":"2.0","id":1,"result":${result}}`);
    expect(outcomes).toEqual({ right: 0, refused: 0, failed: 0, [outcome]: 1 });
  });

  it('that is lost has failed', () => {
    const calls = new CheckedCalls([word]);
    calls.lost(calls.next());
    expect(calls.outcomes).toEqual({ right: 0, refused: 0, failed: 1 });
  });

  it('is told from the next by what is asked, until they begin anew', () => {
    const calls = new CheckedCalls([word], 0, 2);
    const texts = [calls.next(), calls.next(), calls.next()].map(({ text }) => /0x\w+/.exec(text)?.[0]);
    expect(texts).toEqual(['0xbeef10000000', '0xbeef10000001', '0xbeef10000000']);
  });
});

describe('a batch of the bench', () => {
  const right = (id: number, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  const error = '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}';

  it.each([
    [{ right: 2 }, `[${right(1, first)},${right(2, second)}]`],
    [{ right: 1, refused: 1 }, `[${right(1, first)},${error}]`],
    [{ right: 1, failed: 1 }, `[${right(1, first)},${right(2, first)}]`],
    [{ failed: 2 }, `[${right(2, second)},${right(1, first)}]`],
    [{ right: 1, failed: 1 }, `[${right(1, first)},{}]`],
    [{ refused: 2 }, error],
    [{ failed: 2 }, '[]'],
  ])('counts calls, each by itself: %o', (outcomes, body) => {
    expect(outcomesOf([word], 2, body)).toEqual({ right: 0, refused: 0, failed: 0, ...outcomes });
  });
});

function outcomesOf(kinds: readonly CallKind[], batch: number, body: string) {
  const calls = new CheckedCalls(kinds, batch);
  calls.answered(calls.next(), body);
  return calls.outcomes;
}
