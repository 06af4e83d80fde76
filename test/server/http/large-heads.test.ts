import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { head, openRaw } from './raw-connection.ts';

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

const headers = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'b']));

it('a request with 100 headers is served, and one with more is 400', async () => {
  const connection = await openRaw(gateway.gateway.port);
  connection.send(head('GET /livez', headers(99)));
  expect((await connection.response()).status).toBe(200);
  connection.send(head('GET /livez', headers(100)));
  const { status, body } = await connection.response();
  expect([status, body]).toEqual([400, expect.stringContaining('more than 100 headers')]);
  await connection.closed;
});

it('an upgrade with more than 100 headers is 400', async () => {
  const connection = await openRaw(gateway.gateway.port);
  const websocket = {
    ...{ connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  connection.send(head(`GET /main/ws/v3/${gateway.key}`, { ...headers(100), ...websocket }));
  expect((await connection.response()).status).toBe(400);
  await connection.closed;
});
