import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { slow, status } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  errorText,
  expectResponse,
  expectNoBody,
  expectRejection,
  resultText,
} from '../server/http/expect-response.ts';

const address = `0x${'12'.repeat(20)}`;

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: wordOfPosition } });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterEach(() => {
  node.always(undefined);
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** A storage word that contains the requested position. */
function wordOfPosition(params: unknown): string {
  return `0x${(params as string[])[1]?.slice(2).padStart(64, '0') ?? ''}`;
}

const post = (body: string): Promise<Response> => gateway.post('main', body);
const chainId = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}`;
const notification = '{"jsonrpc":"2.0","method":"eth_chainId"}';
const notAnObject = errorText(-32600, 'invalid request: expected a JSON-RPC 2.0 request object');

function storageAt(position: number, id: string): string {
  const params = JSON.stringify([address, `0x${position.toString(16)}`, 'latest']);
  return `{"jsonrpc":"2.0","id":${id},"method":"eth_getStorageAt","params":${params}}`;
}

describe('a batch', () => {
  it('of 1,000 calls gets responses in order, each with its own id', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => (index % 3 === 0 ? `"id ${index}"` : `${index}.0`));
    const calls = ids.map((id, index) => (index % 2 === 0 ? chainId(id) : storageAt(index, id)));
    const responses = ids.map((id, index) =>
      resultText(id, index % 2 === 0 ? '0x5' : `0x${index.toString(16).padStart(64, '0')}`),
    );
    await expectResponse(await post(`[${calls.join()}]`), 200, `[${responses.join()}]`);
  });

  // As geth (rpc/handler.go): Go's BatchCall and web3j over WebSocket wait for an id that they sent.
  it('of 1,001 calls is rejected with one error, in an array, under the id of the first call', async () => {
    const first = ['0', '""', 'null', '9007199254740993', '1.50', '"\\u0041"'];
    for (const id of first) {
      const body = `[${notification},5,{"id":4},${chainId(id)},${Array(998).fill(chainId('7')).join()}]`;
      await expectResponse(
        await post(body),
        200,
        `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed', id)}]`,
      );
      const large = `[${' '.repeat(100_000)}${body.slice(1)}`;
      await expectResponse(
        await post(large),
        200,
        `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed', id)}]`,
      );
    }
  });

  it('of 1,001 notifications is rejected under id null', async () => {
    const body = `[${Array(1001).fill(notification).join()}]`;
    const rejected = `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed')}]`;
    await expectResponse(await post(body), 200, rejected);
    await expectResponse(await post(body.padEnd(100_001)), 200, rejected);
  });

  it('of more than 1,001 items is rejected under an id that appears late', async () => {
    const body = `[${Array(1500).fill(notification).join()},${chainId('"late"')},${notification}]`;
    const rejected = `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed', '"late"')}]`;
    await expectResponse(await post(body), 200, rejected);
    await expectResponse(await post(body.padEnd(200_000)), 200, rejected);
  });

  it('of one call gets an array of one', async () => {
    await expectResponse(await post(` [ ${chainId('null')} ] `), 200, `[${resultText('null', '0x5')}]`);
  });

  it('that is empty is -32600, id null, HTTP 200', async () => {
    await expectRejection(await post('[]'), 200, -32600, 'empty batch');
    await expectRejection(await post(' [ \n ] '), 200, -32600, 'empty batch');
  });

  it('gets responses in order when the first is the slowest', async () => {
    node.next(slow(150));
    const body = `[${storageAt(1, '1')},${storageAt(2, '2')},${chainId('3')}]`;
    const text = await (await post(body)).text();
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('may contain invalid items: each gets an error, the calls get responses', async () => {
    const body = `[1,${chainId('"a"')},"x",null,[],[${chainId('9')}],{},${chainId('2')},{"jsonrpc":"2.0","id":5,"method":7}]`;
    const responses = [
      notAnObject,
      resultText('"a"', '0x5'),
      ...[notAnObject, notAnObject, notAnObject, notAnObject],
      errorText(-32600, 'invalid request: expected jsonrpc to be "2.0"'),
      resultText('2', '0x5'),
      errorText(-32600, 'invalid request: expected method to be a string', '5'),
    ];
    await expectResponse(await post(body), 200, `[${responses.join()}]`);
  });

  it('may use an id twice', async () => {
    const body = `[${chainId('7')},${storageAt(1, '7')},${chainId('7')}]`;
    const responses = [resultText('7', '0x5'), resultText('7', wordOfPosition(['', '0x1'])), resultText('7', '0x5')];
    await expectResponse(await post(body), 200, `[${responses.join()}]`);
  });

  it('of notifications gets 204 and no body', async () => {
    await expectNoBody(await post(`[${notification}]`));
    const withObject = '{"jsonrpc":"2.0","method":"eth_chainId","params":{}}';
    await expectNoBody(await post(`[${notification},${withObject},${notification}]`));
  });

  it('with notifications among calls has no responses for them', async () => {
    const body = `[${notification},${chainId('1')},${notification},5,${chainId('2')},${notification}]`;
    const responses = [resultText('1', '0x5'), notAnObject, resultText('2', '0x5')];
    await expectResponse(await post(body), 200, `[${responses.join()}]`);
  });

  it('is HTTP 200 whatever its items return', async () => {
    node.always(status(503));
    const body = `[${storageAt(1, '1')},{"jsonrpc":"2.0","id":2,"method":"no_such"},{"jsonrpc":"2.0","id":3,"method":"eth_chainId","params":[1]}]`;
    const responses = [
      errorText(-32603, 'no upstream could answer', '1'),
      errorText(-32601, 'The method no_such does not exist/is not available', '2'),
      errorText(-32602, 'invalid params: expected no parameters', '3'),
    ];
    await expectResponse(await post(body), 200, `[${responses.join()}]`);
  });
});

describe('a batch with the same read more than once', () => {
  it('sends it once, and responds to each under its own id', async () => {
    const before = node.callsOf('eth_getStorageAt').length;
    const ids = ['1', '"a"', '9007199254740993', 'null'];
    const body = `[${ids.map((id) => storageAt(77, id)).join()},${storageAt(78, '5')}]`;
    const same = ids.map((id) => resultText(id, wordOfPosition(['', '0x4d'])));
    await expectResponse(await post(body), 200, `[${same.join()},${resultText('5', wordOfPosition(['', '0x4e']))}]`);
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(before + 2);
  });

  it('sends transactions as often as they appear', async () => {
    const raw = '0x01';
    const call = (id: number): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"eth_sendRawTransaction","params":["${raw}"]}`;
    await (await post(`[${call(1)},${call(2)}]`)).text();
    expect(node.callsOf('eth_sendRawTransaction')).toHaveLength(2);
  });
});

describe('the limits of a batch', () => {
  it('are settings', async () => {
    const small = await startGateway({ main: network(5, [node.url]) }, { BATCH_MAX_ITEMS: '2' });
    try {
      const three = `[${[1, 2, 3].map((id) => chainId(String(id))).join()}]`;
      const rejected = `[${errorText(-32600, 'batch too large: at most 2 calls are allowed', '1')}]`;
      await expectResponse(await small.post('main', three), 200, rejected);
      const two = `[${chainId('1')},${notification}]`;
      await expectResponse(await small.post('main', two), 200, `[${resultText('1', '0x5')}]`);
    } finally {
      await small.stop();
    }
  });

  it('bound the size of its response: calls beyond the limit get an error', async () => {
    const env = { batchResponseMaxBytes: '80', batchConcurrency: '1' };
    const small = await startGateway({ main: network(5, [node.url]) }, env);
    try {
      const body = `[${chainId('1')},${chainId('2')},${notification},${chainId('3')},5]`;
      const tooLarge = 'the responses of this batch have more than 80 bytes; fewer calls would fit';
      const responses = [
        ...['1', '2'].map((id) => resultText(id, '0x5')),
        ...['3', 'null'].map((id) => errorText(-32005, tooLarge, id)),
      ];
      await expectResponse(await small.post('main', body), 200, `[${responses.join()}]`);
    } finally {
      await small.stop();
    }
  });

  it('apply to responses that arrive together', async () => {
    const small = await startGateway({ main: network(5, [node.url]) }, { batchResponseMaxBytes: '1000' });
    try {
      const calls = Array.from({ length: 50 }, (_, index) => storageAt(index, String(index)));
      const text = await (await small.post('main', `[${calls.join()}]`)).text();
      const responses = JSON.parse(text) as { id: number; result?: string; error?: { code: number } }[];
      expect(responses.map(({ id }) => id)).toEqual(calls.map((_, index) => index));
      const good = responses.filter(({ result }) => result !== undefined);
      expect(good.length).toBeGreaterThan(5);
      expect(JSON.stringify(good).length).toBeLessThanOrEqual(1_000);
      expect(responses.filter(({ error }) => error?.code === -32_005)).toHaveLength(50 - good.length);
      // Each call is counted once, whatever its outcome.
      const { samples } = await readMetrics(small.address);
      const counted = samples.filter(({ name }) => name === 'gatehouse_calls_total');
      expect(counted.reduce((sum, { value }) => sum + value, 0)).toBe(50);
    } finally {
      await small.stop();
    }
  });

  it('bound the concurrency of its calls', async () => {
    let maxInFlight = 0;
    let inFlight = 0;
    const wide = await startGateway({ main: network(5, [node.url]) }, { batchConcurrency: '4' });
    node.always(async (exchange) => {
      const calls = [JSON.parse(exchange.text) as unknown].flat().length;
      maxInFlight = Math.max(maxInFlight, (inFlight += calls));
      await slow(5)(exchange);
      inFlight -= calls;
    });
    try {
      const calls = Array.from({ length: 40 }, (_, index) => storageAt(index, String(index)));
      expect((await wide.post('main', `[${calls.join()}]`)).status).toBe(200);
      expect(maxInFlight).toBe(4);
    } finally {
      await wide.stop();
    }
  });
});
