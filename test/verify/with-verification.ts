import { onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { startLyingNode, type LyingNode } from './lying-node.ts';

export interface WithVerification {
  readonly gateway: TestGateway;
  readonly nodes: readonly LyingNode[];
  /** @returns the response, and the header X-Gatehouse-Verified */
  readonly send: (
    method: string,
    params: readonly unknown[],
    headers?: Record<string, string>,
  ) => Promise<JsonRpcResponse & { readonly verified: string | null }>;
  /** How many results of an upstream had this outcome. */
  readonly count: (upstream: string, outcome: 'agrees' | 'differs' | 'cannot-tell') => Promise<number>;
}

/**
 * Starts a gateway in front of nodes that may lie, until the test ends. Node 0 gets the calls.
 * @param urls of the real nodes
 * @param more options of the network
 * @param groups of the nodes; default: each has its own
 */
export async function withVerification(
  chainId: number,
  urls: readonly string[],
  more: object = { verify: 'require' },
  env: Record<string, string> = {},
  groups: readonly string[] = [],
): Promise<WithVerification> {
  const nodes = await Promise.all(urls.map(startLyingNode));
  const options = { methods: ['eth'], failsafe: { hedgeAfterMs: 'off' }, ...more };
  const file = network(
    chainId,
    nodes.map(({ url }) => url),
    options,
  );
  const { upstreams } = file as { readonly upstreams: readonly object[] };
  const grouped = upstreams.map((upstream, at) =>
    groups[at] === undefined ? upstream : { ...upstream, group: groups[at] },
  );
  const timeouts = { UPSTREAM_TIMEOUT_MS: '20000', CALL_TIMEOUT_MS: '60000' };
  const gateway = await startGateway({ test: { ...file, upstreams: grouped } }, { ...timeouts, ...env });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  return {
    gateway,
    nodes,
    send: async (method, params, headers = {}) => {
      const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
      const body = (await response.json()) as JsonRpcResponse;
      return { ...body, verified: response.headers.get('x-gatehouse-verified') };
    },
    count: async (upstream, outcome) => {
      const { value } = await readMetrics(gateway.address);
      return value('gatehouse_audits_total', { network: 'test', upstream, outcome }) ?? 0;
    },
  };
}
