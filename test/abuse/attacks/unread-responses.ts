import { codeCall, rawPost } from '../processes/requests.ts';
import { holdOpen } from '../processes/raw-connection.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 6;
const BYTES = 130_000;

export const unreadResponses: Attack = {
  name: 'pipelined requests, responses never read',
  sends: '6 connections, each with 130 kB of pipelined `eth_getCode` of 0.9 MB',
  bound: '4 requests read ahead per connection; responses count until the kernel has them',
  seconds: 10,
  key: {},
  atLeast: { connections: CONNECTIONS, bytes: CONNECTIONS * BYTES },
  start(target, traffic) {
    const request = rawPost(target.path, codeCall(1));
    const requests = Buffer.from(request.repeat(Math.ceil(BYTES / request.length)));
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, { reads: 'none', onOpen: ({ write }) => void write(requests) });
    }
  },
};
