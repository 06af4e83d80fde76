import { describe, expect, it } from 'vitest';
import { withNodes, word, type WithNodes } from '../routing/with-nodes.ts';

/** More digits than a parsed number has, in members that the spec does not name. */
const unknown = `"l1Number":9007199254740993,"list":[12345678901234567890,-1e400,1.50],"text":"[12345678901234567890]"`;
const hash = word(5);
const address = `0x${'a1'.repeat(20)}`;

/** Receipt that lacks fields that are completed, and has JSON numbers in place of quantities. */
const receipt = `{"blockHash":"${hash}","blockNumber":9007199254740993,"status":"0x1","transactionHash":"${word(6)}",${unknown}}`;
const transaction = (index: number): string =>
  `{"hash":"${word(100 + index)}","blockHash":"${hash}","blockNumber":"0x20000000000001","transactionIndex":${index},"input":"0x${'00'.repeat(200)}",${unknown}}`;
const block = (count: number): string =>
  `{"number":"0x20000000000001","hash":"${hash}","transactions":[${Array.from({ length: count }, (_, index) => transaction(index)).join()}],${unknown}}`;
const log = `{"address":"${address}","blockHash":"${hash}","blockNumber":"0x1","logIndex":"0x0","topics":[],${unknown}}`;

async function textOf({ nodes, gateway }: WithNodes, method: string, params: readonly unknown[], result: string) {
  nodes[0]?.always(({ id, response }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  }, method);
  // As a batch: a result alone may flow.
  const call = { jsonrpc: '2.0', id: 1, method, params };
  const texts = [call, [call]].map(async (body) => (await gateway.post('test', JSON.stringify(body))).text());
  return Promise.all(texts);
}

describe('the numbers in unknown members of a completed object keep their digits', () => {
  it.each<[string, string, readonly unknown[], string, number]>([
    ['a receipt', 'eth_getTransactionReceipt', [word(6)], receipt, 1],
    ['a block', 'eth_getBlockByHash', [hash, true], block(1), 2],
    ['a block that flows', 'eth_getBlockByHash', [hash, true], block(200), 201],
    ['a list', 'eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x1' }], `[${log}]`, 1],
    [
      'a long list',
      'eth_getLogs',
      [{ fromBlock: '0x1', toBlock: '0x1' }],
      `[${Array.from({ length: 1_500 }, (_, index) => log.replace('0x0', `0x${index.toString(16)}`)).join()}]`,
      1_500,
    ],
  ])('%s', async (_, method, params, result, objects) => {
    for (const text of await textOf(await withNodes(1), method, params, result)) {
      expect(text.split(unknown)).toHaveLength(objects + 1);
      expect(() => JSON.parse(text) as unknown).not.toThrow();
      if (method !== 'eth_getTransactionReceipt') continue;
      expect(text).toContain('"blockNumber":"0x20000000000001"');
      expect(text).toContain('"logsBloom":null');
    }
  });
});
