import { onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { CHAIN_ID, hex, startLogNode, type LogChain, type NodeLimits } from './log-chain.ts';

export interface WithLogNodes {
  readonly gateway: TestGateway;
  readonly nodes: readonly FakeNode[];
  /** Requests the logs of a range; returns the HTTP status and the text of the response. */
  readonly getLogs: (from: number | string, to: number | string, more?: object) => Promise<Sent>;
  /** The ranges of the requests for logs at each node, as numbers. */
  readonly ranges: (method?: string) => number[][][];
}

export interface Sent {
  readonly status: number;
  readonly text: string;
}

/** Settings for a busy machine: a request in parts may have hundreds of calls. */
const patient = { CALL_TIMEOUT_MS: '60000', UPSTREAM_TIMEOUT_MS: '30000' };

/**
 * Starts a gateway in front of one node for each of the limits, until the test ends.
 * @param more keys of the network file, also of its upstreams
 * @param env settings
 */
export async function withLogNodes(
  chain: LogChain,
  limits: readonly NodeLimits[],
  more: object | ((urls: readonly string[]) => object) = {},
  env: Record<string, string> = {},
): Promise<WithLogNodes> {
  const nodes = await Promise.all(limits.map((one) => startLogNode(chain, one)));
  const urls = nodes.map(({ url }) => url);
  const file = network(CHAIN_ID, urls, {
    methods: ['eth', 'trace_filter'],
    failsafe: { hedgeAfterMs: 'off' },
    ...(typeof more === 'function' ? (more as (urls: readonly string[]) => object)(urls) : more),
  });
  const gateway = await startGateway({ test: file }, { ...patient, ...env });
  onTestFinished(() => gateway.stop());
  const end = (block: number | string): string => (typeof block === 'number' ? hex(block) : block);
  return {
    gateway,
    nodes,
    getLogs: (from, to, filter = {}) =>
      send(gateway, 'eth_getLogs', [{ fromBlock: end(from), toBlock: end(to), ...filter }]),
    ranges: (method = 'eth_getLogs') =>
      nodes.map((node) =>
        node.callsOf(method).map(({ params }) => {
          const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
          return [Number(fromBlock), Number(toBlock)];
        }),
      ),
  };
}

export async function send(gateway: TestGateway, method: string, params: readonly unknown[]): Promise<Sent> {
  const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return { status: response.status, text: await response.text() };
}

/** The text of a response with these logs. */
export function responseWith(logs: readonly object[]): string {
  return `{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(logs)}}`;
}

export function errorIn({ text }: Sent): { readonly code: number; readonly message: string } | undefined {
  return (JSON.parse(text) as { readonly error?: { readonly code: number; readonly message: string } }).error;
}

/** Waits until the gateway knows which blocks are final. The limits of the upstreams are known then. */
export async function untilFinal({ getLogs, nodes }: WithLogNodes): Promise<void> {
  await getLogs(0, 1_999);
  await eventually(async () => {
    const before = nodes.flatMap((node) => node.callsOf('eth_getLogs')).length;
    await getLogs(0, 1_999);
    return nodes.flatMap((node) => node.callsOf('eth_getLogs')).length === before;
  });
}
