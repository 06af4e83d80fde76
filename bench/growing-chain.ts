import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { WebSocketServer, type WebSocket } from 'ws';

/** A node whose chain grows by a block with 200 logs on demand. It also serves WebSockets, with `newHeads`. */
export interface GrowingChain {
  readonly server: Server;
  /** @returns the new height */
  grow(): number;
}

const LOGS = 200;
const hashFields = ['nonce', 'sha3Uncles', 'transactionsRoot', 'stateRoot', 'receiptsRoot', 'mixHash'];

export function growingChain(): GrowingChain {
  let height = 0;
  const hashOf = (number: number): string => `0x${createHash('sha256').update(`block ${number}`).digest('hex')}`;
  const block = (number: number): object => ({
    ...Object.fromEntries(hashFields.map((name) => [name, hashOf(0)])),
    ...{ number: hex(number), hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: hex(number) },
    ...{ miner: addressOf(0), difficulty: '0x0', extraData: '0x', gasLimit: '0x1c9c380', gasUsed: '0x5208' },
    ...{ logsBloom: `0x${'f'.repeat(512)}`, baseFeePerGas: '0x7', size: '0x1', transactions: [], uncles: [] },
  });
  const numberOf = (hash: unknown): number => {
    for (let number = height; number >= 0; number--) if (hashOf(number) === hash) return number;
    return -1;
  };
  const resultOf = (method: string, [first]: unknown[]): unknown => {
    if (method === 'eth_chainId') return '0x1';
    if (method === 'eth_blockNumber') return hex(height);
    if (method === 'eth_getBlockByNumber') return block(first === 'latest' ? height : Number(first));
    if (method === 'eth_getBlockByHash') return block(numberOf(first));
    const { blockHash } = first as { blockHash: string };
    const blockNumber = hex(numberOf(blockHash));
    return Array.from({ length: LOGS }, (_, index) => ({
      ...{ address: addressOf(index), topics: [hashOf(1), hashOf(2), hashOf(3)], data: hashOf(4), removed: false },
      ...{ blockHash, blockNumber, transactionHash: hashOf(index), transactionIndex: '0x0', logIndex: hex(index) },
    }));
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) });
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  });
  const subscribers = new Set<WebSocket>();
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    socket.on('close', () => subscribers.delete(socket));
    socket.on('message', (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as { id: number; method: string; params: unknown[] };
      const isSubscription = method === 'eth_subscribe';
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: isSubscription ? '0x1' : resultOf(method, params) }));
      if (isSubscription) subscribers.add(socket);
    });
  });
  const grow = (): number => {
    height += 1;
    const result = { ...block(height), transactions: undefined, uncles: undefined };
    const params = { subscription: '0x1', result };
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params });
    for (const socket of subscribers) socket.send(text);
    return height;
  };
  return { server, grow };
}

/** The address of the log at this index of each block. */
export function addressOf(index: number): string {
  return `0xaa${index.toString(16).padStart(38, '0')}`;
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
