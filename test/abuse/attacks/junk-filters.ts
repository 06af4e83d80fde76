import { gzipSync } from 'node:zlib';
import { holdOpen } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 4;
const JUNK_BYTES = 4_900_000;

export const junkFilters: Attack = {
  name: 'filters with a large unknown member',
  sends: '4 connections, one `eth_newFilter` after the other: 5 kB of gzip with an unknown member of 4.9 MB',
  bound: 'a filter keeps the members that the spec names only; its bytes count against the key',
  seconds: 15,
  key: {},
  atLeast: { connections: CONNECTIONS, bytes: 200_000 },
  start(target, traffic) {
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_newFilter', params: [{ junk: 'x'.repeat(JUNK_BYTES) }] };
    const body = gzipSync(JSON.stringify(call));
    const head = `POST ${target.path} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    const request = Buffer.concat([Buffer.from(head), body]);
    for (let count = 0; count < CONNECTIONS; count++) {
      let send = (): void => undefined;
      holdOpen(target, traffic, {
        reads: 'all',
        onOpen({ write }) {
          send = () => void write(request);
          send();
        },
        onText: () => {
          send();
        },
      });
    }
  },
};
