import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { RejectedBodies } from '../../../gateway/limits/rejected-bodies.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { listen, type ListenAddress, type Listener } from '../../../gateway/server/http/http-server.ts';
import type { RequestHandler } from '../../../gateway/server/http/client-connection.ts';
import { eventually } from '../../support/eventually.ts';

type Ports = NonNullable<ListenAddress['ports']>;

/** A server whose connections another one has accepted. */
async function listenElsewhere(handle: RequestHandler, requestTimeoutMs: number): Promise<Listener> {
  const memory = new MemoryBudget({ requestsMax: 10, maxBytes: 1e9 });
  const account = memory.addressAccount('192.0.2.1');
  const accepting = createServer();
  const ports: Ports = {
    listen: async (_request, use) => {
      accepting.on('connection', use).listen(0, '127.0.0.1');
      await once(accepting, 'listening');
      return (accepting.address() as AddressInfo).port;
    },
    close: () => {
      accepting.close();
      return Promise.resolve();
    },
  };
  const options = { memory, accountOf: () => account, rejectedBodies: new RejectedBodies(), connectionsMax: 10 };
  return listen(handle, { name: 'main', host: '127.0.0.1', port: 0, ports }, requestTimeoutMs, options);
}

const head = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

it('connections that another process has accepted have the time limits of requests', async () => {
  const listener = await listenElsewhere(() => undefined, 100);
  const client = connect(listener.port, '127.0.0.1');
  client.write(head.slice(0, 10));
  expect(await text(client)).toMatch(/^HTTP\/1.1 408 /);
  await listener.drain(100);
});

it('connections that another process has accepted are waited for when the server drains', async () => {
  const responses: ServerResponse[] = [];
  const listener = await listenElsewhere((_, response) => responses.push(response), 60_000);
  const client = connect(listener.port, '127.0.0.1');
  client.write(head);
  await eventually(() => responses.length === 1);
  const order: string[] = [];
  const drained = listener.drain(60_000).then(() => order.push('drained'));
  const read = text(client).then((response) => order.push(response.slice(0, 15)));
  await clock.nextTurn();
  expect(order).toEqual([]);
  responses[0]?.end('done');
  await Promise.all([drained, read]);
  expect(order.sort()).toEqual(['HTTP/1.1 200 OK', 'drained']);
});
