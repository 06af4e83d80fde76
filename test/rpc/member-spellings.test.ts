import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limited, type Limited } from '../limits/limited.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';

const a = `0x${'aa'.repeat(20)}`;
const b = `0x${'bb'.repeat(20)}`;

let node: FakeNode;
let gateway: TestGateway;
beforeAll(async () => {
  node = await startFakeNode({ chainId: 7, responses: { eth_call: '0x', eth_getLogs: [], eth_simulateV1: [] } });
  gateway = await startGateway({ test: network(7, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const request = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
const padding = ' '.repeat(100_001);

async function post(body: string): Promise<[status: number, response: unknown]> {
  const response = await gateway.post('test', body);
  return [response.status, await response.json()];
}

async function sendBySocket(body: string): Promise<unknown> {
  const caller = await openCaller(socketUrl(gateway, 'test'));
  try {
    caller.send(body);
    return JSON.parse(await caller.next());
  } finally {
    caller.socket.close();
  }
}

/** The responses over HTTP and WebSocket, alone and in a batch, in a small and in a large body. */
async function responsesOf(text: string, status: number): Promise<unknown[]> {
  const alone = await Promise.all([post(text), post(text + padding)]);
  const batches = await Promise.all([post(`[${text}]`), post(`[${text}]${padding}`)]);
  expect(alone.map(([code]) => code)).toEqual([status, status]);
  expect(batches.map(([code]) => code)).toEqual([200, 200]);
  const overHttp = [...alone, ...batches].map(([, response]) => response);
  return [...overHttp, await sendBySocket(text), await sendBySocket(`[${text}]`)].flat();
}

describe('a member in another case, or a duplicate, is rejected over every transport', () => {
  it.each([
    ['eth_call', `[{"to":"${a}","To":"${b}"},"latest"]`, 'transaction.to: expected exactly this spelling'],
    ['eth_call', `[{"to":"${a}","to":"${b}"},"latest"]`, 'transaction.to: expected only once'],
    ['eth_estimateGas', `[{"to":"${a}","ga\u017f":"0xfffffffff"}]`, 'transaction.gas: expected exactly this spelling'],
    ['eth_createAccessList', `[{"to":"${a}","TO":"${b}"}]`, 'transaction.to: expected exactly this spelling'],
    ['eth_getLogs', `[{"address":"${a}","addre\\u017fs":"${b}"}]`, 'filter.address: expected exactly this spelling'],
    ['eth_newFilter', `[{"address":"${a}","address":"${b}"}]`, 'filter.address: expected only once'],
    ['eth_subscribe', `["logs",{"address":"${a}","Address":"${b}"}]`, 'filter.address: expected exactly this spelling'],
    [
      'eth_getBalance',
      `["${a}",{"blockNumber":"0x1","BlockNumber":"0x2"}]`,
      'block.blockNumber: expected exactly this spelling',
    ],
    [
      'eth_simulateV1',
      `[{"blockStateCalls":[{"calls":[{"gas":"0x1","Gas":"0x2"}]}]}]`,
      'simulation.blockStateCalls[0].calls[0].gas: expected exactly this spelling',
    ],
  ])('%s %s', async (method, params, sentence) => {
    const error = { code: -32602, message: `invalid params: ${sentence}` };
    const responses = await responsesOf(request(method, params), 200);
    expect(responses).toEqual(Array.from({ length: 6 }, () => ({ jsonrpc: '2.0', id: 7, error })));
    expect(node.callsOf(method)).toEqual([]);
  });

  it.each([
    ['"Params":[]', 'params in exactly this spelling', 7],
    ['"id":8', 'id only once', null],
  ])('in the envelope: %s', async (member, expected, id) => {
    const error = { code: -32600, message: `invalid request: expected ${expected}` };
    const text = request('eth_chainId', `[],${member}`);
    const responses = await responsesOf(text, 400);
    expect(responses).toEqual(Array.from({ length: 6 }, () => ({ jsonrpc: '2.0', id, error })));
  });
});

it('other members are forwarded unchanged', async () => {
  const call = `{"to":"${a}","chainID":"0x7","Nonce":"0x1"}`;
  const overrides = `{"${a}":{"balance":"0x1"},"${a.toUpperCase().replace('X', 'x')}":{"Balance":"0x2"}}`;
  const [, response] = await post(request('eth_call', `[${call},"latest",${overrides}]`));
  expect(response).toMatchObject({ result: '0x' });
  expect(node.callsOf('eth_call').at(-1)?.params).toEqual([
    { to: a, chainID: '0x7', Nonce: '0x1' },
    'latest',
    JSON.parse(overrides),
  ]);
});

it('such rejections cost a key nothing, alone and in a batch', async () => {
  const one: Limited = await limited();
  await one.setPermissions({ rate: '0.001', burst: '2' });
  const bad = request('eth_estimateGas', `[{"to":"${a}","To":"${b}"}]`);
  const send = async (body: string): Promise<unknown> => (await one.gateway.post('test', body)).json();
  for (const body of [bad, `[${bad},${bad}]`]) {
    expect([await send(body)].flat()[0]).toMatchObject({ error: { code: -32602 } });
  }
  expect(await send(request('eth_estimateGas', `[{"to":"${a}"}]`))).toMatchObject({ result: '0x5208' });
});
