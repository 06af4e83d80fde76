import { onTestFinished, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';

export const CHAIN_ID = 7;

export interface WithNodes {
  readonly gateway: TestGateway;
  readonly nodes: readonly FakeNode[];
  /** Calls eth_getStorageAt, each time for another position. Node 0 returns `word(1)`, node 1 `word(2)` and so on. */
  readonly request: () => Promise<JsonRpcResponse>;
  /** The same at an old block: no upstream is skipped because it may have lost the newest one. */
  readonly requestOld: () => Promise<JsonRpcResponse>;
  /** Request or another call; returns the HTTP status and the response text as well. */
  readonly send: (method?: string, params?: readonly unknown[]) => Promise<Sent>;
  /** Number of requests that each node received, except for its chain id and its head. */
  readonly requestCounts: () => number[];
}

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly response: JsonRpcResponse;
}

export const storageParams = [`0x${'11'.repeat(20)}`, '0x0', 'latest'];

/** Options of a network file whose slow reads are hedged, as by default. */
export const hedged = { failsafe: { hedgeAfterMs: undefined } };

/**
 * Starts a gateway in front of this many fake nodes, best first, until the test ends. No read is hedged or batched, because
 * the tests count upstream requests, any read can be slow on a loaded machine, and any two can be in one turn.
 * @param more keys of the network file
 * @param keys of each upstream in the network file, beside name and url
 */
export async function withNodes(
  count: number,
  env: Record<string, string> = {},
  more: object = {},
  keys: readonly object[] = [],
): Promise<WithNodes> {
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(index + 1) } }),
    ),
  );
  const urls = nodes.map(({ url }) => url);
  const upstreams = urls.map((url, index) => ({ name: `node-${index}`, url, batch: false, ...keys[index] }));
  const failsafe = { hedgeAfterMs: 'off', ...(more as { readonly failsafe?: object }).failsafe };
  const file = network(CHAIN_ID, urls, { methods: ['eth', 'zks'], upstreams, ...more, failsafe });
  // Without a cache, because the tests count upstream requests.
  const gateway = await startGateway({ test: file }, { CACHE_MAX_BYTES: '0', ...env });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  // Different positions, because identical calls would be coalesced.
  let position = 0;
  const anotherPosition = (block = 'latest'): unknown[] => [storageParams[0], `0x${(position++).toString(16)}`, block];
  return {
    gateway,
    nodes,
    request: () => gateway.call('test', 'eth_getStorageAt', anotherPosition()),
    requestOld: () => gateway.call('test', 'eth_getStorageAt', anotherPosition('0x1')),
    send: async (method = 'eth_getStorageAt', params = anotherPosition()) => {
      const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      const text = await response.text();
      return { status: response.status, text, response: JSON.parse(text) as JsonRpcResponse };
    },
    requestCounts: () => nodes.map(({ calls }) => calls.filter(({ method }) => !isProbe(method)).length),
  };
}

function isProbe(method: string): boolean {
  return method === 'eth_chainId' || method === 'eth_getBlockByNumber';
}

/** A block of a chain in which the number determines the hash. */
export const blockAt = (number: string) => ({
  number,
  hash: hashAt(BigInt(number)),
  parentHash: hashAt(BigInt(number) - 1n),
  gasLimit: '0x1c9c380',
  timestamp: '0x65000000',
  transactions: [],
});

/** The hash of a block, which is the parent of the next one. */
function hashAt(number: bigint): string {
  return `0x${(number < 0n ? '' : number.toString(16)).padStart(64, 'a')}`;
}

/** A number as 32 bytes. */
export function word(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}

/** Waits until the gateway has the responses to this many polls of the head of each upstream: by default, of all. */
export async function untilHeadsPolled({ gateway, nodes }: WithNodes, times = 1, upstreams?: readonly string[]) {
  const names = upstreams ?? nodes.map((_, index) => `node-${index}`);
  await eventually(async () => {
    const { value } = await readMetrics(gateway.address);
    const polls = names.map((upstream) => value('gatehouse_head_polls_total', { upstream, outcome: 'response' }));
    return polls.every((count = 0) => count >= times);
  });
}

/**
 * Stops the gateway's clock until the test ends; `forward` moves it. So no time window ends on a loaded machine before the
 * test moves the clock. Timers are not affected.
 * @param isRunning the clock continues between two moves: for tests of latencies
 */
export function shiftClock({ isRunning = false } = {}): { forward(ms: number): void } {
  // An integer, so that differences are exact.
  const startedAt = Math.ceil(clock.now());
  const real = isRunning ? clock.now.bind(clock) : () => startedAt;
  let ahead = 0;
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => real() + ahead);
  onTestFinished(() => {
    spy.mockRestore();
  });
  return { forward: (ms) => void (ahead += ms) };
}
