import { holdOpen, writeRepeatedly, type RawConnection } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 2;
const CHUNKS_PER_WRITE = 10_000;
const WRITES = 490;

export const tinyRequestChunks: Attack = {
  name: 'request bodies in chunks of one byte',
  sends: '2 connections with bodies of 4.9 MB, each byte in a chunk of its own',
  bound: 'small chunks are copied together',
  seconds: 10,
  key: { rate: 1 },
  atLeast: { connections: CONNECTIONS, bytes: 1_000_000 },
  start(target, traffic) {
    const chunks = Buffer.from('1\r\n \r\n'.repeat(CHUNKS_PER_WRITE));
    const head = `POST ${target.path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const sendBody = (connection: RawConnection): void => {
      connection.write(head);
      writeRepeatedly(connection, chunks, WRITES, () => {
        connection.write('0\r\n\r\n');
        sendBody(connection);
      });
    };
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, { reads: 'all', onOpen: sendBody });
    }
  },
};
