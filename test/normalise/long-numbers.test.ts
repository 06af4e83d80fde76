import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const hash = `0x${'ab'.repeat(32)}`;
/** 2^53 + 1, and more digits than a double has. JSON.parse rounds both. */
const numbers = ['9007199254740993', '123456789012345678901234567890'];

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** Result as text, because JSON.stringify has no digits beyond those of a double. */
const result = (number: string, extra: string): string =>
  `{"hash":"${hash}","number":16,"totalDifficulty":${number},"note":"\\"size\\":${number}","extraData":"0x${extra}",` +
  `"transactions":[{"hash":"${hash}","blockHash":"${hash}","value": ${number} ,"nonce":1}]}`;

const envelopes: Readonly<Record<string, (id: unknown, json: string) => string>> = {
  'the usual envelope': (id, json) => `{"jsonrpc":"2.0","id":${String(id)},"result":${json}}`,
  'another envelope': (id, json) => `{"result": ${json}, "jsonrpc": "2.0", "id": ${String(id)} }`,
};

describe.each(Object.entries(envelopes))(
  'a quantity above 2^53 that is a JSON number keeps its digits, in %s',
  (_, write) => {
    it.each(
      numbers.flatMap(
        (number) =>
          [
            [number, 0],
            [number, 20_000],
          ] as const,
      ),
    )('%s, with %d bytes more', async (number, more) => {
      const behaviour: Behaviour = ({ id, response }) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(write(id, result(number, '00'.repeat(more))));
      node.next(behaviour, 'eth_getBlockByHash');
      const block = (await gateway.call('main', 'eth_getBlockByHash', [hash, true])).result;
      const hex = `0x${BigInt(number).toString(16)}`;
      expect(block).toMatchObject({
        ...{ number: '0x10', totalDifficulty: hex, note: `"size":${number}` },
        transactions: [{ value: hex, nonce: '0x1' }],
      });
    });
  },
);

it('a number that names no exact quantity is an upstream failure', async () => {
  node.next(({ id, response }) => {
    response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":{"hash":"${hash}","g\\u0061sUsed":9007199254740993}}`);
  }, 'eth_getBlockByHash');
  expect(await gateway.call('main', 'eth_getBlockByHash', [hash, false])).toMatchObject({ error: { code: -32603 } });
});
