import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import { createServer as createHttpsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type RpcResponse, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startBlackHole } from './black-hole.ts';
import { startFaultProxy, type WireFault } from './fault-proxy.ts';

export const CHAIN_ID = 7;

/** An upstream that is good until it is told to fail. */
export interface BadUpstream {
  /** As a network file has it, without name. */
  readonly upstream: Readonly<Record<string, string>>;
  /** How often it was asked for this. */
  received(method: string): number;
  fail(): Promise<void> | void;
  close(): Promise<unknown>;
}

/** The right answers. */
export const word = `0x${'2a'.padStart(64, '0')}`;
export const transaction = { hash: `0x${'7a'.repeat(32)}`, blockHash: `0x${'b1'.repeat(32)}`, blockNumber: '0x10' };
/** Twelve seconds apart. */
export const head = (number: number): RpcResponse => ({
  number: `0x${number.toString(16)}`,
  timestamp: `0x${(1_700_000_000 + 12 * number).toString(16)}`,
  gasLimit: '0x1c9c380',
});

export const goodAnswers: Readonly<Record<string, RpcResponse>> = {
  eth_getStorageAt: word,
  eth_getTransactionByHash: transaction,
  eth_getBlockByNumber: head(0x10),
};

/** A node that is there, and does this with calls. */
export function node(behaviour: Behaviour): () => Promise<BadUpstream> {
  return nodeThat((bad) => {
    bad.always(behaviour);
  });
}

/** A node that is there, and is changed. @param responses of its own, from the start */
export function nodeThat(
  change: (bad: FakeNode) => void,
  responses: Readonly<Record<string, RpcResponse>> = {},
): () => Promise<BadUpstream> {
  return async () => {
    const bad = await startFakeNode({ chainId: CHAIN_ID, responses: { ...goodAnswers, ...responses } });
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

/** A good node behind a wire that fails. */
export function wire(fault: WireFault | undefined, protocol: 'http' | 'https' = 'http'): () => Promise<BadUpstream> {
  return async () => {
    const good = await startFakeNode({ chainId: CHAIN_ID, responses: goodAnswers });
    const proxy = await startFaultProxy(Number(new URL(good.url).port));
    return {
      upstream: { url: `${protocol}://127.0.0.1:${proxy.port}` },
      received: (method) => good.callsOf(method).length,
      fail: () => proxy.fail(fault),
      close: () => Promise.all([proxy.close(), good.close()]),
    };
  };
}

/** A node over a WebSocket that is changed. @param fault of the wire before it */
export function socket(change: (bad: FakeWebSocketNode) => Promise<void> | void, fault?: WireFault) {
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

/** What never is an upstream. */
export function nobody(url: string): () => Promise<BadUpstream> {
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

/** TLS without a certificate, or with one that nobody trusts. It stands in the open: it is good for nothing else. */
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
  // It is bad from the start.
}
