import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import { createServer as createHttpsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type RpcResponse, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startBlackHole } from './black-hole.ts';
import { startFaultProxy, type ConnectionFault } from './fault-proxy.ts';

export const CHAIN_ID = 7;

/** An upstream that works until `fail()`. */
export interface BadUpstream {
  /** Fields in a network file, without the name. */
  readonly upstream: Readonly<Record<string, string>>;
  /** The number of calls of this method that the node received. */
  received(method: string): number;
  fail(): Promise<void> | void;
  close(): Promise<unknown>;
}

/** The correct results. */
export const word = `0x${'2a'.padStart(64, '0')}`;
export const transaction = { hash: `0x${'7a'.repeat(32)}`, blockHash: `0x${'b1'.repeat(32)}`, blockNumber: '0x10' };
/** A block with a timestamp 12 s after that of its parent. */
export const head = (number: number): RpcResponse => ({
  number: `0x${number.toString(16)}`,
  timestamp: `0x${(1_700_000_000 + 12 * number).toString(16)}`,
  gasLimit: '0x1c9c380',
});

export const goodResponses: Readonly<Record<string, RpcResponse>> = {
  eth_getStorageAt: word,
  eth_getTransactionByHash: transaction,
  eth_getBlockByNumber: head(0x10),
};

/** A reachable node that handles calls with this behaviour after `fail()`. */
export function node(behaviour: Behaviour): () => Promise<BadUpstream> {
  return changedNode((bad) => {
    bad.always(behaviour);
  });
}

/** A reachable node that `fail()` changes. @param responses in addition to the correct ones, from the start */
export function changedNode(
  change: (bad: FakeNode) => void,
  responses: Readonly<Record<string, RpcResponse>> = {},
): () => Promise<BadUpstream> {
  return async () => {
    const bad = await startFakeNode({ chainId: CHAIN_ID, responses: { ...goodResponses, ...responses } });
    return {
      upstream: { url: bad.url },
      received: (method) => bad.callsOf(method).length,
      fail: () => {
        change(bad);
      },
      close: () => bad.close(),
    };
  };
}

/** A working node behind a connection that fails. */
export function connection(
  fault: ConnectionFault | undefined,
  protocol: 'http' | 'https' = 'http',
): () => Promise<BadUpstream> {
  return async () => {
    const good = await startFakeNode({ chainId: CHAIN_ID, responses: goodResponses });
    const proxy = await startFaultProxy(Number(new URL(good.url).port));
    return {
      upstream: { url: `${protocol}://127.0.0.1:${proxy.port}` },
      received: (method) => good.callsOf(method).length,
      fail: () => proxy.fail(fault),
      close: () => Promise.all([proxy.close(), good.close()]),
    };
  };
}

/** A WebSocket node that `fail()` changes. @param fault of the connection to it */
export function socket(change: (bad: FakeWebSocketNode) => Promise<void> | void, fault?: ConnectionFault) {
  return async (): Promise<BadUpstream> => {
    const bad = await startFakeWebSocketNode(CHAIN_ID);
    const proxy = await startFaultProxy(Number(new URL(bad.url).port));
    return {
      upstream: { websocketUrl: `ws://127.0.0.1:${proxy.port}` },
      received: (requested) => bad.calls.filter(({ method }) => method === requested).length,
      fail: async () => {
        await change(bad);
        await proxy.fail(fault);
      },
      close: () => Promise.all([proxy.close(), bad.stop()]),
    };
  };
}

/** A URL at which there is no node. */
export function unreachable(url: string): () => Promise<BadUpstream> {
  return () => Promise.resolve({ upstream: { url }, received: () => 0, fail: nothing, close: () => Promise.resolve() });
}

export async function blackHole(): Promise<BadUpstream> {
  const hole = await startBlackHole();
  return {
    upstream: { url: `http://127.0.0.1:${hole.port}` },
    received: () => 0,
    fail: nothing,
    close: () => hole.close(),
  };
}

/** TLS without a certificate, or with a self-signed one. Its private key is public and has no other use. */
export function tls(certificate: 'none' | 'self-signed'): () => Promise<BadUpstream> {
  return async () => {
    const pem = readFileSync(new URL('self-signed.pem', import.meta.url));
    let received = 0;
    const server: Server =
      certificate === 'none' ? createTlsServer({}) : createHttpsServer({ cert: pem, key: pem }, () => received++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      upstream: { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` },
      received: () => received,
      fail: nothing,
      close: () => Promise.resolve(server.close()),
    };
  };
}

function nothing(): void {
  // It fails from the start.
}
