import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connector } from '../../../../gateway/upstreams/transport/connect/connector.ts';
import { credentialsOf } from '../../../../gateway/upstreams/transport/credentials.ts';
import { startConnectProxy } from '../../../support/connect-proxy.ts';
import { eventually } from '../../../support/eventually.ts';
import { holdTimers } from '../../../support/hold-timers.ts';

const connectorFor = (port: number): Connector =>
  new Connector(new URL('https://node.example:8545'), credentialsOf(`http://127.0.0.1:${port}`, {}));

/** The code of the error with which the connection fails. */
function failureOf(connector: Connector): Promise<string | undefined> {
  return new Promise((resolve) => {
    connector.connect({}, (error: (Error & { code?: string }) | null) => {
      resolve(error?.code);
    });
  });
}

/** A TCP server that reads, and never writes. */
async function startSilentPeer(): Promise<{ readonly port: number; readonly received: () => number }> {
  let bytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('data', (data) => void (bytes += data.length)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, received: () => bytes };
}

describe('a connection through a proxy', () => {
  it('that does not respond ends when the upstream is closed, and is closed at the proxy', async () => {
    const { port, hanging, targets } = await startConnectProxy('hang');
    const connector = connectorFor(port);
    const failure = failureOf(connector);
    await eventually(() => hanging.size === 1);
    connector.close();
    // Not PROXY_TIMEOUT: nothing waits for the time limit.
    expect(await failure).toBe('PROXY_CLOSED');
    await eventually(() => hanging.size === 0);
    expect(targets).toEqual(['node.example:8545']);
    expect(await failureOf(connector)).toBe('PROXY_CLOSED');
  });

  it('that does not respond ends after 5 s', async () => {
    const { port, hanging } = await startConnectProxy('hang');
    const timers = holdTimers('setTimeout');
    const failure = failureOf(connectorFor(port));
    await timers.forward(4_999);
    expect(await Promise.race([failure, Promise.resolve('waits')])).toBe('waits');
    await timers.forward(1);
    expect(await failure).toBe('PROXY_TIMEOUT');
    timers.release();
    await eventually(() => hanging.size === 0);
  });

  it('that does not speak TLS in the tunnel ends when the upstream is closed', async () => {
    const silent = await startSilentPeer();
    const { port } = await startConnectProxy();
    const url = new URL(`https://127.0.0.1:${silent.port}`);
    const connector = new Connector(url, credentialsOf(`http://127.0.0.1:${port}`, {}));
    const failure = failureOf(connector);
    // It has the first message of TLS.
    await eventually(() => silent.received() > 0);
    connector.close();
    expect(await failure).toBe('PROXY_CLOSED');
  });

  it.each([407, 403, 502])('that is rejected with %i has that in its code', async (status) => {
    const { port } = await startConnectProxy(status);
    expect(await failureOf(connectorFor(port))).toBe(`PROXY_${status}`);
  });

  it('to a proxy that refuses connections differs from an upstream that does', async () => {
    const { port } = await startConnectProxy();
    const used = await new Promise<number>((resolve) => {
      const socket: Socket = connect(port, '127.0.0.1', () => {
        resolve(socket.localPort ?? 0);
        socket.destroy();
      });
    });
    expect(await failureOf(connectorFor(used))).toBe('PROXY_ECONNREFUSED');
  });
});
