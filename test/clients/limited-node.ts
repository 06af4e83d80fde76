import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Limits of a node, as providers have them. */
export interface NodeLimits {
  /** Maximum of `eth_getLogs`. */
  readonly maxBlocks?: number;
  /** Maximum of `eth_getLogs`. */
  readonly maxResults?: number;
  /** Older blocks, and their logs, are not available. */
  readonly prunedBelow?: number;
  /** After this many served requests for ranges of logs, and a refused one, this many requests of any kind get no response. */
  readonly fails?: { readonly after: number; readonly requests: number };
}

export interface LimitedNode {
  readonly url: string;
  /** The widths, in blocks, of the ranges of logs that were served and refused. */
  readonly served: number[];
  readonly refused: number[];
  /** How many requests got no response. */
  failed: number;
  close(): Promise<void>;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Starts a server that forwards requests to a node within these limits. */
export async function startLimitedNode(node: string, limits: NodeLimits): Promise<LimitedNode> {
  const server = createServer((request, response) => {
    relay(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const limited: LimitedNode = {
    url: `http://127.0.0.1:${port}`,
    served: [],
    refused: [],
    failed: 0,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  const { after, requests } = limits.fails ?? { after: 0, requests: 0 };

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (limited.refused.length > 0 && limited.served.length >= after && limited.failed < requests) {
      limited.failed++;
      response.destroy();
      return;
    }
    const call = JSON.parse(body) as Call;
    let result = errorBefore(call, limits) ?? (await forward(node, body));
    const width = widthOf(call);
    if (width !== undefined) {
      if (countIn(result) > (limits.maxResults ?? Infinity))
        result = errorOf(call, -32005, `query returned more than ${limits.maxResults} results`);
      (result.includes('"error"') ? limited.refused : limited.served).push(width);
    }
    response.setHeader('content-type', 'application/json').end(result);
  }
  return limited;
}

async function forward(node: string, body: string): Promise<string> {
  const response = await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return response.text();
}

function errorBefore(call: Call, { maxBlocks = Infinity, prunedBelow = 0 }: NodeLimits): string | undefined {
  if ((widthOf(call) ?? 0) > maxBlocks) return errorOf(call, -32602, `exceed maximum block range: ${maxBlocks}`);
  const [first] = call.params;
  const block = isRange(first) ? first.fromBlock : call.method.endsWith('ByNumber') ? first : undefined;
  return Number(block) < prunedBelow ? errorOf(call, 4444, 'pruned history unavailable') : undefined;
}

interface Range {
  readonly fromBlock: string;
  readonly toBlock: string;
}

function isRange(parameter: unknown): parameter is Range {
  return typeof parameter === 'object' && parameter !== null && 'fromBlock' in parameter && 'toBlock' in parameter;
}

function widthOf({ method, params: [filter] }: Call): number | undefined {
  if (method !== 'eth_getLogs' || !isRange(filter)) return undefined;
  return Number(filter.toBlock) - Number(filter.fromBlock) + 1;
}

function errorOf({ id }: Call, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

function countIn(response: string): number {
  return (JSON.parse(response) as { readonly result?: readonly unknown[] }).result?.length ?? 0;
}
