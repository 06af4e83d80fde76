import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { hang } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { openRaw, post, type RawConnection } from './raw-connection.ts';

const REQUESTS = 1_000;

it('of a connection that is closed because it pipelines too much, the rest of the read is not parsed', async () => {
  const node = await startFakeNode({ chainId: 5 });
  const gateway = await startGateway({ main: network(5, [node.url]) }, { BODIES_MAX_BYTES: '100000' });
  let parsed = 0;
  const count = (): void => {
    parsed++;
  };
  subscribe('http.server.request.start', count);
  onTestFinished(async () => {
    unsubscribe('http.server.request.start', count);
    await gateway.stop();
    await node.close();
  });
  const closed = async () =>
    (await readMetrics(gateway.address)).value('gatehouse_memory_rejections_total', { reason: 'connection' }) ?? 0;
  const before = await closed();
  parsed = 0;
  const connection = await openRaw(gateway.gateway.port);
  // One write, which the gateway reads at once.
  connection.send('GET /openrpc.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(REQUESTS));
  await eventually(async () => (await closed()) > before);
  connection.destroy();
  expect(parsed).toBeGreaterThan(5);
  expect(parsed).toBeLessThan(REQUESTS / 2);
});

it('beyond CONNECTIONS_MAX, the oldest connection without a request in progress is closed', async () => {
  const node = await startFakeNode({ chainId: 5 });
  node.next(hang, 'eth_getBalance');
  const gateway = await startGateway({ main: network(5, [node.url]) }, { CONNECTIONS_MAX: '8' });
  const opened: RawConnection[] = [];
  onTestFinished(async () => {
    for (const connection of opened) connection.destroy();
    await gateway.stop();
    await node.close();
  });
  const open = async (text: string): Promise<RawConnection> => {
    const connection = await openRaw(gateway.gateway.port);
    opened.push(connection);
    connection.send(text);
    return connection;
  };
  const path = `/main/v3/${gateway.key}`;
  const params = [`0x${'12'.repeat(20)}`, 'latest'];
  const busy = await open(post(path, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params })));
  await eventually(() => node.callsOf('eth_getBalance').length === 1);
  const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${gateway.key}`);
  onTestFinished(() => {
    socket.close();
  });
  await eventually(() => socket.readyState === WebSocket.OPEN);

  const partial: RawConnection[] = [];
  for (let count = 0; count < 20; count++) partial.push(await open('GET / HTTP/1.1\r\nHost: a\r\nX-A: '));
  await Promise.all(partial.slice(0, 10).map(({ closed }) => closed));
  const last = await open(post(path, '{"jsonrpc":"2.0","id":1,"method":"net_version"}'));
  expect((await last.response()).status).toBe(200);
  expect(busy.socket.readableEnded).toBe(false);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  expect(partial.at(-1)?.socket.readableEnded).toBe(false);
});
