import { holdOpen } from '../processes/raw-connection.ts';
import { pipelinedGets } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const ADDRESSES = 100;
const BYTES = 65_000;

export const manyAddresses: Attack = {
  name: '100 addresses without a key',
  sends:
    '100 client addresses, each with 65 kB of pipelined `GET /openrpc.json`, responses never read, and again 0.5 s after a close',
  bound:
    'all addresses together have a quarter of the memory budget; a connection that pipelines more than 10 requests closes, and the rest of a read is not parsed',
  seconds: 6,
  key: undefined,
  // A guard rejects most of the later ones.
  atLeast: { connections: ADDRESSES, bytes: ADDRESSES * BYTES },
  start(target, traffic) {
    const requests = pipelinedGets('/openrpc.json', BYTES);
    // Linux accepts all addresses of 127.0.0.0/8.
    for (let index = 1; index <= ADDRESSES; index++) {
      const own = { ...target, localAddress: `127.0.1.${index}` };
      holdOpen(own, traffic, { reads: 'none', onOpen: ({ write }) => void write(requests) });
    }
  },
};
