import { table } from '../schemas/markdown-table.ts';

const bytes = table([
  ['', 'bytes'],
  ['Gatehouse', '6.4 kB'],
  ['Node: HTTP, streams, sockets, timers', '9.6 kB'],
  ['undici', '2.9 kB'],
  ['native code', '0.7 kB'],
]);

const kinds = table([
  ['share of busy time', 'single', 'rate in Redis', 'cache hits', 'WebSocket', 'batches of 100', 'blocks of 200 kB'],
  ['Gatehouse', '36 %', '38 %', '25 %', '42 %', '51 %', '37 %'],
  ['Node', '24 %', '22 %', '30 %', '14 %', '13 %', '19 %'],
  ['kernel: writes', '18 %', '17 %', '28 %', '18 %', '9 %', '7 %'],
  ['native code', '13 %', '12 %', '15 %', '11 %', '13 %', '11 %'],
  ['undici, with its parser', '7 %', '7 %', '0 %', '8 %', '9 %', '7 %'],
  ['garbage collection', '2 %', '4 %', '2 %', '2 %', '4 %', '20 %'],
  ['ioredis and ws', '0 %', '1 %', '0 %', '4 %', '0 %', '0 %'],
]);

const retention = table([
  ['× nginx', 'before', 'after'],
  ['single calls, 64 connections', '3.36', '2.64'],
  ['single calls, 256 connections', '3.97', '3.16'],
  ['batches of 10', '1.63', '1.27'],
  ['batches of 100', '1.64', '1.29'],
  ['blocks of 200 kB', '8.67', '3.62'],
  ['WebSocket calls', '2.43', '1.91'],
  ['memory under 64 connections', '190 MB', '132 MB'],
  ['memory under 256 connections, Node 24', '264 MB', '160 MB'],
]);

/** The section of docs/benchmarks.md about a single call. Measured apart from the scenarios. */
export const callProfile = `CPU profiles of 4 s with one key and 64 connections (4 for batches, 8 for blocks); the shares are of busy time. The bytes
are those that V8's heap profiler found for \`eth_getStorageAt\`. AMD EPYC × 2, Node v20.20.2, 2026-11-24.

${kinds}

${bytes}

The counts of a call are in [lifecycle](lifecycle.md): 2 promises, 1 timer, 228 functions and 21 kB for \`eth_getStorageAt\` over HTTP,
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
  headers it costs 0.8 µs; pages need them.

### What made calls cheaper

On 2026-11-24 one cause of most of the earlier figures was found: calls in flight were members of a \`Set\` and a \`Map\`. When the table of
such a collection is full, V8 makes a new one, to which the old one refers; once a table is in the old generation, it retains all later
ones, with the calls that they contained, until the whole heap is collected. With 64 connections, each minor
collection copied 3 MB and took 9 ms instead of 1.3, and the whole heap was collected each second. The collections of \`collections/\` do not
retain anything. In alternating rounds on one machine, before and after, when single calls that arrived together shared upstream requests:

${retention}

Minor collections then use one thread: little survives them, and three more threads cost a twelfth of a call's CPU with 256 connections
(3.11 → 2.85 × nginx).

### Why targets are missed

No function of Gatehouse has more than 6 % of a call's time. What was tried for each goal that is missed, or was until then, and what more it
would take:

- **Batches.** Calls that wait for a slot of the upstream, and the calls of a batch, had promises, closures and timers of their own;
  each has one object now. A fifth of the calls in the batch execute code, and are sent upstream singly. Less takes one object per call from the
  client's envelope to the upstream's batch, without coalescing, hedges and metrics as separate parts.
- **Blocks of 200 kB** cost 1,965 to 1,053 µs in the five rounds, for the same reason, and nginx, at a tenth of its load, 94 to 120. In longer alternating rounds
  they cost 620 to 870 µs, nginx 174 to 247: 3.62 ×. A fifth is the collection of buffers. Names are compared with learned layouts; a response up to 256 kB is not copied into one buffer with the
  caller's envelope. A check of each chunk as it arrives would avoid joining them; searching control characters within the walk
  would save a further 3 %. Reading results from 1 kB on as bytes, not from 8 kB on, made batches dearer (1.12 → 1.25 × nginx).
- **Cache hits** run 119 functions and no promise. A bare Node server that has all responses in memory and writes the same headers costs 1.22 × nginx,
  so that 5 µs remain of the goal for all that Gatehouse does; reading the envelope, with its checks for duplicate members, takes 9. It
  takes a server of Gatehouse's own on sockets.
- **Memory** under 256 connections: \`--heap-growing-percent=50\` (\`config/young-heap.ts\`) saves 4 MB, the limit of the young generation until
  the start 10 MB of an idle process. A young generation of half the size costs more memory, not less: more calls
  in flight survive, and become garbage of the old generation.
- **10,000 keys and 200 networks**, with calls sent singly, cost 1.17 (file), 1.19 (Redis) and 1.48 (networks) × one of each. The rest: each call of a connection has
  another key than the one before, so that the route and the key's digest, which a connection remembers, are found again; the usage
  of 9,000 keys is written each second; 200 networks have as many pools of connections to upstreams.
- **Calls over the upstream's WebSocket** cost less than over HTTP. An upstream with a \`url\` gets its calls over HTTP, where a closed
  connection concerns one request, and not all calls in flight.`;
