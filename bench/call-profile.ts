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

const kinds = table([
  ['share of busy time', 'single', 'rate in Redis', 'cache hits', 'WebSocket', 'batches of 100', 'blocks of 200 kB'],
  ['Gatehouse', '31 %', '37 %', '26 %', '36 %', '43 %', '49 %'],
  ['Node', '19 %', '21 %', '28 %', '12 %', '12 %', '19 %'],
  ['garbage collection', '18 %', '10 %', '2 %', '14 %', '19 %', '11 %'],
  ['kernel: writes', '14 %', '12 %', '28 %', '17 %', '6 %', '7 %'],
  ['native code', '13 %', '12 %', '15 %', '10 %', '11 %', '8 %'],
  ['undici, with its parser', '5 %', '6 %', '0 %', '7 %', '9 %', '5 %'],
  ['ioredis and ws', '0 %', '1 %', '0 %', '4 %', '0 %', '0 %'],
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
  headers it costs 0.8 µs; pages need them.

### Why targets are missed

A profile of 6 s for each kind of call, with one key and 64 connections, 4 for batches and 8 for blocks (the same machine, Node 20,
2026-11-23, 20:52 UTC; only shares count, because calls cost twice as much as on a quiet day, in nginx too):

${kinds}

Except in blocks, no function of Gatehouse has more than 4 %: the cost is that of some 200 small functions and 12 objects per call.
What was tried for each missed target, and what it would take:

- **Batches.** Calls that wait for a slot of the upstream, and the calls of a batch, had promises, closures and timers of their own;
  each has one object now: 2.21 → 1.90 × nginx for batches of 100 (medians of 7 alternating rounds). A fifth of these calls execute code, and
  are sent upstream singly. To 1.1 × nginx, a quarter of what a single call costs, it takes one object per call from the client's envelope to the upstream's batch, without coalescing, hedges and metrics as
  separate parts.
- **Blocks of 200 kB.** Names are compared with learned layouts; a response up to 256 kB is no longer copied into one buffer with the
  caller's envelope: 11.1 → 9.65 × nginx. A fifth is the check of each value, which the contract requires; a tenth is collecting memory
  of 200 kB that each response needs in Node, then joined. A check of each chunk as it arrives would avoid joining
  them (4 %); searching control characters within the walk would save a further 3 %. 6 × nginx takes a check in native code.
- **WebSocket calls.** A system call per response and socket is the largest part: responses to one socket are joined, but 64 sockets
  need 64 writes. Parsing frames costs 4 %. It takes another WebSocket server, in native code.
- **Calls over the upstream's WebSocket** cost 5.8 × nginx, singly over HTTP 6.3, in batches over HTTP 4.4 (medians of 5 rounds). The
  run on this page has the opposite order for the first and the last. Until a quiet machine decides, an upstream
  with a \`url\` gets its calls over HTTP.
- **Cache hits** run 119 functions and no promise, and hardly collect memory. Writes and Node's HTTP server are more than half of
  their time; it takes a server of Gatehouse's own on sockets.
- **A rate in Redis** costs no script per call: a key with more than 160 request units per second leases units, and uses Redis 20 times a
  second. What a call costs more than one without a rate are its charge, its price and three response headers. When
  the lease decides, the promises of that step are gone since this measurement.
- **p99** at half load: minor collections take 5 to 8 ms each on this machine, three per second, and a collection of the whole heap 10 ms,
  after concurrent marking, which runs on the same core as the calls when the process has one core, as in the bench. A turn of requests
  itself is shorter ([stalls](#stalls-of-the-event-loop)). Without \`--heap-growing-percent=50\` (\`config/young-heap.ts\`), the whole heap was not
  collected in 5.5 s instead of once to four times, and p99 was 24 and 14 ms instead of 81 and 46; memory under 256 connections was 149 MB
  instead of 133. A semi-space of 4 MB halved the pauses, but doubled their number. A bare proxy has little to
  collect; it takes fewer allocations per call.
- **Memory** under 256 connections: \`--heap-growing-percent=50\` saved 16 MB, the limit of the young generation until the start 10 MB of
  an idle process.`;
