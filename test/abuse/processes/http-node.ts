import { createServer } from 'node:http';
import type { Traffic } from './traffic.ts';

export interface NodeCall {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

const HEAD = 2_000_000;
const hex = (number: number): string => `0x${number.toString(16)}`;
const hashOf = (number: number): string => `0x${'ab'.repeat(28)}${number.toString(16).padStart(8, '0')}`;
function blockAt(number: number): object {
  return {
    ...{ number: hex(number), hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: hex(0x65000000) },
    ...{ gasLimit: '0x1c9c380', gasUsed: '0x0', transactions: [], uncles: [] },
  };
}

/**
 * An upstream of another network over HTTP. It serves its chain id and its blocks.
 * @param respond to all other calls, also those of a batch: the response as JSON, in parts
 */
export function startHttpNode(
  port: number,
  chainId: number,
  traffic: Traffic,
  respond: (call: NodeCall) => readonly (string | Buffer)[],
): void {
  const own: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_chainId: () => hex(chainId),
    eth_blockNumber: () => hex(HEAD),
    eth_getBlockByNumber: ([block]) => {
      const number = Number(block);
      return number > HEAD ? null : blockAt(Number.isNaN(number) ? HEAD : number);
    },
  };
  const partsOf = (call: NodeCall): readonly (string | Buffer)[] => {
    const { id, method, params = [] } = call;
    const result = own[method];
    return result === undefined ? respond(call) : [JSON.stringify({ jsonrpc: '2.0', id, result: result(params) })];
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const calls = JSON.parse(Buffer.concat(chunks).toString()) as NodeCall | readonly NodeCall[];
      const parts =
        'method' in calls
          ? partsOf(calls)
          : ['[', ...calls.flatMap((call, at) => [at === 0 ? '' : ',', ...partsOf(call)]), ']'];
      for (const part of parts) {
        traffic.sent(part.length);
        response.write(part);
      }
      response.end();
    });
  });
  server.on('connection', () => {
    traffic.opened();
  });
  server.listen(port, '127.0.0.1');
}
