import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import type { ConnectionMessage, MessageToPrimary } from '../../gateway/workers/messages.ts';
import {
  CLOSE_PORT_TOPIC,
  OPEN_PORT_TOPIC,
  SharedPorts,
  type PortResponse,
} from '../../gateway/workers/shared-ports.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { WorkerPorts } from '../../gateway/workers/worker-ports.ts';
import { eventually } from '../support/eventually.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from './linked-workers.ts';

const time = simulateTime();

interface Offered {
  readonly worker: number;
  readonly message: ConnectionMessage;
  readonly socket: Socket;
}

const opened: { readonly ports: SharedPorts; readonly clients: Socket[] }[] = [];
afterEach(async () => {
  for (const { ports, clients } of opened.splice(0)) {
    for (const client of clients) client.destroy();
    await Promise.all([1, 2].map((worker) => ports.remove(worker)));
  }
});

/** Two workers that listen on one port, and the connections that they were offered. */
async function openPorts(): Promise<{
  ports: SharedPorts;
  offered: Offered[];
  /** Offers that workers were sent again, without a socket. */
  repeated: ConnectionMessage[];
  /** Sends a request of the first worker to the primary. */
  request: (topic: string, body: unknown) => Promise<unknown>;
  port: number;
  connect: () => Promise<Offered>;
  /** Opens connections that no worker gets yet. */
  connectMore: (count: number, to?: number) => Promise<void>;
  links: readonly WorkerLink[];
  /** The second worker opens the port, after it was removed. */
  rejoin: () => Promise<void>;
}> {
  const { workers, links } = await linkedWorkers(2);
  const ports = new SharedPorts();
  const offered: Offered[] = [];
  const repeated: ConnectionMessage[] = [];
  const clients: Socket[] = [];
  opened.push({ ports, clients });
  ports.serve(workers.router);
  let port = 0;
  const join = async (link: WorkerLink): Promise<void> => {
    ports.add(link.id, (message, socket) => {
      if (socket === undefined) repeated.push(message);
      else offered.push({ worker: link.id, message, socket });
    });
    const request = { name: 'main', host: '127.0.0.1', port: 0 };
    const response = (await link.request('primary', OPEN_PORT_TOPIC, request)) as { port: number };
    port = response.port;
  };
  for (const link of links) await join(link);
  const open = async (): Promise<Offered> => {
    const count = offered.length;
    clients.push(connect(port, '127.0.0.1'));
    await eventually(() => offered.length > count);
    return offered.at(-1) as Offered;
  };
  const openMore = async (count: number, to = port): Promise<void> => {
    for (let opening = 0; opening < count; opening++) {
      const client = connect(to, '127.0.0.1');
      clients.push(client);
      await once(client, 'connect');
    }
    // The server accepts them in the turns after.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  };
  const request = (topic: string, body: unknown): Promise<unknown> =>
    (links[0] as (typeof links)[0]).request('primary', topic, body);
  const rejoin = (): Promise<void> => join(links[1] as WorkerLink);
  return { ports, offered, repeated, request, port, connect: open, connectMore: openMore, links, rejoin };
}

function accept(ports: SharedPorts, worker: number, id: number, open: number): void {
  ports.responded(worker, { kind: 'connection-response', id, isAccepted: true, open });
}

function decline(ports: SharedPorts, worker: number, id: number): void {
  ports.responded(worker, { kind: 'connection-response', id, isAccepted: false, open: 0 });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isListening;
}

const workersOf = (offered: readonly Offered[]): number[] => offered.map(({ worker }) => worker);

it('a connection goes to the worker with the fewest, and to those with equally many in turn', async () => {
  const { ports, offered, connect } = await openPorts();
  for (let count = 1; count <= 4; count++) {
    const { worker, message } = await connect();
    accept(ports, worker, message.id, Math.ceil(count / 2));
  }
  expect(workersOf(offered)).toEqual([1, 2, 1, 2]);
  ports.heard(2, 0);
  const { message } = await connect();
  accept(ports, 2, message.id, 1);
  await connect();
  expect(workersOf(offered).slice(4)).toEqual([2, 2]);
});

it('a worker gets one connection at a time, and further ones wait', async () => {
  const { ports, offered, connect, connectMore } = await openPorts();
  const [first, second] = [await connect(), await connect()];
  await connectMore(3);
  expect(workersOf(offered)).toEqual([1, 2]);
  accept(ports, 2, second.message.id, 1);
  expect(workersOf(offered)).toEqual([1, 2, 2]);
  accept(ports, 1, first.message.id, 1);
  expect(workersOf(offered)).toEqual([1, 2, 2, 1]);
  expect(offered.map(({ message }) => message.id)).toEqual([1, 2, 3, 4]);
});

it('a connection that is not accepted within 100 ms goes to another worker, and the late one gets none until it responds', async () => {
  const { ports, offered, connect } = await openPorts();
  const { message, socket } = await connect();
  await time().advance(99);
  expect(workersOf(offered)).toEqual([1]);
  await time().advance(2);
  expect(workersOf(offered)).toEqual([1, 2]);
  expect(offered[1]?.socket).toBe(socket);
  // The late worker declines it, also if it reads the message before the primary has read another one.
  expect(message.validMs).toBeLessThan(100);
  accept(ports, 2, offered[1]?.message.id ?? 0, 5);
  expect(socket.destroyed).toBe(true);
  accept(ports, 2, (await connect()).message.id, 6);
  await connect();
  expect(workersOf(offered)).toEqual([1, 2, 2, 2]);
  decline(ports, 1, message.id);
  await connect();
  expect(workersOf(offered)).toEqual([1, 2, 2, 2, 1]);
});

it('a connection that two workers get too late goes to each for twice the time at each attempt', async () => {
  const { ports, offered, connect } = await openPorts();
  const { message } = await connect();
  await time().advance(101);
  await time().advance(201);
  expect(workersOf(offered)).toEqual([1, 2]);
  decline(ports, 1, message.id);
  expect(workersOf(offered)).toEqual([1, 2, 1]);
  decline(ports, 2, 2);
  decline(ports, 1, 3);
  expect(workersOf(offered)).toEqual([1, 2, 1, 2]);
  const valid = offered.map((each) => each.message.validMs);
  expect(valid).toEqual([1, 2, 4, 8].map((times) => times * (valid[0] as number)));
});

it('what a worker that ends has not accepted goes to another one, each connection once', async () => {
  const { ports, offered, connect, connectMore } = await openPorts();
  const first = await connect();
  accept(ports, 1, first.message.id, 1);
  const [second, third] = [await connect(), await connect()];
  expect([second.worker, third.worker]).toEqual([2, 1]);
  await connectMore(1);
  await ports.remove(2);
  expect(workersOf(offered)).toEqual([1, 2, 1]);
  accept(ports, 1, third.message.id, 2);
  expect([offered[3]?.worker, offered[3]?.socket]).toEqual([1, second.socket]);
  accept(ports, 1, 4, 3);
  expect(new Set(offered.map(({ socket }) => socket)).size).toBe(4);
  accept(ports, 1, 5, 4);
  await time().advance(1_000);
  expect(workersOf(offered)).toEqual([1, 2, 1, 1, 1]);
});

it('a worker that has lost a connection, such as without a free descriptor, gets it again', async () => {
  const { ports, offered, repeated, connect } = await openPorts();
  await ports.remove(2);
  const first = await connect();
  await time().advance(101);
  expect(repeated).toEqual([first.message]);
  // It has the second message only, and declines it.
  decline(ports, 1, first.message.id);
  expect(offered.map(({ socket }) => socket)).toEqual([first.socket, first.socket]);
  // A late response to the first message changes nothing.
  decline(ports, 1, first.message.id);
  expect(offered).toHaveLength(2);
  accept(ports, 1, offered[1]?.message.id ?? 0, 1);
  expect(first.socket.destroyed).toBe(true);
  expect(workersOf([await connect()])).toEqual([1]);
});

it('a connection of a worker that hangs goes to one that joins later', async () => {
  const { ports, offered, connect, rejoin } = await openPorts();
  await ports.remove(2);
  const { socket } = await connect();
  await time().advance(101);
  await rejoin();
  expect(offered.slice(1)).toMatchObject([{ worker: 2, socket }]);
});

it('the time for a connection has a bound', async () => {
  const { ports, offered, connect } = await openPorts();
  await ports.remove(2);
  const { message } = await connect();
  for (let times = 1; times <= 10; times++) decline(ports, 1, offered.at(-1)?.message.id ?? 0);
  expect([message.validMs, offered.at(-1)?.message.validMs]).toEqual([75, 4_800]);
});

it('the last worker that closes a port gets what has connected before, and nothing later', async () => {
  const { ports, offered, request, port, connect, connectMore } = await openPorts();
  await ports.remove(2);
  await connect();
  await connectMore(2);
  let isClosed = false;
  const closing = request(CLOSE_PORT_TOPIC, 'main').then(() => (isClosed = true));
  await eventually(async () => {
    await time().advance(0);
    return isFree(port);
  });
  while (offered.length < 3) accept(ports, 1, offered.at(-1)?.message.id ?? 0, offered.length);
  await time().advance(10);
  expect(isClosed).toBe(false);
  accept(ports, 1, offered.at(-1)?.message.id ?? 0, 3);
  await time().advance(10);
  await closing;
  expect(new Set(offered.map(({ socket }) => socket)).size).toBe(3);
});

it('the last worker that closes a port waits for a second at most', async () => {
  const { ports, offered, request, connect } = await openPorts();
  await ports.remove(2);
  const { socket } = await connect();
  // The next offer has 3.2 s.
  for (let times = 1; times <= 5; times++) decline(ports, 1, offered.at(-1)?.message.id ?? 0);
  let isClosed = false;
  const closing = request(CLOSE_PORT_TOPIC, 'main').then(() => (isClosed = true));
  await eventually(async () => {
    await time().advance(100);
    return isClosed;
  });
  await closing;
  expect(socket.destroyed).toBe(false);
  decline(ports, 1, offered.at(-1)?.message.id ?? 0);
  expect(socket.destroyed).toBe(true);
});

it('a connection that waits does not delay those of another port', async () => {
  const { offered, connect, connectMore, links } = await openPorts();
  const other = links[1] as WorkerLink;
  const ops = { name: 'ops', host: '127.0.0.1', port: 0 };
  const { port } = (await other.request('primary', OPEN_PORT_TOPIC, ops)) as { port: number };
  await connect();
  await other.request('primary', CLOSE_PORT_TOPIC, 'main');
  await connectMore(1);
  await connectMore(1, port);
  expect(offered.map(({ worker, message }) => [worker, message.port])).toEqual([
    [1, 'main'],
    [2, 'ops'],
  ]);
});

it('what a worker declines after the port has stopped is closed, and delays no other connection', async () => {
  const { ports, offered, connect, connectMore, links } = await openPorts();
  const other = links[1] as WorkerLink;
  const ops = { name: 'ops', host: '127.0.0.1', port: 0 };
  const { port } = (await other.request('primary', OPEN_PORT_TOPIC, ops)) as { port: number };
  const first = await connect();
  let isClosed = false;
  const closing = Promise.all(links.map((link) => link.request('primary', CLOSE_PORT_TOPIC, 'main')));
  void closing.then(() => (isClosed = true));
  await time().advance(10);
  expect(isClosed).toBe(false);
  decline(ports, 1, first.message.id);
  expect(offered[1]).toMatchObject({ worker: 2, socket: first.socket });
  await eventually(async () => {
    await time().advance(100);
    return isClosed;
  });
  decline(ports, 2, offered[1]?.message.id ?? 0);
  expect(first.socket.destroyed).toBe(true);
  await connectMore(1, port);
  expect(offered.at(-1)).toMatchObject({ worker: 2, message: { port: 'ops' } });
});

it('a port that two workers open listens for the second one, also if the first one ends meanwhile', async () => {
  const { ports, links, connectMore, offered } = await openPorts();
  const ops = { name: 'ops', host: '127.0.0.1', port: 0 };
  const opening = Promise.all(links.map((link) => link.request('primary', OPEN_PORT_TOPIC, ops)));
  void ports.remove(1);
  const [, response] = (await opening) as [unknown, { port: number }];
  await connectMore(1, response.port);
  expect(offered).toMatchObject([{ worker: 2, message: { port: 'ops' } }]);
});

it('a port that is in use is the error of the system, in the worker', async () => {
  const { request, port } = await openPorts();
  const ops = { name: 'ops', host: '127.0.0.1', port };
  const response = (await request(OPEN_PORT_TOPIC, ops)) as PortResponse;
  expect(response).toMatchObject({ error: { code: 'EADDRINUSE', syscall: 'listen', port } });
  await expect(new WorkerPorts(request, () => undefined).listen(ops, () => undefined)).rejects.toEqual(
    expect.objectContaining({ code: 'EADDRINUSE', message: expect.stringContaining(String(port)) as string }),
  );
});

it('a worker declines a connection that it receives too late, before it reads from it', async () => {
  const { request, connect } = await openPorts();
  const sent: MessageToPrimary[] = [];
  const ports = new WorkerPorts(request, (message) => sent.push(message));
  const used: Socket[] = [];
  await ports.listen({ name: 'main', host: '127.0.0.1', port: 0 }, (socket) => used.push(socket));
  const [first, second] = [await connect(), await connect()];
  const [message, other] = [
    { ...first.message, id: 1 },
    { ...second.message, id: 2 },
  ];
  ports.received(message, first.socket);
  await time().advance(message.validMs + 1);
  // The time of the machine is set back meanwhile.
  vi.spyOn(time(), 'unixMs').mockReturnValue(0);
  ports.received(other, second.socket);
  ports.received({ ...message, id: 3 }, undefined);
  expect(sent).toEqual([
    { kind: 'connection-response', id: 1, isAccepted: true, open: 1 },
    { kind: 'connection-response', id: 2, isAccepted: false, open: 1 },
    { kind: 'connection-response', id: 3, isAccepted: false, open: 1 },
  ]);
  expect([used, second.socket.destroyed]).toEqual([[first.socket], true]);
  first.socket.destroy();
  await once(first.socket, 'close');
  expect(ports.open).toBe(0);
  await time().advance(10);
  expect(sent.at(-1)).toEqual({ kind: 'alive', open: 0 });
});
