import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { clock } from '../../gateway/clock/clock.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { WebSocketUpstream } from '../../gateway/upstreams/transport/websocket-upstream.ts';
import { eventually } from '../support/eventually.ts';

const PART_BYTES = 500_000;

/** A call over WebSocket whose response has arrived in part. */
async function withPartOfResponse() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const memory = new MemoryBudget({ requestsMax: 1, maxBytes: 10_000_000 });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream = new WebSocketUpstream({ name: 'node', url, headers: {}, responseMaxBytes: 10_000_000, memory });
  onTestFinished(async () => {
    await upstream.close();
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const response = upstream.send({
    id: 1,
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_getCode"}',
    deadline: clock.now() + 30_000,
  });
  const [node] = (await once(server, 'connection')) as [WebSocket];
  await once(node, 'message');
  node.send(`{"jsonrpc":"2.0","id":1,"result":"0x${'0'.repeat(PART_BYTES)}`, { fin: false });
  await eventually(() => memory.bytes > PART_BYTES - 1);
  return { memory, node, response };
}

it('a response over WebSocket takes bytes from the memory budget while it arrives', async () => {
  const { memory, node, response } = await withPartOfResponse();
  node.send('"}', { fin: true });
  expect((await response).body.length).toBeGreaterThan(PART_BYTES);
  expect(memory.bytes).toBe(0);
});

it('a response over WebSocket that is cut off takes none', async () => {
  const { memory, node, response } = await withPartOfResponse();
  node.terminate();
  await expect(response).rejects.toThrow();
  expect(memory.bytes).toBe(0);
});
