import { table } from '../schemas/markdown-table.ts';

const shares = table([
  ['', 'busy time', 'bytes'],
  ['Gatehouse', '33 %', '6.4 kB'],
  ['Node: HTTP, streams, sockets, timers', '28 %', '9.6 kB'],
  ['undici', '13 %', '2.9 kB'],
  ['kernel: writes', '11 %', ''],
  ['garbage collection', '9 %', ''],
  ['native code', '6 %', '0.7 kB'],
]);

/** The section of docs/benchmarks.md about a single call. Measured apart from the scenarios. */
export const callProfile = `The shares are of single calls of the wallet mix with 64 connections: CPU profiles of 5 s, medians of three. The bytes are
those that V8's heap profiler found for \`eth_getStorageAt\`. AMD EPYC × 2, Node v20.20.2, 2026-11-23; other programs used
the machine.

${shares}

The counts of a call are in [lifecycle](lifecycle.md): 2 promises, 1 timer, 226 functions and 21 kB for \`eth_getStorageAt\` over HTTP,
where the goals are 4, 0, 80 and 10 kB. Why the others are not met, and what it would take:

- **The timer** is undici's: it sets one when a connection becomes idle, so that none is used after 15 s. No option avoids it:
  \`keepAliveTimeout\` must be above 0, and the next request clears the timer, because that for headers, even if it is off,
  is of another kind. It takes a change of undici, or another client.
- **Bytes**: Node and undici alone allocate 12.5 kB. 1.8 kB of that are for the two corked writes (head and body, of
  the response and of the upstream's request), 0.9 kB for maps of unhandled rejections, which Node 20 makes for each event.
  Less takes an HTTP/1.1 server and client of Gatehouse's own on sockets, with their own checks of framing.
- **Functions**: a call has twelve objects in flight: pipeline entry, request, body, call, coalesced call, participant,
  cancellation, routed call, route, attempt, exchange and its bytes. Their constructors and
  initialisers are 20 of the functions. Fewer takes one object for a call that is successful at its first upstream.
- **The head of a response** costs 1.1 µs with an array of names and values, which is the fastest form that Node has: 1.3 µs
  as an object, 3.0 µs with \`setHeader\`. A head computed in advance would need Node's internals. Without the two CORS
  headers it costs 0.8 µs; pages need them.`;
