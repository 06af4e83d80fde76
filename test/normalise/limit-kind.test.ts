import { expect, it } from 'vitest';
import { limitKindOf } from '../../gateway/normalise/errors/limit-kind.ts';

it.each([
  ['range', 'exceed maximum block range: 5000'],
  ['range', 'query block range exceeds server limit, narrow your filter: 5'],
  ['range', 'block range is bigger than maxBlockRange'],
  ['range', 'eth_getLogs is limited to a 5 range, upgrade from discover plan to increase the limit'],
  ['range', 'requested too many blocks from 0 to 5000, maximum is set to 2048'],
  ['range', 'logs over more than 2000 blocks need a paid plan'],
  ['range', 'maximum [from, to] blocks distance: 10000'],
  [
    'range',
    'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x2]',
  ],
  ['results', 'query exceeds max results 20000, retry with the range 1-2'],
  ['results', 'Query returned more than 10000 results. Try with this block range [0x1, 0x3e8].'],
  ['results', 'Log response size exceeded. this block range should work: [0x0, 0x1]'],
  ['results', 'logs are limited to 10000'],
  ['results', 'Response is too big'],
  ['results', 'query timeout exceeded'],
  ['results', 'limit exceeded'],
  ['results', ''],
  ['addresses', 'specify less number of addresses: at most 20'],
  ['addresses', 'exceed max addresses or topics per search position'],
  ['none', 'Please specify an address in your request or, to remove restrictions, order a dedicated full node here'],
  ['none', 'eth_getLogs requests are restricted to paid users'],
])('%s: %s', (kind, text) => {
  expect(limitKindOf(text)).toBe(kind);
});
