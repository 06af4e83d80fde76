import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { clock } from '../../../gateway/clock/clock.ts';
import {
  WebSocketConnection,
  type ConnectionTimes,
} from '../../../gateway/upstreams/transport/websocket-connection.ts';
import { WebSocketUpstream } from '../../../gateway/upstreams/transport/websocket-upstream.ts';
import { withoutTime } from '../../support/elastic-clock.ts';
import { startAnvil } from '../../support/anvil.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../../support/fake-websocket-node.ts';
import { startGateway, type JsonRpcResponse, type TestGateway } from '../../support/gateway.ts';
import { CHAIN_ID, shiftClock, word } from '../../routing/with-nodes.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

const address = `0x${'11'.repeat(20)}`;

interface OverWebSocket {
  readonly node: FakeWebSocketNode;
  readonly gateway: TestGateway;
  /** Reads a storage slot; a working node returns its position. */
  readonly request: (position?: number) => Promise<JsonRpcResponse>;
  /** Request of an old block. */
  readonly requestOld: () => Promise<JsonRpcResponse>;
  /** Number of such requests at each node, the WebSocket node first. */
  readonly received: () => number[];
}

/** A gateway whose first upstream is a fake WebSocket node, followed by other upstreams. */
async function overWebSocket(
  { upstream = {}, others = [] }: { upstream?: object; others?: readonly FakeNode[] } = {},
  env: Record<string, string> = {},
): Promise<OverWebSocket> {
  const node = await startFakeWebSocketNode(CHAIN_ID);
  const upstreams = [
    { name: 'node', websocketUrl: node.url, ...upstream },
    ...others.map(({ url }, index) => ({ name: `other-${index}`, url })),
  ];
  // With a cache, the first call for an old block waits for the first polls.
  const network = { name: 'Test', chainId: CHAIN_ID, cache: 'off', upstreams };
  const gateway = await startGateway({ test: network }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.stop();
  });
  return {
    node,
    gateway,
    received: () =>
      [node, ...others].map(({ calls }) => calls.filter(({ method }) => method === 'eth_getStorageAt').length),
    request: (position = 1) =>
      gateway.call('test', 'eth_getStorageAt', [address, `0x${position.toString(16)}`, 'latest']),
    requestOld: () => gateway.call('test', 'eth_getStorageAt', [address, '0x1', '0x1']),
  };
}

async function anotherNode(): Promise<FakeNode> {
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(99) } });
  onTestFinished(() => node.close());
  return node;
}

const positions = Array.from({ length: 50 }, (_, index) => index);
/** A call to which no response comes ends after this time; others have a response sooner, also on a loaded machine. */
const short = { UPSTREAM_TIMEOUT_MS: '1000' };
/** Settings for failures that are no timeouts. */
const never = { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' };

describe('an upstream with only a websocketUrl', () => {
  it('is connected by the first call, not before, with one connection for all calls', async () => {
    const { node, request, received } = await overWebSocket();
    await staysTrueFor(50, () => node.handshakes.length === 0);
    const responses = await Promise.all(positions.map(request));
    expect(responses.map(({ result }) => result)).toEqual(positions.map(word));
    await request();
    expect(node.handshakes).toHaveLength(1);
    expect(node.calls[0]?.method).toBe('eth_chainId');
    expect(node.handshakes[0]?.headers['sec-websocket-extensions']).toBeUndefined();
    expect(received()).toEqual([51]);
  });

  it('may respond in any order', async () => {
    const { node, request, received } = await overWebSocket();
    await request();
    const held: (() => void)[] = [];
    node.onCall(({ respond }) => {
      held.unshift(respond);
      if (held.length === positions.length) for (const respond of held) respond();
    });
    const responses = await Promise.all(positions.map(request));
    expect(responses.map(({ result }) => result)).toEqual(positions.map(word));
    expect(received()).toEqual([51]);
  });

  it('gets headers, user and password, path and query with the handshake', async () => {
    const node = await startFakeWebSocketNode(CHAIN_ID);
    const websocketUrl = `${node.url.replace('//', '//ann:p%40ss@')}/ws/k?token=\${TOKEN}`;
    const upstreams = [{ name: 'node', websocketUrl, headers: { 'x-plan': 'a b' } }];
    const gateway = await startGateway({ test: { name: 'Test', chainId: CHAIN_ID, upstreams } }, { TOKEN: 't1' });
    onTestFinished(async () => {
      await gateway.stop();
      await node.stop();
    });
    expect(await gateway.call('test', 'eth_getStorageAt', [address, '0x1', 'latest'])).toMatchObject({
      result: word(1),
    });
    const [handshake] = node.handshakes;
    expect(handshake?.path).toBe('/ws/k?token=t1');
    const authorization = `Basic ${Buffer.from('ann:p@ss').toString('base64')}`;
    expect(handshake?.headers).toMatchObject({ authorization, 'x-plan': 'a b' });
  });

  it('has its host removed from errors to callers', async () => {
    const { node, request, received } = await overWebSocket();
    const { host } = new URL(node.url);
    node.onCall(({ id, sendText }) => {
      sendText(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_099, message: `dialing ${host} failed` } }));
    });
    expect((await request()).error?.message).toBe('dialing <address> failed');
    expect(received()).toEqual([1]);
  });

  it('may be a real node', async () => {
    const anvil = await startAnvil({ chainId: 1337 });
    const websocketUrl = anvil.url.replace('http', 'ws');
    const gateway = await startGateway({
      test: { name: 'Test', chainId: 1337, upstreams: [{ name: 'anvil', websocketUrl }] },
    });
    onTestFinished(async () => {
      await gateway.stop();
      await anvil.stop();
    });
    const requested = await Promise.all(
      positions.map((position) =>
        gateway.call('test', 'eth_getStorageAt', [address, `0x${position.toString(16)}`, 'latest']),
      ),
    );
    expect(new Set(requested.map(({ result }) => result))).toEqual(new Set([word(0)]));
    const unknown = await gateway.call('test', 'eth_getTransactionByHash', [word(1)]);
    expect(unknown.result).toBeNull();
    const rejected = await gateway.call('test', 'eth_estimateGas', [{ to: address, data: 'nonsense' }]);
    expect(rejected.error?.code).toBe(-32_602);
  });

  it('is used over its url where it has both', async () => {
    const { url } = await anotherNode();
    const { node, request, received } = await overWebSocket({ upstream: { url } });
    expect(await request()).toMatchObject({ result: word(99) });
    expect(node.handshakes).toEqual([]);
    expect(received()).toEqual([0]);
  });
});

describe('a response over WebSocket', () => {
  it.each([
    ['with its id last', (id: number) => `{"jsonrpc":"2.0","result":"${word(1)}","id":${id}}`],
    ['with its id as a string', (id: number) => `{"jsonrpc":"2.0","id":"${id}","result":"${word(1)}"}`],
    [
      'with its id in the middle, and another inside',
      (id: number) => `{"x":{"id":9},"id":${id},"result":"${word(1)}"}`,
    ],
    ['with blanks', (id: number) => ` { "id" : ${id} , "jsonrpc" : "2.0" , "result" : "${word(1)}" } \n`],
  ])('is matched %s', async (_, response) => {
    const { node, request, received } = await overWebSocket();
    node.onCall(({ id, sendText }) => {
      sendText(response(id));
    });
    expect(await request()).toMatchObject({ result: word(1) });
    expect(received()).toEqual([1]);
  });

  it.each(['{"toString":1}', '["1"]'])('whose id is %s fails the only call in flight, and no other', async (id) => {
    const { node, request, received } = await overWebSocket({ others: [await anotherNode()] }, never);
    node.onCall(({ sendText }) => {
      sendText(
        `{"jsonrpc":"2.0","method":"eth_subscription","id":${id},"params":{"subscription":${id},"result":${id}}}`,
      );
      sendText(`{"jsonrpc":"2.0","id":${id},"result":"${word(7)}"}`);
    });
    expect(await withoutTime(() => request())).toMatchObject({ result: word(99) });
    node.onCall(undefined);
    expect(await request(2)).toMatchObject({ result: word(2) });
    expect(node.handshakes).toHaveLength(1);
    expect(received()).toEqual([2, 1]);
  });

  it('to an unknown call, and a notification, are ignored', async () => {
    const { node, request, received } = await overWebSocket();
    node.onCall(({ id, sendText, respond: response }) => {
      sendText(`{"jsonrpc":"2.0","id":${id + 1000},"result":"${word(7)}"}`);
      sendText('{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":{}}}');
      response();
    });
    expect(await request()).toMatchObject({ result: word(1) });
    expect(received()).toEqual([1]);
  });

  it('that arrives too late is ignored', async () => {
    const { node, request, received } = await overWebSocket({}, short);
    let late: (() => void) | undefined;
    node.onCall(({ respond }) => {
      late = respond;
    });
    expect((await request(3)).error?.code).toBe(-32_603);
    node.onCall(({ respond }) => {
      late?.();
      respond();
    });
    expect(await request(4)).toMatchObject({ result: word(4) });
    expect(node.handshakes).toHaveLength(1);
    expect(received()).toEqual([2]);
  });

  it('that is an error without id belongs to the only call in flight', async () => {
    const { node, request, received } = await overWebSocket();
    node.onCall(({ sendText }) => {
      sendText('{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}');
    });
    expect((await request()).error).toEqual({ code: -32_602, message: 'bad' });
    expect(received()).toEqual([1]);
  });

  it('that is an error without id is ignored if several calls are in flight', async () => {
    const { node, request, received } = await overWebSocket({}, short);
    await request();
    const held: (() => void)[] = [];
    node.onCall(({ sendText, respond }) => {
      held.push(respond);
      if (held.length < 2) return;
      sendText('{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad"}}');
      held[1]?.();
    });
    const [first, second] = await Promise.all([request(1), request(2)]);
    const results = [first.result, second.result].filter((result) => result !== undefined);
    expect(results).toHaveLength(1);
    expect([first.error?.code, second.error?.code]).toContain(-32_603);
    expect(received()).toEqual([3]);
  });

  it('that is not JSON is a failure at once', async () => {
    const { node, request, received } = await overWebSocket({ others: [await anotherNode()] }, never);
    node.onCall(({ sendText }) => {
      sendText('Too many requests');
    });
    expect(await withoutTime(() => request())).toMatchObject({ result: word(99) });
    expect(received()).toEqual([1, 1]);
  });

  it('that is not JSON is a failure of all calls in flight', async () => {
    const { node, request, received } = await overWebSocket({ others: [await anotherNode()] }, never);
    await request();
    let held = 0;
    node.onCall(({ sendText }) => {
      if (++held === 2) sendText('<html></html>');
    });
    const responses = await withoutTime(() => Promise.all([request(2), request(3)]));
    expect(responses.map(({ result }) => result)).toEqual([word(99), word(99)]);
    expect(received()).toEqual([3, 2]);
  });

  const list = `[${'{},'.repeat(150_000)}1]`;
  it.each([
    ['before another member', (id: number, result: string) => `{"result":${result},"x":${list},"id":${id},"usage":{}}`],
    [
      'between large members',
      (id: number, result: string) => `{"x":${list},"id":${id},"result":${result},"y":${list}}`,
    ],
  ])('that is large with its id %s is matched, and fails no other call', async (_, textOf) => {
    const { node, request, received } = await overWebSocket();
    await request();
    const held: (() => void)[] = [];
    const texts: (() => void)[] = [];
    node.onCall(({ id, sendText, respond }) => {
      held.push(respond);
      texts.push(() => {
        sendText(textOf(id, `"${word(7)}"`));
      });
      if (held.length < 2) return;
      texts[0]?.();
      held[1]?.();
    });
    const results = (await Promise.all([request(2), request(3)])).map(({ result }) => result);
    expect(results).toContain(word(7));
    expect(results.filter((result) => result === word(2) || result === word(3))).toHaveLength(1);
    expect(received()).toEqual([3]);
  });

  it('that is large is read before what arrived with it', async () => {
    const body = Buffer.from(
      `{"x":${list},"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1"}}`,
    );
    const { server, connection, received } = await withNotifications(2 * body.length);
    server.on('connection', (socket, { socket: raw }) => {
      socket.on('message', () => {
        raw.cork();
        socket.send(body);
        socket.send('{"jsonrpc":"2.0","method":"eth_subscription","params":{}}');
        raw.uncork();
      });
    });
    const call = connection.send({ id: 1, body: '{}', deadline: Infinity });
    call.catch(() => undefined);
    await eventually(() => received.length === 2);
    expect(received[0]).toBe(body.length);
  });

  it('that arrives with the response to the handshake is read', async () => {
    const { server, received } = await withNotifications(1_000);
    const first = '{"jsonrpc":"2.0","method":"eth_subscription","params":{}}';
    const second = '{"jsonrpc":"2.0","method":"eth_subscription","params":{"result":"0x1"}}';
    server.on('headers', (_, { socket }) => {
      socket.cork();
    });
    server.on('connection', (socket, { socket: raw }) => {
      socket.send(first);
      raw.uncork();
      socket.send(second);
    });
    await eventually(() => received.includes(second.length));
    expect(received).toEqual([first.length, second.length]);
  });

  it('that is large and arrives too late fails no other call', async () => {
    const { node, request, received } = await overWebSocket({}, short);
    let late: (() => void) | undefined;
    node.onCall(({ id, sendText }) => {
      late = () => {
        sendText(`{"result":"${word(3)}","x":${list},"id":${id},"usage":{}}`);
      };
    });
    expect((await request(3)).error?.code).toBe(-32_603);
    node.onCall(({ respond }) => {
      late?.();
      respond();
    });
    expect(await request(4)).toMatchObject({ result: word(4) });
    expect(received()).toEqual([2]);
  });

  it('that is too large ends the connection, and its calls are not sent again', async () => {
    const { node, gateway, request, received } = await overWebSocket({}, { upstreamResponseMaxBytes: '1000' });
    await request();
    let held = 0;
    node.onCall(({ id, sendText }) => {
      if (++held === 2) sendText(`{"jsonrpc":"2.0","id":${id},"result":"0x${'00'.repeat(1000)}"}`);
    });
    const responses = await Promise.all([request(2), request(3)]);
    expect(responses.map(({ error }) => error?.message)).toEqual(responses.map(() => 'no upstream could answer'));
    expect(held).toBe(2);
    // The call of the large response is unknown.
    const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
    const label = 'network="test",upstream="node",outcome="transport"';
    expect(metrics).toContain(`gatehouse_upstream_attempts_total{${label}} 2`);
    expect(received()).toEqual([3]);
  });

  it('that is too large is a failure, and the next call has a new connection', async () => {
    const { node, request, received } = await overWebSocket({}, { upstreamResponseMaxBytes: '1000' });
    await request();
    node.onCall(({ id, sendText }) => {
      sendText(`{"jsonrpc":"2.0","id":${id},"result":"0x${'00'.repeat(1000)}"}`);
    });
    expect((await request()).error?.message).toBe('no upstream could answer');
    node.onCall(undefined);
    expect(await request(5)).toMatchObject({ result: word(5) });
    expect(node.handshakes).toHaveLength(2);
    expect(received()).toEqual([3]);
  });
});

describe('a WebSocket that is disconnected', () => {
  it('makes the calls in flight go to the next upstream', async () => {
    const { node, request, received } = await overWebSocket({ others: [await anotherNode()] });
    await request();
    let held = 0;
    node.onCall(({ socket }) => {
      if (++held === 20) socket.terminate();
    });
    const responses = await Promise.all(positions.slice(0, 20).map(request));
    expect(responses.map(({ result }) => result)).toEqual(responses.map(() => word(99)));
    expect(received()).toEqual([21, 20]);
  });

  it('is not visible to callers with a single upstream: calls are sent once more', async () => {
    const { node, request, received } = await overWebSocket();
    await request();
    node.onCall(({ socket }) => {
      node.onCall(undefined);
      socket.close(1012);
    });
    expect(await request(6)).toMatchObject({ result: word(6) });
    expect(node.handshakes).toHaveLength(2);
    expect(received()).toEqual([3]);
  });

  it('is not visible to a call that may be sent before the upstream notices it', async () => {
    const { node, request, received } = await overWebSocket();
    await request();
    for (const socket of node.sockets) socket.terminate();
    expect(await request(2)).toMatchObject({ result: word(2) });
    expect(node.handshakes).toHaveLength(2);
    expect(received()).toEqual([2]);
  });

  it('is opened again by the next call, and not before', async () => {
    const { node, request, received } = await overWebSocket();
    await request();
    for (const socket of node.sockets) socket.terminate();
    await staysTrueFor(300, () => node.handshakes.length === 1);
    expect(await request(2)).toMatchObject({ result: word(2) });
    expect(node.handshakes).toHaveLength(2);
    expect(received()).toEqual([2]);
  });

  it('is opened again after the node was unreachable', async () => {
    const time = shiftClock();
    const { node, request, received } = await overWebSocket();
    await request();
    await node.stop();
    expect((await request()).error?.code).toBe(-32_603);
    await node.listen();
    time.forward(6_000);
    expect(await request(2)).toMatchObject({ result: word(2) });
    expect(received()).toEqual([2]);
  });
});

describe('a handshake', () => {
  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [429, 'rate'],
    [402, 'quota'],
    [503, 'transport'],
    [404, 'malformed'],
    [200, 'malformed'],
  ])('with the response %i sends calls to the next upstream, as class %s', async (status, failure) => {
    const { node, gateway, requestOld, received } = await overWebSocket({ others: [await anotherNode()] });
    node.rejectUpgradesWith(status);
    // A call for a tag would wait for the first polls, which fail at this node.
    expect(await requestOld()).toMatchObject({ result: word(99) });
    const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
    const label = `network="test",upstream="node",outcome="${failure}"`;
    expect(metrics).toContain(`gatehouse_upstream_attempts_total{${label}} 1`);
    expect(received()).toEqual([0, 1]);
  });

  it('that never ends takes at most the time limit of an attempt', async () => {
    const { node, request, received } = await overWebSocket({ others: [await anotherNode()] }, short);
    node.rejectUpgradesWith(0);
    expect(await request()).toMatchObject({ result: word(99) });
    expect(received()).toEqual([0, 1]);
  });
});

/** A connection to a server, with the length of each notification that it has received. */
async function withNotifications(responseMaxBytes: number) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const received: number[] = [];
  const connection = new WebSocketConnection(
    {
      name: 'node',
      url: new URL(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`),
      headers: {},
      responseMaxBytes,
      times: { handshakeMs: 20_000, pingMs: 20_000, pongMs: 20_000, idleMs: 60_000 },
      onNotification: ({ length }) => received.push(length),
    },
    () => undefined,
  );
  onTestFinished(() => {
    connection.close();
    server.close();
  });
  return { server, connection, received };
}

/** Transport without a gateway, with short times, and its node. */
async function startTransport(times: Partial<ConnectionTimes>) {
  const node = await startFakeWebSocketNode(CHAIN_ID);
  const upstream = new WebSocketUpstream({
    name: 'node',
    url: node.url,
    headers: {},
    responseMaxBytes: 1_000_000,
    times,
  });
  onTestFinished(async () => {
    await upstream.close();
    await node.stop();
  });
  let id = 0;
  const send = (timeoutMs = 20_000) => {
    const body = `{"jsonrpc":"2.0","id":${++id},"method":"eth_getStorageAt","params":["","0x1"]}`;
    return upstream.send({ id, body, deadline: clock.now() + timeoutMs });
  };
  return { node, upstream, send };
}

/** Resolves when the upstream has noticed the end of its connection, which may be after the node has. */
function nextLoss(upstream: WebSocketUpstream): Promise<void> {
  return new Promise((resolve) => {
    upstream.watch({ connected: () => undefined, lost: resolve, batchesChanged: () => undefined });
  });
}

describe('a connection', () => {
  it('is closed when idle, and opened again by the next call', async () => {
    const { node, upstream, send } = await startTransport({ pingMs: 20, idleMs: 100 });
    await send();
    expect(node.sockets.size).toBe(1);
    const lost = nextLoss(upstream);
    let code = 0;
    for (const socket of node.sockets) socket.on('close', (given) => (code = given));
    await lost;
    await eventually(() => node.sockets.size === 0);
    expect(code).toBe(1000);
    expect(node.handshakes).toHaveLength(1);
    await send();
    expect(node.handshakes).toHaveLength(2);
  });

  it('stays open while it is in use', async () => {
    // The clock moves only here, so that no pause of a slow machine is idle time.
    const time = shiftClock();
    const { node, send } = await startTransport({ pingMs: 5, idleMs: 100 });
    for (let times = 0; times < 10; times++) {
      await send();
      time.forward(90);
      // Several pings, each of which checks the idle time.
      await staysTrueFor(20, () => node.sockets.size === 1);
    }
    expect(node.handshakes).toHaveLength(1);
    time.forward(10);
    await eventually(() => node.sockets.size === 0);
  });

  it('stays open while a call is in flight, however long', async () => {
    const { node, send } = await startTransport({ pingMs: 20, idleMs: 50 });
    node.onCall(({ respond }) => void scenarioPause(300).then(respond));
    expect((await send()).status).toBe(200);
    expect(node.handshakes).toHaveLength(1);
  });

  it('without a pong is closed, and its calls fail', async () => {
    const { node, send } = await startTransport({ pingMs: 100, pongMs: 1_000 });
    await send();
    mute(node);
    await expect(send()).rejects.toMatchObject({ failure: 'transport', message: 'no pong' });
  });

  it('is pinged after a timeout, and stays open if a pong arrives', async () => {
    const pongMs = 1_000;
    const { node, send } = await startTransport({ pongMs });
    await send();
    node.onCall(() => undefined);
    await expect(send(50)).rejects.toMatchObject({ failure: 'transport', message: 'timed out' });
    await staysTrueFor(pongMs + 100, () => node.sockets.size === 1);
    node.onCall(undefined);
    await send();
    expect(node.handshakes).toHaveLength(1);
    mute(node);
    await expect(send(50)).rejects.toMatchObject({ message: 'timed out' });
    // Calls fail until the pong is overdue; then the next call opens a connection.
    const isAnswered = (): Promise<boolean> =>
      send().then(
        () => true,
        () => false,
      );
    await eventually(isAnswered);
    expect(node.handshakes).toHaveLength(2);
  });

  it.each([
    [503, 'transport'],
    [401, 'auth'],
  ])(
    'is not opened again at once after a failed handshake with %i, whose class calls have meanwhile',
    async (code, failure) => {
      const time = shiftClock();
      const { node, send } = await startTransport({});
      node.rejectUpgradesWith(code);
      for (let times = 0; times < 10; times++) {
        await send().then(
          ({ status }) => {
            expect(status).toBe(code);
          },
          (error: unknown) => {
            expect(error).toMatchObject({ failure, message: `HTTP ${code} without a JSON-RPC response` });
          },
        );
      }
      expect(node.handshakes).toHaveLength(1);
      const attempts: number[] = [];
      for (let waited = 0; waited < 60_000; waited += 50) {
        time.forward(50);
        const before = node.handshakes.length;
        await send().catch(() => undefined);
        if (node.handshakes.length > before) attempts.push(waited);
      }
      // 50 to 100 ms, then twice as long each time, up to 5 s.
      expect(attempts[0]).toBeLessThanOrEqual(100);
      expect(attempts.length).toBeGreaterThan(14);
      expect(attempts.length).toBeLessThan(32);
      const gaps = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(5_100);
    },
  );

  it('is opened again soon, if it was open since the last failed handshake', async () => {
    const time = shiftClock();
    const { node, upstream, send } = await startTransport({});
    node.rejectUpgradesWith(503);
    for (let times = 0; times < 10; times++) {
      await send();
      time.forward(5_000);
    }
    node.rejectUpgradesWith(undefined);
    await send();
    const lost = nextLoss(upstream);
    for (const socket of node.sockets) socket.terminate();
    await lost;
    node.rejectUpgradesWith(503);
    await send();
    node.rejectUpgradesWith(undefined);
    time.forward(110);
    expect((await send()).status).toBe(200);
  });

  it('is closed with the upstream, and not opened again', async () => {
    const { node, upstream, send } = await startTransport({});
    await send();
    node.onCall(() => undefined);
    const waiting = send();
    await eventually(() => node.calls.length === 2);
    await Promise.all([upstream.close(), expect(waiting).rejects.toMatchObject({ failure: 'transport' })]);
    await expect(send()).rejects.toMatchObject({ failure: 'transport', message: 'closed' });
    await eventually(() => node.sockets.size === 0);
  });
});

/** Like a node behind a firewall that dropped the connection: nothing arrives from it, not even pongs. */
function mute(node: FakeWebSocketNode): void {
  for (const socket of node.sockets) socket.pause();
}
