import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { hang } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { shiftClock } from '../../routing/with-nodes.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { holdTimers, type HeldTimers } from '../../support/hold-timers.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { gatewaySocket, unreadBytes, untilBuffersAreFull } from '../http/gateway-socket.ts';

/** Tests advance the gateway's own clock: its intervals and `clock.now`. Sockets run in real time. */

const account = '0x1212121212121212121212121212121212121212';
const storageAt = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getStorageAt","params":["${account}","0x0","latest"]}`;

const hash = `0x${'ab'.repeat(32)}`;
const transaction = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getTransactionByHash","params":["${hash}"]}`;

let node: FakeNode;
let gateway: TestGateway;
let caller: Caller;
let pings: number;
let timers: HeldTimers;
let time: ReturnType<typeof shiftClock>;

beforeEach(async () => {
  timers = holdTimers('setInterval');
  time = shiftClock();
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
});
afterEach(async () => {
  timers.release();
  caller.socket.terminate();
  await gateway.stop();
  await node.close();
});

async function open(options: { autoPong?: boolean } = {}, env: Record<string, string> = {}): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url], { bounds: { maxResponseBytes: 100_000_000 } }) }, env);
  caller = await openCaller(socketUrl(gateway, 'main'), options);
  // Known to the gateway's own clock, too.
  await caller.call('net_version');
  pings = 0;
  caller.socket.on('ping', () => {
    pings += 1;
  });
}

/** Advances the clock, then waits until either side has read everything that the other has sent. */
async function pass(seconds: number): Promise<void> {
  await passUnread(seconds);
  await eventually(() => {
    const client = tcpSocket();
    const server = gatewaySocket(client);
    if (server === undefined || !isOpen()) return !isOpen();
    return client.bytesRead === server.bytesWritten && server.bytesRead === client.bytesWritten;
  });
}

/** Advances the clock where one side does not read. */
async function passUnread(seconds: number): Promise<void> {
  // In steps, as the interval expects.
  for (let second = 0; second < seconds; second++) {
    time.forward(1_000);
    await timers.forward(1_000);
  }
}

const tcpSocket = (): Socket => (caller.socket as unknown as { _socket: Socket })._socket;

const isOpen = (): boolean => caller.socket.readyState === caller.socket.OPEN;

describe('an idle socket', () => {
  it('is pinged every 30 s, and stays open while pongs arrive', async () => {
    await open();
    await pass(29);
    expect(pings).toBe(0);
    for (let round = 1; round <= 5; round++) {
      await pass(round === 1 ? 2 : 30);
      expect(pings).toBe(round);
    }
    expect(await caller.call('net_version')).toMatchObject({ result: '5' });
  });

  it('is destroyed when its client stays silent for 30 s after a ping', async () => {
    await open({ autoPong: false });
    await pass(31);
    expect(pings).toBe(1);
    await pass(28);
    expect(isOpen()).toBe(true);
    await pass(2);
    expect((await caller.closed).code).toBe(1006);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_websockets_closed_total', { reason: 'silent' })).toBe(1);
    expect(value('gatehouse_websockets_open')).toBe(0);
  });

  it('needs a timer only while it is open', async () => {
    await open();
    const withSocket = timers.count;
    caller.socket.close();
    await caller.closed;
    await eventually(() => timers.count === withSocket - 1);
  });

  it('stays open when its client calls without pongs', async () => {
    await open({ autoPong: false });
    for (let round = 1; round <= 3; round++) {
      await pass(31);
      expect(await caller.call('net_version')).toMatchObject({ result: '5' });
    }
    await pass(31);
    await pass(31);
    expect(isOpen()).toBe(false);
  });
});

describe('a socket whose reading is paused because of calls in progress', () => {
  it('is not closed as silent', async () => {
    await open(
      { autoPong: false },
      { socketMessagesMax: '1', CALL_TIMEOUT_MS: '1000000', UPSTREAM_TIMEOUT_MS: '1000000' },
    );
    node.always(hang, 'eth_getStorageAt');
    caller.send(storageAt(1), storageAt(2));
    await eventually(() => node.callsOf('eth_getStorageAt').length === 1);
    for (let round = 0; round < 3; round++) {
      await passUnread(31);
      await staysTrueFor(100, isOpen);
    }
  });
});

describe('a slow reader', () => {
  const env = { socketUnreadMaxBytes: '3000000' };
  const bigCalls = (count: number, from: number): void => {
    for (let id = from; id < from + count; id++) caller.send(transaction(id));
  };

  it('has no further calls started while a response is unread, and gets all responses once it reads', async () => {
    await open({}, env);
    // The kernel’s buffers take a few MB.
    node.response('eth_getTransactionByHash', big(20));
    caller.socket.pause();
    caller.send(transaction(1));
    await eventually(() => unreadBytes(tcpSocket()) > 3_000_000, 20_000);
    const before = node.callsOf('eth_getTransactionByHash').length;
    node.response('eth_getTransactionByHash', big(0));
    bigCalls(10, 2);
    await staysTrueFor(300, () => node.callsOf('eth_getTransactionByHash').length === before);
    caller.socket.resume();
    const ids = new Set<number>();
    while (ids.size < 11) ids.add((JSON.parse(await caller.next()) as { id: number }).id);
    expect(isOpen()).toBe(true);
  });

  it('is disconnected when responses of calls in progress exceed the bound', async () => {
    await open({}, env);
    node.response('eth_getTransactionByHash', big(8));
    caller.socket.pause();
    bigCalls(10, 1);
    await expect.poll(() => closedBy('slow-reader')).toBe(1);
    // Its buffered bytes are released: at most one response beyond the limit.
    expect(unreadBytes(tcpSocket())).toBe(0);
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });

  it('is disconnected when it reads nothing for 30 s after a ping, although it is below the limit', async () => {
    await open({}, {});
    node.response('eth_getTransactionByHash', big(20));
    caller.socket.pause();
    caller.send(transaction(1));
    await eventually(() => unreadBytes(tcpSocket()) > 3_000_000, 20_000);
    // Reading is paused for it, which does not extend the time.
    caller.send(transaction(2));
    await staysTrueFor(50, () => node.callsOf('eth_getTransactionByHash').length === 1);
    await untilBuffersAreFull(tcpSocket());
    for (let round = 0; round < 3; round++) {
      await passUnread(31);
      // Uses the connection of `fetch`, which would be closed after 65 s without a request.
      await closedBy('silent');
    }
    await eventually(async () => (await closedBy('silent')) === 1);
  });

  it('is not disconnected while it reads, although the ping is queued behind a large response', async () => {
    // More than the kernel’s buffers take, which grow as they are emptied.
    await open({ autoPong: false }, { upstreamResponseMaxBytes: '100000000' });
    node.response('eth_getTransactionByHash', big(40));
    caller.socket.pause();
    caller.send(transaction(1));
    await eventually(() => unreadBytes(tcpSocket()) > 3_000_000, 60_000);
    await untilBuffersAreFull(tcpSocket());
    await passUnread(31);
    for (let round = 0; round < 2; round++) {
      // A part of it.
      const wire = tcpSocket();
      const before = unreadBytes(tcpSocket());
      let chunks = 0;
      const take = (): void => {
        chunks += 1;
        if (chunks < 100) wire.once('data', take);
        else caller.socket.pause();
      };
      wire.once('data', take);
      caller.socket.resume();
      await expect.poll(() => chunks).toBeGreaterThanOrEqual(100);
      await eventually(() => unreadBytes(tcpSocket()) < before);
      await untilBuffersAreFull(wire);
      await passUnread(30);
      await staysTrueFor(50, isOpen);
      expect(await closedBy('silent')).toBe(0);
    }
    caller.socket.resume();
    expect((await caller.next()).length).toBeGreaterThan(40_000_000);
  });
});

describe('a flood of pings', () => {
  const sendFrames = async (kind: 'ping' | 'pong', count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent++) caller.socket[kind](Buffer.alloc(125));
    await pass(0);
  };

  it.each(['ping', 'pong'] as const)('of more than 500 in 30 s closes the socket with 1008: %ss', async (kind) => {
    await open();
    for (let round = 0; round < 3; round++) {
      await sendFrames(kind, 490);
      expect(isOpen()).toBe(true);
      await pass(31);
    }
    await sendFrames(kind, 501);
    expect(await caller.closed).toMatchObject({ code: 1008, reason: 'too many pings' });
    expect(await closedBy('ping-flood')).toBe(1);
  });

  it('ends although its client never reads: at 500 more, the connection is destroyed', async () => {
    await open();
    const accepted = gatewaySocket(tcpSocket());
    caller.socket.pause();
    // Frames of ws itself would end with the close frame of the gateway.
    const ping = Buffer.concat([Buffer.from('89fd00000000', 'hex'), Buffer.alloc(125)]);
    tcpSocket().write(Buffer.concat(Array.from({ length: 1_002 }, () => ping)));
    await eventually(() => accepted?.destroyed === true);
    expect(await closedBy('ping-flood')).toBe(1);
  });
});

/** A transaction of so many megabytes. */
function big(megabytes: number): object {
  return { hash, filler: '0x' + 'ab'.repeat(megabytes * 500_000) };
}

async function closedBy(reason: string): Promise<number> {
  return (await readMetrics(gateway.address)).value('gatehouse_websockets_closed_total', { reason }) ?? 0;
}

describe('an incomplete message', () => {
  /** The beginning of a message of 400,000 bytes, masked as clients must. */
  const beginning = Buffer.concat([Buffer.from('81ff0000000000061a8000000000', 'hex'), Buffer.alloc(200_000, ' ')]);
  const begin = (): void => {
    tcpSocket().write(beginning);
  };

  it('closes the socket after 30 s, despite pings meanwhile', async () => {
    await open();
    begin();
    await pass(1);
    for (let round = 0; round < 5; round++) {
      await pass(5);
      expect(isOpen()).toBe(true);
    }
    await pass(6);
    expect((await caller.closed).code).toBe(1006);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_websockets_closed_total', { reason: 'slow-message' })).toBe(1);
  });

  it('is not late at the first check of its socket, a minute after the start', async () => {
    gateway = await startGateway({ main: network(5, [node.url]) });
    await passUnread(60);
    caller = await openCaller(socketUrl(gateway, 'main'));
    begin();
    await eventually(() => (gatewaySocket(tcpSocket())?.bytesRead ?? 0) > 200_000);
    await pass(1);
    expect(isOpen()).toBe(true);
    expect(await closedBy('slow-message')).toBe(0);
  });

  it('closes the socket at once if the memory budget is full, which releases its bytes', async () => {
    await open({}, { BODIES_MAX_BYTES: '300000' });
    begin();
    await pass(1);
    await pass(1);
    expect((await caller.closed).code).toBe(1006);
    expect(
      (await readMetrics(gateway.address)).value('gatehouse_websockets_closed_total', { reason: 'overloaded' }),
    ).toBe(1);
    const body = '{"jsonrpc":"2.0","id":1,"method":"net_version"}'.padEnd(45_000);
    expect((await gateway.post('main', body)).status).toBe(200);
  });
});
