import { holdOpen } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 21;
const BODY_BYTES = 5_000_000;
const SENT_BYTES = 4_999_000;

export const slowBodies: Attack = {
  name: 'bodies that never end',
  sends: '21 connections of a key with `rate: 1`, each with 4,999,000 bytes of a body of 5,000,000',
  bound: 'received bytes count against the key; `REQUEST_TIMEOUT_MS`',
  seconds: 15,
  key: { rate: 1 },
  atLeast: { connections: CONNECTIONS, bytes: SENT_BYTES },
  start(target, traffic) {
    const part = Buffer.alloc(SENT_BYTES, ' ');
    const head = `POST ${target.path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, {
        reads: 'all',
        onOpen({ write }) {
          write(head);
          write(part);
        },
      });
    }
  },
};
