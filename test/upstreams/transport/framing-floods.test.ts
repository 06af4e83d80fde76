import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { CHAIN_ID, withNodes, word } from '../../routing/with-nodes.ts';
import type { Behaviour, Exchange } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import {
  startFakeWebSocketNode,
  type FakeWebSocketNode,
  type ReceivedCall,
} from '../../support/fake-websocket-node.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';

/** More than a response may have around its body, and little enough to be read in a moment. */
const FLOOD_BYTES = 4_000_000;
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const flood = (text: string): string => text.repeat(FLOOD_BYTES / text.length);
const withLength = (text: string): string => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
const asChunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Writes to the connection itself: a response object would not write such framing. */
const raw =
  (framed: (text: string) => string): Behaviour =>
  ({ response: { socket }, text }: Exchange) =>
    void socket?.write(framed(text));

const floods: Readonly<Record<string, (text: string) => string>> = {
  '21 informational responses': (text) => `${hint.repeat(21)}HTTP/1.1 200 OK\r\n${withLength(text)}`,
  'empty lines before its head': (text) => `${flood('\r\n')}HTTP/1.1 200 OK\r\n${withLength(text)}`,
  'a long reason phrase': (text) => `HTTP/1.1 200 ${flood('a')}\r\n${withLength(text)}`,
  'many spaces before a value of its head': (text) => `HTTP/1.1 200 OK\r\nX:${flood(' ')}a\r\n${withLength(text)}`,
  'a long chunk extension': (text) => `${chunked}${asChunk(text).replace('\r\n', `;a=${flood('b')}\r\n`)}0\r\n\r\n`,
  'a chunk length with many zeros': (text) => `${chunked}${flood('0')}${asChunk(text)}0\r\n\r\n`,
  'chunks of one byte, a megabyte of them': (text) =>
    `${chunked}${'1\r\n \r\n'.repeat(1_000_000)}${asChunk(text)}0\r\n\r\n`,
};

it.each(Object.entries(floods))('a response with %s fails, and its connection ends', async (_, framed) => {
  const { gateway, nodes, request, send } = await withNodes(2);
  const [flooding] = nodes as [FakeNode];
  await request();
  const [used] = flooding.callsOf('eth_getStorageAt');
  flooding.always(raw(framed), 'eth_getStorageAt');
  const { status, response } = await send();
  // The other upstream serves the call.
  expect({ status, result: response.result }).toEqual({ status: 200, result: `0x${'2'.padStart(64, '0')}` });
  await eventually(() => !flooding.connections().includes(used?.connection ?? 0));
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'transport' })).toBe(1);
});

it('bytes on a connection without a request end it', async () => {
  const { nodes, request } = await withNodes(1);
  const [node] = nodes as [FakeNode];
  node.next(
    raw((text) => `HTTP/1.1 200 OK\r\n${withLength(text)}${flood('\r\n')}`),
    'eth_getStorageAt',
  );
  expect((await request()).result).toBe(`0x${'1'.padStart(64, '0')}`);
  const [used] = node.callsOf('eth_getStorageAt');
  await eventually(() => !node.connections().includes(used?.connection ?? 0));
});

it('one key opens the circuit of an upstream that floods its calls: no call is the cause', async () => {
  const { gateway, nodes, send } = await withNodes(2);
  const [flooding] = nodes as [FakeNode];
  nodes[1]?.response('eth_call', '0x');
  flooding.always(raw(floods['21 informational responses'] as (text: string) => string), 'eth_call');
  for (let call = 0; call < 3; call++)
    await send('eth_call', [{ to: `0x${'11'.repeat(20)}`, data: `0x0${call}` }, '0x1']);
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_upstream_circuit_state', { upstream: 'node-0' })).toBe(2);
});

it('a response after 20 informational ones, and 30 MB in chunks of 512 bytes, are served', async () => {
  const { nodes, request, send } = await withNodes(1, {}, { bounds: { maxResponseBytes: 32_000_000 } });
  const [node] = nodes as [FakeNode];
  node.next(
    raw((text) => `${hint.repeat(20)}HTTP/1.1 200 OK\r\n${withLength(text)}`),
    'eth_getStorageAt',
  );
  expect((await request()).result).toBe(`0x${'1'.padStart(64, '0')}`);
  const code = `0x${'00'.repeat(15_000_000)}`;
  node.response('eth_getCode', code);
  node.always(
    raw((text) => {
      const chunks = Array.from({ length: Math.ceil(text.length / 512) }, (_, at) =>
        text.slice(512 * at, 512 * at + 512),
      );
      return `${chunked}${chunks.map(asChunk).join('')}0\r\n\r\n`;
    }),
    'eth_getCode',
  );
  const { response } = await send('eth_getCode', [`0x${'11'.repeat(20)}`, 'latest']);
  expect(response.error).toBeUndefined();
  // Compared here, because the message of `toBe` would have both texts.
  expect(response.result === code).toBe(true);
});

describe('over WebSocket', () => {
  const [TEXT, CONTINUATION, PING, PONG, FIN] = [1, 0, 9, 10, 0x80] as const;
  const frame = (first: number, length = 0): Buffer =>
    Buffer.concat([Buffer.from([first, length]), Buffer.alloc(length)]);
  const repeated = (one: Buffer): Buffer =>
    Buffer.concat(Array.from({ length: FLOOD_BYTES / 4 / one.length }, () => one));
  const frames: Readonly<Record<string, () => Buffer>> = {
    'empty pings': () => repeated(frame(FIN | PING)),
    '4,000 pings': () => Buffer.concat(Array.from({ length: 4_000 }, () => frame(FIN | PING))),
    pongs: () => repeated(frame(FIN | PONG, 125)),
    'empty fragments': () => Buffer.concat([frame(TEXT), repeated(frame(CONTINUATION))]),
    'fragments of one byte': () => Buffer.concat([frame(TEXT, 1), repeated(frame(CONTINUATION, 1))]),
  };

  async function overWebSocket(): Promise<{ node: FakeWebSocketNode; gateway: TestGateway }> {
    const node = await startFakeWebSocketNode(CHAIN_ID);
    const other = await startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(99) } });
    const upstreams = [
      { name: 'node-0', websocketUrl: node.url, maxResponseBytes: 32_000_000 },
      { name: 'other', url: other.url },
    ];
    const gateway = await startGateway({ test: { name: 'Test', chainId: CHAIN_ID, upstreams } });
    onTestFinished(async () => {
      await gateway.stop();
      await Promise.all([node.stop(), other.close()]);
    });
    return { node, gateway };
  }

  const rawOf = ({ socket }: ReceivedCall): Socket => (socket as unknown as { readonly _socket: Socket })._socket;
  const slot = [`0x${'11'.repeat(20)}`, '0x1', 'latest'];

  it.each(Object.entries(frames))('%s before a response: it fails, and the connection ends', async (_, framing) => {
    const { node, gateway } = await overWebSocket();
    node.onCall((call) => {
      rawOf(call).write(framing());
      call.respond();
    });
    expect(await gateway.call('test', 'eth_getStorageAt', slot)).toMatchObject({ result: word(99) });
    await eventually(() => node.sockets.size === 0);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'transport' })).toBe(1);
  });

  it('a response of 20 MB in fragments of 512 bytes, some with a ping, is served', async () => {
    const { node, gateway } = await overWebSocket();
    const code = `0x${'00'.repeat(10_000_000)}`;
    node.onCall(({ id, socket }) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: code });
      for (let at = 0; at < text.length; at += 512) {
        socket.send(text.slice(at, at + 512), { fin: at + 512 >= text.length });
        if (at % (512 * 64) === 0) socket.ping();
      }
    });
    const { error, result } = await gateway.call('test', 'eth_getCode', slot.slice(0, 1).concat('latest'));
    expect(error).toBeUndefined();
    // Compared here, because the message of `toBe` would have both texts.
    expect(result === code).toBe(true);
  });
});
