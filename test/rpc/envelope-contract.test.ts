import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { status } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  errorText,
  expectResponse,
  expectNoBody,
  expectRejection,
  resultText,
} from '../server/http/expect-response.ts';

/** The envelope of single calls over HTTP. Batches, bodies, addresses and keys have their own files. */

const hash = `0x${'ab'.repeat(32)}`;
const address = `0x${'12'.repeat(20)}`;
const word = `0x${'0'.repeat(63)}7`;

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word, eth_getTransactionReceipt: null } });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const post = (body: string): Promise<Response> => gateway.post('main', body);

function callText(method: string, params: unknown, id = '1'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`;
}

describe('a call', () => {
  it('gets its result and HTTP 200', async () => {
    await expectResponse(await post(callText('eth_chainId', [])), 200, resultText('1', '0x5'));
    await expectResponse(
      await post(callText('eth_getStorageAt', [address, '0x0', 'latest'])),
      200,
      resultText('1', word),
    );
    await expectResponse(await post(callText('eth_getTransactionReceipt', [hash])), 200, resultText('1', null));
  });

  it('has a request id of its own', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, () => post(callText('eth_chainId', []))));
    expect(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size).toBe(50);
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"method":"net_version"}',
    '{"id":1,"params":null,"method":"net_version","jsonrpc":"2.0"}',
  ])('needs no params if the method has none: %s', async (body) => {
    await expectResponse(await post(body), 200, resultText('1', '5'));
  });

  it('may be written with spaces, in any order, and with unknown members', async () => {
    const body =
      ' \r\n{ "x" : { "id" : 9 } , "method" : "net_version" ,\t"params" : [ ] , "id" : "a" , "jsonrpc" : "2.0" }\n';
    await expectResponse(await post(body), 200, resultText('"a"', '5'));
  });

  it.each([
    ...['0', '-0', '7', '9007199254740993', '123456789012345678901234567890', '1.0', '1.5', '1e3', '1E400', '-3'],
    ...['""', '"a"', '"\\u0041"', '"\\"\\\\"', '"7a3b-uuid"', '"é✓😀"', '"\\ud83d"', '"}]"', 'null'],
  ])('gets its id back unchanged: %s', async (id) => {
    await expectResponse(await post(callText('net_version', [], id)), 200, resultText(id, '5'));
    await expectResponse(
      await post(callText('no_such', [], id)),
      200,
      errorText(-32601, 'The method no_such does not exist/is not available', id),
    );
  });
});

describe('an error of a well-formed call is HTTP 200', () => {
  it.each([
    ['eth_getTransactionByHash', ['0x12'], 'invalid params: transactionHash: expected 32-byte hash'],
    ['eth_getStorageAt', [address, '0x0'], 'invalid params: block: expected block number or tag'],
    ['eth_chainId', [1], 'invalid params: expected no parameters'],
    ['eth_getTransactionReceipt', [], 'invalid params: transactionHash: expected 32-byte hash'],
  ])('wrong parameters of %s: %j', async (method, params, message) => {
    await expectResponse(await post(callText(method, params)), 200, errorText(-32602, message, '1'));
  });

  it.each(['{}', '{"block":"latest"}'])('params given as an object: %s', async (params) => {
    const body = `{"jsonrpc":"2.0","id":"7","method":"eth_chainId","params":${params}}`;
    const text = errorText(-32602, 'invalid params: expected a positional array', '"7"');
    await expectResponse(await post(body), 200, text);
  });

  it.each(['eth_nonsense', 'zks_estimateFee', 'toString', '__proto__', '', 'ETH_CHAINID'])(
    'a method that the network does not serve: %s',
    async (method) => {
      const text = errorText(-32601, `The method ${method} does not exist/is not available`, '1');
      await expectResponse(await post(callText(method, [])), 200, text);
    },
  );

  it('a very long method name is cut in the message', async () => {
    const text = errorText(-32601, `The method ${'m'.repeat(100)} does not exist/is not available`, '1');
    await expectResponse(await post(callText('m'.repeat(100_000), [])), 200, text);
  });

  it('a revert, with its reason and its payload', async () => {
    const payload = `0x08c379a0${'0'.repeat(62)}20${'0'.repeat(63)}2${Buffer.from('no').toString('hex').padEnd(64, '0')}`;
    node.response('eth_estimateGas', rpcError(3, 'execution reverted: no', payload));
    const text = errorText(3, 'execution reverted: no', '1', payload);
    await expectResponse(await post(callText('eth_estimateGas', [{ to: address }])), 200, text);
  });

  it('the node’s own error, without data that is not hexadecimal', async () => {
    const message = 'insufficient funds for gas * price + value: have 0 want 1';
    node.response('eth_estimateGas', rpcError(-32000, message, { hint: 'a node’s own' }));
    const text = errorText(-32000, message, '1');
    await expectResponse(await post(callText('eth_estimateGas', [{ to: address }])), 200, text);
  });
});

it('a call without any upstream response is 503, -32603, and 200 inside a batch', async () => {
  const call = callText('eth_getStorageAt', [address, '0x0', 'latest'], '"a"');
  const text = errorText(-32603, 'no upstream could answer', '"a"');
  node.always(status(500));
  try {
    await expectResponse(await post(call), 503, text);
    await expectResponse(await post(`[${call}]`), 200, `[${text}]`);
  } finally {
    node.always(undefined);
  }
});

describe('a body that is not JSON is 400, -32700, id null', () => {
  it.each([
    ...['', ' ', '{', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"', '[1,]', "{'a':1}", 'undefined', 'NaN', '1 2'],
    ...[
      '<html></html>',
      'a=b&c=d',
      '{"id":01}',
      '"\u0001"',
      '\ufeff{}',
      '{"jsonrpc":"2.0","id":1,"method":"x"}garbage',
    ],
  ])('%j', async (body) => {
    await expectRejection(await post(body), 400, -32700, 'parse error: the body is not JSON');
  });
});

describe('an invalid request object is -32600: 400 for a lone call, 200 inside a batch', () => {
  const object = 'invalid request: expected a JSON-RPC 2.0 request object';
  const version = 'invalid request: expected jsonrpc to be "2.0"';
  const id = 'invalid request: expected id to be a string, a number or null';
  const method = 'invalid request: expected method to be a string';
  const params = 'invalid request: expected params to be an array';
  const only = (member: string): string => `invalid request: expected ${member} only once`;
  const exactly = (member: string): string => `invalid request: expected ${member} in exactly this spelling`;

  it.each([
    ...['5', '0', '"x"', 'null', 'true', 'false', '-1.5e3'].map((body) => [body, object]),
    ['{}', version],
    ['{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', id],
    ['{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}', id],
    ['{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}', id],
    ['{"jsonrpc":"2.0","id":false,"method":"eth_chainId"}', id],
    ['{"jsonrpc":"1.0","id":{"a":1},"method":"eth_chainId"}', version],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_chainId"}', only('id')],
    ['{"jsonrpc":"2.0","id":1,"Id":2,"method":"eth_chainId"}', exactly('id')],
    ['{"method":"a","id":{},"method":"b","id":1}', only('method')],
  ])('without a readable id, the id is null: %s', async (body = '', message = '') => {
    await expectRejection(await post(body), 400, -32600, message);
    await expectResponse(await post(`[${body}]`), 200, `[${errorText(-32600, message)}]`);
  });

  // ethers-rs takes a response with id null for the end of its WebSocket.
  it.each([
    ['{"id":1,"method":"eth_chainId"}', '1', version],
    ['{"jsonrpc":"1.0","id":"a","method":"eth_chainId"}', '"a"', version],
    ['{"jsonrpc":2.0,"id":9007199254740993,"method":"eth_chainId"}', '9007199254740993', version],
    ['{"jsonrpc":"2.0","id":1.50}', '1.50', method],
    ['{"jsonrpc":"2.0","id":"","method":5}', '""', method],
    ['{"jsonrpc":"2.0","id":0,"method":null}', '0', method],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":"x"}', '1', params],
    ['{"jsonrpc":"2.0","id":"\\u0041","method":"eth_chainId","params":0}', '"\\u0041"', params],
    ['{"jsonrpc":"2.0","id":1,"result":"0x1"}', '1', method],
    ['{"jsonrpc":"2.0","METHOD":"a","id":7}', '7', exactly('method')],
    ['{ "jsonrpc":"2.0","method":"a","method":"b","id":1.0}', '1.0', only('method')],
  ])('otherwise the response has the id: %s', async (body, given, message) => {
    const rejection = errorText(-32600, message, given);
    await expectResponse(await post(body), 400, rejection);
    const call = '{"jsonrpc":"2.0","id":2,"method":"net_version"}';
    await expectResponse(await post(`[${body},${call}]`), 200, `[${rejection},${resultText('2', '5')}]`);
  });
});

describe('a notification gets 204 and no body', () => {
  it.each([
    '{"jsonrpc":"2.0","method":"eth_chainId"}',
    '{"jsonrpc":"2.0","method":"eth_chainId","params":[1]}',
    '{"jsonrpc":"2.0","method":"eth_chainId","params":{}}',
    '{"jsonrpc":"2.0","method":"no_such"}',
    '{"jsonrpc":"2.0","method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}',
  ])('%s', async (body) => {
    const before = node.calls.length;
    await expectNoBody(await post(body));
    expect(node.calls.slice(before).map(({ method }) => method)).not.toContain('eth_getStorageAt');
  });

  it('but an invalid request object without an id is rejected', async () => {
    const message = 'invalid request: expected method to be a string';
    await expectRejection(await post('{"jsonrpc":"2.0"}'), 400, -32600, message);
  });
});
