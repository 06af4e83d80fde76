import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { reasons, RpcError } from '../../../gateway/jsonrpc/errors.ts';
import { reasonPhraseOf } from '../../../gateway/jsonrpc/response.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventually } from '../../support/eventually.ts';
import { socketUrl } from '../websocket/caller.ts';

const call =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x1212121212121212121212121212121212121212"]}';
let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getBalance: '0x1' } });
  gateway = await startGateway({ main: network(5, [node.url]) }, { BODY_MAX_BYTES: '1000' });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** The status, the reason phrase, and the message in the body. */
async function post(path: string, body = call): Promise<[number, string, string | undefined]> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${gateway.address}${path}`, { method: 'POST', headers, body });
  const { error } = (await response.json()) as { error?: { message: string } };
  return [response.status, response.statusText, error?.message];
}

it('a rejection over HTTP has its message as reason phrase', async () => {
  const path = `/main/v3/${gateway.key}`;
  const rejections = [
    await post('/main/v3/unknown'),
    await post(`/unknown/v3/${gateway.key}`),
    await post(path, call.padEnd(2_000)),
    await post(path, '{'),
  ];
  expect(rejections.map(([status]) => status)).toEqual([401, 404, 413, 400]);
  for (const [, phrase, message] of rejections) expect(phrase).toBe(message);
  expect(await post(path)).toEqual([200, 'OK', undefined]);
});

it('so has a batch that a rate limit rejects', async () => {
  await gateway.gateway.keys.update(keyIdOf(digestOf(gateway.key)), { rate: '1', burst: '2' });
  let response: Response | undefined;
  await eventually(async () => {
    response = await gateway.post('main', `[${call},${call}]`);
    return response.status === 429;
  });
  expect(response?.statusText).toBe('project ID request rate exceeded');
});

it('so has a rejected upgrade', async () => {
  const socket = new WebSocket(socketUrl(gateway, 'main', 'unknown'));
  socket.on('error', () => undefined);
  const [request, response] = (await once(socket, 'unexpected-response')) as [ClientRequest, IncomingMessage];
  expect([response.statusCode, response.statusMessage]).toEqual([401, 'invalid project id']);
  request.destroy();
});

it('every phrase is printable ASCII of at most 200 characters', () => {
  const messages = reasons.map((reason) => new RpcError(reason).message);
  for (const message of messages) expect(reasonPhraseOf(message)).toBe(message);
  expect(reasonPhraseOf('a\r\nSet-Cookie: b=c')).toBe('a Set-Cookie: b=c');
  expect(reasonPhraseOf('Lücke … \u{1f600}')).toBe('L cke');
  expect(reasonPhraseOf('x'.repeat(1_000))).toHaveLength(200);
});
