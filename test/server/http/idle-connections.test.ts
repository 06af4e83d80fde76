import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { hang } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { holdTimers, type HeldTimers } from '../../support/hold-timers.ts';
import { head, openRaw, post, type RawConnection } from './raw-connection.ts';

const SWEEP_MS = 5_000;

let timers: HeldTimers;

beforeEach(() => {
  timers = holdTimers('setInterval');
});
afterEach(() => {
  timers.release();
});

async function start(): Promise<{ path: string; address: string; open: (bytes: string) => Promise<RawConnection> }> {
  const node = await startFakeNode({ chainId: 5 });
  node.always(hang, 'eth_getBalance');
  const gateway = await startGateway({ main: network(5, [node.url]) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const open = async (bytes: string): Promise<RawConnection> => {
    const connection = await openRaw(gateway.gateway.port);
    onTestFinished(() => {
      connection.destroy();
    });
    connection.send(bytes);
    return connection;
  };
  return { path: `/main/v3/${gateway.key}`, address: gateway.address, open };
}

const callOf = (method: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${method === 'net_version' ? '[]' : `["0x${'12'.repeat(20)}","latest"]`}}`;

it('a connection is closed when it was idle for 65 to 75 s, and its responses announce the shorter time', async () => {
  const { path, open } = await start();
  const page = head('GET /no-such-network');
  for (const request of [post(path, callOf('net_version')), post(path, '{'), page, head(`OPTIONS ${path}`)]) {
    const connection = await open(request);
    expect((await connection.response()).headers).toMatchObject({
      connection: 'keep-alive',
      'keep-alive': 'timeout=65',
    });
    await timers.forward(65_000);
    await staysTrueFor(50, () => !connection.socket.readableEnded);
    await timers.forward(2 * SWEEP_MS);
    await connection.closed;
  }
});

it('a connection is not closed while it is used, has a call in progress, or is a WebSocket', async () => {
  const { path, address, open } = await start();
  const busy = await open(post(path, callOf('eth_getBalance')));
  const used = await open(post(path, callOf('net_version')));
  await used.response();
  const socket = new WebSocket(`${address.replace('http', 'ws')}${path.replace('/v3/', '/ws/v3/')}`);
  onTestFinished(() => {
    socket.terminate();
  });
  await eventually(() => socket.readyState === WebSocket.OPEN);
  for (let round = 0; round < 6; round++) {
    // Those of two rounds may run after the same request.
    await timers.forward(6 * SWEEP_MS);
    used.send(post(path, callOf('net_version')));
    expect((await used.response()).status).toBe(200);
  }
  expect(busy.socket.readableEnded).toBe(false);
  expect(socket.readyState).toBe(WebSocket.OPEN);
});

it.each([
  ['Connection: close', 'close', post],
  ['HTTP/1.0', 'close', (path: string, body: string) => post(path, body).replace('HTTP/1.1', 'HTTP/1.0')],
])('a response that closes its connection announces no time: %s', async (_case, connection, requestOf) => {
  const { path, open } = await start();
  const closing = await open(requestOf(path, callOf('net_version'), { connection }));
  const { headers } = await closing.response();
  expect(headers['connection']).toBe('close');
  expect(headers).not.toHaveProperty('keep-alive');
  await closing.closed;
});
