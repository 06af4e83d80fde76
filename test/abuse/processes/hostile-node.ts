import { createHash } from 'node:crypto';
import { WebSocketServer, type WebSocket } from 'ws';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Traffic } from './traffic.ts';

/** What a hostile upstream sends beyond its responses. */
export type Flood = 'heads' | 'fat-heads' | 'fat-blocks' | 'long-hashes' | 'early-notifications';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const FAT_CHARS = 2_000_000;
const HASH_CHARS = 200_000;
const EARLY_CHARS = 100_000;
/** About 25 MB as JSON. */
const junk = Array.from({ length: 4_000_000 }, (_, index) => 10_000 + (index % 10));
const MAX_UNSENT_BYTES = 8_000_000;
const MESSAGES_AT_ONCE = 50;
const PAUSE_MS = 2;
const FAT_PAUSE_MS = 25;

const hashOf = (number: number): string => `0x${createHash('sha256').update(String(number)).digest('hex')}`;
const hex = (number: number): string => `0x${number.toString(16)}`;

/** An upstream of another network, whose node is hostile. It serves a chain over WebSocket, and floods its subscribers. */
export function startHostileNode(port: number, chainId: number, flood: Flood, traffic?: Traffic): WebSocketServer {
  let head = 100;
  const block = (number: number) => ({
    ...{ number: hex(number), hash: hashOf(number), parentHash: hashOf(number - 1), gasLimit: '0x1c9c380' },
    ...{ gasUsed: '0x0', timestamp: hex(1_700_000_000 + number), logsBloom: `0x${'00'.repeat(256)}` },
  });
  const resultOf = ({ method, params: [which] }: Call): unknown => {
    if (method === 'eth_chainId') return hex(chainId);
    if (method === 'eth_subscribe') return '0x1';
    const number = which === 'latest' ? head : Number(which);
    if (method !== 'eth_getBlockByNumber' || Number.isNaN(number)) return null;
    return { ...block(number), transactions: [], ...(flood === 'fat-blocks' && which === 'latest' && { junk }) };
  };
  const notification = (result: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result } });
  let count = 0;
  const next = (): string => {
    if (flood === 'fat-heads') {
      head++;
      const extraData = `0x${String(count++).padStart(8, '0')}${'a'.repeat(FAT_CHARS)}`;
      return notification({ ...block(head), extraData });
    }
    if (flood === 'heads') return notification(block(++head));
    if (flood === 'long-hashes') return notification(hex(count++).slice(2).padStart(HASH_CHARS, '0'));
    return notification({ x: 'A'.repeat(EARLY_CHARS) });
  };
  const send = (socket: WebSocket): void => {
    if (socket.readyState !== socket.OPEN) return;
    const atOnce = flood === 'fat-heads' ? 1 : MESSAGES_AT_ONCE;
    for (let sent = 0; sent < atOnce && socket.bufferedAmount < MAX_UNSENT_BYTES; sent++) {
      const text = next();
      socket.send(text);
      traffic?.sent(text.length);
    }
    void scenarioPause(flood === 'fat-heads' ? FAT_PAUSE_MS : PAUSE_MS).then(() => {
      send(socket);
    });
  };
  const server = new WebSocketServer({ port, host: '127.0.0.1' });
  server.on('connection', (socket) => {
    traffic?.opened();
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const call = JSON.parse((data as Buffer).toString()) as Call;
      const isFlooded = call.method === 'eth_subscribe' && flood !== 'fat-blocks';
      // The response never comes.
      if (isFlooded && flood === 'early-notifications') send(socket);
      else {
        const text = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: resultOf(call) });
        socket.send(text);
        traffic?.sent(text.length);
        const isWanted = call.params[0] === (flood === 'long-hashes' ? 'newPendingTransactions' : 'newHeads');
        if (isFlooded && isWanted) send(socket);
      }
    });
  });
  return server;
}
