import { connect, type Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { RejectedBodies } from '../../gateway/limits/rejected-bodies.ts';
import { Account } from '../../gateway/admission/account.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { MemoryGuard } from '../../gateway/memory/memory-guard.ts';
import { listen } from '../../gateway/server/http/http-server.ts';
import { eventually } from '../support/eventually.ts';

const heavy = new Account('heavy');

it('keeps the connection of a request that has sent a transaction while memory is critical', async () => {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  const guard = new MemoryGuard((heap + external) * 3);
  const memory = new MemoryBudget({ requestsMax: 10, maxBytes: 1e9, guard });
  const respond: (() => void)[] = [];
  const listener = await listen(
    (request, response) => {
      const { reservation } = request;
      reservation.moveTo(heavy);
      reservation.mustDeliver = request.url === '/sends';
      respond.push(() => response.end('delivered'));
    },
    { name: 'main', host: '127.0.0.1', port: 0 },
    60_000,
    {
      memory,
      accountOf: () => heavy,
      rejectedBodies: new RejectedBodies(),
      connectionsMax: 100,
    },
  );
  const open = (path: string): { connection: Socket; text: () => string } => {
    let text = '';
    const connection = connect(listener.port, '127.0.0.1', () => {
      connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    });
    connection.on('data', (bytes: Buffer) => (text += bytes.toString())).on('error', () => connection.destroy());
    return { connection, text: () => text };
  };
  const sending = open('/sends');
  const reading = open('/reads');
  await eventually(() => respond.length === 2);
  guard.weigh(heavy, 5e6);
  const held = Buffer.alloc(guard.limitBytes * 0.9);
  await eventually(() => reading.connection.closed);
  expect(guard.state).toBe('critical');
  for (const end of respond) end();
  await eventually(() => sending.text() !== '' || sending.connection.closed);
  expect(sending.text()).toContain('delivered');
  expect(held.length).toBeGreaterThan(0);
  sending.connection.destroy();
  guard.close();
  await listener.drain(100);
});
