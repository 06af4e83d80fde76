import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { ReadPace } from '../../gateway/upstream/read-pace.ts';

it('of what comes over several connections no more than so much is read in a turn, and all of it in the end', async () => {
  const bytes = 3_000_000;
  const server = createServer((socket) => socket.end(Buffer.alloc(bytes))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pace = new ReadPace();
  let inTurn = 0;
  let most = 0;
  const readAll = async (): Promise<number> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    pace.follow(socket);
    let total = 0;
    // As undici reads.
    socket.on('readable', () => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        total += chunk.length;
        if (inTurn === 0) setImmediate(() => (inTurn = 0));
        inTurn += chunk.length;
        most = Math.max(most, inTurn);
      }
    });
    await once(socket, 'end');
    return total;
  };
  expect(await Promise.all([readAll(), readAll(), readAll()])).toEqual([bytes, bytes, bytes]);
  // The last chunk may be the one too many; what is read in the turn's last phase counts to the next.
  expect(most).toBeLessThan(1_200_000);
  server.close();
});
