import { holdOpen } from '../processes/raw-connection.ts';
import { pipelinedGets } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const ADDRESSES = 100;
const BYTES = 8_000;

export const manyAddresses: Attack = {
  name: '100 addresses without a key',
  sends: '100 client addresses, each with 8 kB of pipelined `GET /openrpc.json`, responses never read',
  bound: 'all addresses together have a quarter of the memory budget, of which each has a share',
  seconds: 6,
  key: undefined,
  atLeast: { connections: ADDRESSES, bytes: ADDRESSES * BYTES },
  start(target, traffic) {
    const requests = pipelinedGets('/openrpc.json', BYTES);
    // Linux accepts all addresses of 127.0.0.0/8.
    for (let index = 1; index <= ADDRESSES; index++) {
      const own = { ...target, localAddress: `127.0.1.${index}` };
      holdOpen(own, traffic, { reads: 'none', reopens: false, onOpen: ({ write }) => void write(requests) });
    }
  },
};
