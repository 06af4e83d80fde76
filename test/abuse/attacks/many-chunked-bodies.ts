import { holdOpen, writeRepeatedly } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 200;
const CHUNKS_PER_WRITE = 4_000;

export const manyChunkedBodies: Attack = {
  name: '200 bodies in chunks of one byte, without a key',
  sends: '200 connections, each with an endless body in chunks of one byte, and again 0.5 s after a close',
  bound:
    'a connection with very many chunks waits; if several send them at once, the further ones are closed, and the rest of a read is not parsed',
  seconds: 8,
  key: undefined,
  atLeast: { connections: CONNECTIONS, bytes: CONNECTIONS * 6 * CHUNKS_PER_WRITE },
  start(target, traffic) {
    const chunks = '1\r\n \r\n'.repeat(CHUNKS_PER_WRITE);
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, {
        reads: 'all',
        onOpen(connection) {
          connection.write(`POST ${target.path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
          writeRepeatedly(connection, chunks, Infinity);
        },
      });
    }
  },
};
