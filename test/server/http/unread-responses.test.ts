import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { holdTimers, type HeldTimers } from '../../support/hold-timers.ts';
import { openRaw, post, type RawConnection } from './raw-connection.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { gatewaySocket, unreadBytes, untilBuffersAreFull } from './gateway-socket.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

const call =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x1212121212121212121212121212121212121212","latest"]}';
const local = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const size = 20_000_000;

let node: FakeNode;
let gateway: TestGateway;
let caller: RawConnection;
let timers: HeldTimers;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getCode: `0x${'60'.repeat(size / 2)}` } });
});
afterAll(() => node.close());
beforeEach(() => {
  timers = holdTimers('setInterval');
});
afterEach(async () => {
  timers.release();
  caller.destroy();
  await gateway.stop();
});

/** Requests a large response, and reads nothing of it. */
async function requestLargeResponse(env: Record<string, string> = {}, passedMs = 10_000): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
  caller = await openRaw(gateway.gateway.port);
  caller.socket.pause();
  caller.send(post(`/main/v3/${gateway.key}`, call));
  await eventually(() => unreadBytes(caller.socket) > 0);
  await untilBuffersAreFull(caller.socket);
  await timers.forward(passedMs);
}

async function readMegabytes(count: number): Promise<void> {
  const { socket } = caller;
  const target = socket.bytesRead + count * 1_000_000;
  const pauseAtTarget = (): void => {
    if (socket.bytesRead >= target) socket.pause();
  };
  socket.on('data', pauseAtTarget);
  socket.resume();
  await eventually(() => socket.bytesRead >= target);
  socket.off('data', pauseAtTarget);
}

it('a response that its client does not read is dropped after 30 to 40 s', async () => {
  await requestLargeResponse();
  await timers.forward(20_000);
  await staysTrueFor(50, () => unreadBytes(caller.socket) > 0);
  await timers.forward(10_000);
  await eventually(() => gatewaySocket(caller.socket) === undefined);
  caller.socket.resume();
  await caller.closed;
  await expect(caller.response()).rejects.toThrow();
});

it('a response that its client reads slowly is not dropped', async () => {
  await requestLargeResponse();
  for (let round = 0; round < 6; round++) {
    await readMegabytes(2);
    // The client reads nothing more for a moment.
    await scenarioPause(20);
    await timers.forward(10_000);
  }
  caller.socket.resume();
  expect((await caller.response()).body.length).toBe(size + '{"jsonrpc":"2.0","id":1,"result":"0x"}'.length);
});

describe('an unread response', () => {
  it('is taken from the memory budget until it is read', async () => {
    await requestLargeResponse({ BODIES_MAX_BYTES: '60000000' });
    const large = local.padEnd(3_500_000);
    expect((await gateway.post('main', large)).status).toBe(429);
    caller.socket.resume();
    await caller.response();
    await eventually(async () => (await gateway.post('main', large)).status === 200);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_memory_rejections_total', { reason: 'share' })).toBe(1);
  });

  it('is dropped after 5 s if its key has used up its share of the budget', async () => {
    await requestLargeResponse({ BODIES_MAX_BYTES: '40100000' }, 4_000);
    await staysTrueFor(50, () => unreadBytes(caller.socket) > 0);
    await timers.forward(2_000);
    await eventually(() => gatewaySocket(caller.socket) === undefined);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_memory_rejections_total', { reason: 'connection' })).toBe(1);
    expect(value('gatehouse_buffered_bytes')).toBeLessThan(size / 10);
  });
});
