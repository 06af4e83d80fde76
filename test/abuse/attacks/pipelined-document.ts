import { holdOpen } from '../processes/raw-connection.ts';
import { pipelinedGets } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 8;
const BYTES = 65_000;

export const pipelinedDocument: Attack = {
  name: '`/openrpc.json` without a key',
  sends: '8 connections, each with 65 kB of pipelined `GET /openrpc.json`, responses never read',
  bound: '10 pipelined requests per connection; the document is serialised once',
  seconds: 10,
  key: undefined,
  atLeast: { connections: CONNECTIONS, bytes: CONNECTIONS * BYTES },
  start(target, traffic) {
    const requests = pipelinedGets('/openrpc.json', BYTES);
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, { reads: 'none', onOpen: ({ write }) => void write(requests) });
    }
  },
};
