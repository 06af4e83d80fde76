import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { Reservation } from '../../../gateway/memory/reservation.ts';
import { eventually } from '../../support/eventually.ts';
import { readBody, RequestAborted } from '../../../gateway/server/http/read-body.ts';

it('the body of a request whose client disconnected before it is read is aborted, so that its slot is released', async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  client.destroy();
  await eventually(() => request.destroyed);
  const reading = readBody(request, 1_000, new Reservation(new MemoryBudget({ requestsMax: 10, maxBytes: 1_000_000 })));
  await expect(reading).rejects.toBeInstanceOf(RequestAborted);
});
