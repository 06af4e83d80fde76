import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, hang } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { gatewaySocket, unreadBytes } from './gateway-socket.ts';
import { openRaw, post, head, type RawConnection } from './raw-connection.ts';

const size = 1_000_000;
const inProgressMax = 5;
const handledMax = 10;
/** Each position makes another call: identical ones would be coalesced. */
const codeOf = (position: number): string =>
  `{"jsonrpc":"2.0","id":${position},"method":"eth_getCode","params":["0x${String(position).padStart(40, '0')}","latest"]}`;
const local = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';

let node: FakeNode;
let gateway: TestGateway;
let path: string;
const opened: RawConnection[] = [];

beforeEach(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getCode: `0x${'60'.repeat(size / 2)}` } });
});
afterEach(async () => {
  for (const connection of opened.splice(0)) connection.destroy();
  await gateway.stop();
  await node.close();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
  path = `/main/v3/${gateway.key}`;
  expect((await gateway.post('main', local)).status).toBe(200);
}

async function open(): Promise<RawConnection> {
  const connection = await openRaw(gateway.gateway.port);
  opened.push(connection);
  return connection;
}

/** Sends all requests in one write, and reads nothing. */
async function pipelineUnread(requests: readonly string[]): Promise<RawConnection> {
  const connection = await open();
  connection.socket.pause();
  connection.send(requests.join(''));
  return connection;
}

const bufferedBytes = async (): Promise<number> =>
  (await readMetrics(gateway.address)).value('gatehouse_buffered_bytes') ?? NaN;
const handled = (): number => node.callsOf('eth_getCode').length;

describe('pipelined requests', () => {
  it('are handled only as far as the client reads, and all get their responses in order', async () => {
    await start();
    const count = handledMax;
    const connection = await pipelineUnread(Array.from({ length: count }, (_, at) => post(path, codeOf(at))));
    // The kernel's buffers take some responses, which do not count as unread.
    await eventually(() => handled() >= inProgressMax);
    let before: number;
    do {
      before = handled();
      await staysTrueFor(200, () => handled() <= before + inProgressMax);
    } while (handled() > before);
    expect(handled()).toBeLessThan(count);
    expect(await bufferedBytes()).toBeGreaterThan(size);
    expect(await bufferedBytes()).toBeLessThan((inProgressMax + 1) * size);
    connection.socket.resume();
    for (let at = 0; at < count; at++) {
      const { status, body } = await connection.response();
      expect([status, body.slice(0, 24)]).toEqual([200, `{"jsonrpc":"2.0","id":${at},`.slice(0, 24)]);
    }
    await eventually(async () => (await bufferedBytes()) < 100_000);
  });

  it('with bodies in chunks of one byte are complete, also those that wait', async () => {
    await start();
    const chunked = (body: string): string =>
      head(`POST ${path}`, { 'transfer-encoding': 'chunked' }) + body.replaceAll(/./g, '1\r\n$&\r\n') + '0\r\n\r\n';
    const connection = await open();
    const count = handledMax;
    connection.send(Array.from({ length: count }, (_, at) => chunked(codeOf(at))).join(''));
    for (let at = 0; at < count; at++) {
      const { body } = await connection.response();
      expect(JSON.parse(body)).toMatchObject({ id: at, result: expect.stringMatching(/^0x60/) as string });
    }
  });

  it('that wait are released when the client disconnects', async () => {
    await start();
    const before = await bufferedBytes();
    const connection = await pipelineUnread(Array.from({ length: 100 }, (_, at) => post(path, codeOf(at))));
    await eventually(async () => (await bufferedBytes()) > before + size);
    connection.destroy();
    await eventually(async () => (await bufferedBytes()) <= before);
  });

  it('that wait are in the memory budget', async () => {
    await start();
    node.always(hang, 'eth_getCode');
    const bytesOf = async (from: number, count: number): Promise<number> => {
      const before = await bufferedBytes();
      const connection = await open();
      connection.send(Array.from({ length: count }, (_, at) => post(path, codeOf(from + at))).join(''));
      await eventually(() => handled() === from - 100 + inProgressMax);
      return (await bufferedBytes()) - before;
    };
    const inProgress = await bytesOf(100, inProgressMax);
    expect(await bytesOf(100 + inProgressMax, handledMax)).toBeGreaterThan(inProgress + 40_000);
  });

  it('beyond ten are not handled, and the connection closes after the responses to ten', async () => {
    await start();
    const connection = await open();
    connection.send(Array.from({ length: 100 }, (_, at) => post(path, codeOf(at))).join(''));
    for (let at = 0; at < handledMax; at++) {
      const { body, headers } = await connection.response();
      expect(body.slice(0, 24)).toBe(`{"jsonrpc":"2.0","id":${at},`.slice(0, 24));
      expect(headers['connection']).toBe(at === handledMax - 1 ? 'close' : 'keep-alive');
    }
    await connection.closed;
    expect(handled()).toBe(handledMax);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_memory_rejections_total', { reason: 'connection' })).toBe(1);
    await eventually(async () => (await bufferedBytes()) < 100_000);
  });

  it('are handled again and again, if at most ten are sent at once', async () => {
    await start();
    const connection = await open();
    for (let round = 0; round < 5; round++) {
      connection.send(Array.from({ length: handledMax }, () => post(path, local)).join(''));
      for (let at = 0; at < handledMax; at++) expect((await connection.response()).status).toBe(200);
    }
  });

  it('begin in their order', async () => {
    await start();
    const connection = await open();
    const waiting: (() => void)[] = [];
    node.always((exchange) => void waiting.push(() => void asUsual(exchange)), 'eth_getCode');
    connection.send(Array.from({ length: handledMax }, (_, at) => post(path, codeOf(at))).join(''));
    const positions = (): number[] => node.callsOf('eth_getCode').map(({ params }) => Number((params as string[])[0]));
    await eventually(() => handled() === inProgressMax);
    // Each response lets one more begin. Those that begin at once use several connections, and reach the node in any order.
    for (let at = 0; at < handledMax - inProgressMax; at++) {
      waiting[positions().indexOf(at)]?.();
      await connection.response();
      await eventually(() => handled() > inProgressMax + at);
      expect(positions().at(-1)).toBe(inProgressMax + at);
    }
    expect(handled()).toBe(handledMax);
  });

  it('after an ambiguous one are not handled', async () => {
    await start();
    const ambiguous = `POST ${path} HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: 0\r\n\r\n`;
    const connection = await open();
    connection.send(
      [post(path, codeOf(0)), ambiguous, ...Array.from({ length: 100 }, () => post(path, codeOf(1)))].join(''),
    );
    expect((await connection.response()).status).toBe(200);
    expect((await connection.response()).status).toBe(400);
    await connection.closed;
    expect(handled()).toBe(1);
    await eventually(async () => (await bufferedBytes()) < 100_000);
  });
});

it('metrics that are written later count until the client reads them', async () => {
  await start();
  const connection = await pipelineUnread([]);
  const pageBytes = (await (await fetch(`${gateway.address}/metrics`)).text()).length;
  expect(pageBytes).toBeGreaterThan(10_000);
  await eventually(() => {
    connection.send(head('GET /metrics'));
    return unreadBytes(connection.socket) > 0;
  });
  for (let count = 1; count < inProgressMax; count++) connection.send(head('GET /metrics'));
  await eventually(async () => (await bufferedBytes()) > (inProgressMax - 1) * pageBytes);
  connection.destroy();
  await eventually(async () => (await bufferedBytes()) < pageBytes);
});

it('a page is rejected for an address beyond its share, and a probe is not', async () => {
  await start({ BODIES_MAX_BYTES: '2000000' });
  let connection = await pipelineUnread([]);
  await eventually(async () => {
    // The gateway closes it if two of its own pages exceed the share before a page of another connection does.
    if (gatewaySocket(connection.socket) === undefined) connection = await pipelineUnread([]);
    connection.send(head('GET /openrpc.json'));
    return (await fetch(`${gateway.address}/openrpc.json`)).status === 429;
  });
  expect((await fetch(`${gateway.address}/livez`)).status).toBe(200);
});
