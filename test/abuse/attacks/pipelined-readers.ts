import { holdOpen, writeRepeatedly } from '../processes/raw-connection.ts';
import { pipelinedGets } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS_EACH = 4;
const BYTES_PER_WRITE = 2_000;

/** A client that reads takes no memory, but its responses could keep the event loop. */
export const pipelinedReaders: Attack = {
  name: 'pipelined pages, all read',
  sends:
    '12 connections that pipeline GET without a pause, 4 each of `/docs`, of the path of a key that does not exist and of `/metrics` on `OPS_PORT`, and read all responses',
  bound: '10 pipelined requests per connection, which then closes; simultaneous requests share one page of metrics',
  seconds: 5,
  key: undefined,
  atLeast: { connections: 3 * CONNECTIONS_EACH, bytes: 100_000 },
  start(target, traffic) {
    for (const [port, path] of [
      [target.port, '/docs'],
      [target.port, target.path],
      [target.opsPort, '/metrics'],
    ] as const) {
      const requests = pipelinedGets(path, BYTES_PER_WRITE);
      for (let count = 0; count < CONNECTIONS_EACH; count++) {
        holdOpen(target, traffic, {
          port,
          reads: 'all',
          onOpen: (connection) => {
            writeRepeatedly(connection, requests, Infinity);
          },
        });
      }
    }
  },
};
