import { table } from '../schemas/markdown-table.ts';

const bytes = table([
  ['', 'bytes'],
  ['Gatehouse', '6.4 kB'],
  ['Node: HTTP, streams, sockets, timers', '9.6 kB'],
  ['undici', '2.9 kB'],
  ['native code', '0.7 kB'],
]);

const kinds = table([
  [
    'share of busy time',
    'eth_call',
    'over WebSocket',
    'batches of 10',
    'of 100',
    '300 per s',
    'block',
    'logs',
    'trace',
  ],
  ['Gatehouse', '28 %', '32 %', '43 %', '41 %', '31 %', '51 %', '59 %', '62 %'],
  ['Node', '22 %', '15 %', '14 %', '12 %', '23 %', '14 %', '11 %', '7 %'],
  ['native code', '16 %', '16 %', '18 %', '17 %', '19 %', '17 %', '12 %', '14 %'],
  ['kernel: writes', '12 %', '12 %', '5 %', '3 %', '10 %', '6 %', '6 %', '8 %'],
  ['undici, with its parser', '12 %', '14 %', '6 %', '8 %', '11 %', '5 %', '3 %', '3 %'],
  ['garbage collection', '5 %', '5 %', '8 %', '11 %', '5 %', '7 %', '8 %', '7 %'],
  ['lru-cache', '4 %', '4 %', '6 %', '7 %', '1 %', '1 %', '0 %', '0 %'],
]);

const folders = table([
  ['of it, in the folder', 'eth_call', 'batches of 100', 'block', 'logs', 'trace'],
  ['call', '7 %', '13 %', '4 %', '1 %', '1 %'],
  ['jsonrpc: the envelope', '7 %', '7 %', '1 %', '1 %', '0 %'],
  ['upstreams', '3 %', '9 %', '2 %', '2 %', '2 %'],
  ['server', '4 %', '1 %', '3 %', '2 %', '2 %'],
  ['normalise: checks of the result', '0 %', '0 %', '19 %', '43 %', '0 %'],
  ['json: the end of the result, and its tokens', '1 %', '3 %', '15 %', '7 %', '55 %'],
  ['chain', '0 %', '0 %', '4 %', '1 %', '0 %'],
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

/** The section of docs/measured/benchmarks.md about a single call. Measured apart from the scenarios. */
export const callProfile = `CPU profiles of the scenarios with these names, from \`npm run bench -- --scenario eth-call,eth-call-ws,eth-call10,eth-call100,wallets,block,logs,trace
--rounds 1 --seconds 4\`, with \`--cpu-prof\` for the gateway's Node. Shares are of the second half of the busy time, in which it is warm; at 300 per second, of the
calls after the warm-up. Intel Xeon × 2, Node v20.20.2, 2026-11-28. Those of blocks, logs, traces and batches of 100 had other programs beside them.

${kinds}

${folders}

The bytes are those that V8's heap profiler found for \`eth_getStorageAt\` (AMD EPYC × 2, Node v20.20.2, 2026-11-24).

${bytes}

What a call of \`eth_getStorageAt\` over HTTP creates beyond the gateway's own objects:

- **The timer** is undici's: it sets one when a connection becomes idle, so that none is used after 15 s. No option avoids it:
  \`keepAliveTimeout\` must be above 0, and the next request clears the timer, because that for headers, even if it is off,
  is of another kind. It takes a change of undici, or another client.
- **Bytes**: Node and undici alone allocate 12.5 kB. 1.8 kB of that are for the two corked writes (head and body, of
  the response and of the upstream's request), 0.9 kB for maps of unhandled rejections, which Node 20 makes for each event.
  Less takes an HTTP/1.1 server and client of Gatehouse's own on sockets, with their own checks of framing.
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

What was tried for each goal that is missed, or was until then, and what more it would take:

- **eth_call.** Its targets are met with 64 connections since 2026-11-30, over WebSocket too. With 256 connections all programs cost more in this
  bench, Gatehouse 1.6 ×, nginx and eRPC 1.2 ×, proxyd 1.45 ×. The cause was not found: with the HTTP client of Node as load, 64 and 256 connections
  cost the same (104 and 107 µs). Gatehouse's own code is 28 to 32 % of a call. A quarter of it reads the client's envelope, with its checks for
  duplicate members. Less takes an HTTP/1.1 server and client of Gatehouse's own on sockets.
- **Single calls and batches of the mix**, which the upstreams with a latency get too. More than half of its results are about final blocks. Each is
  written to the [durable cache](../routing.md#what-is-cached), because no call repeats. Until 2026-11-30, gzip of each of them above 1 kB took
  100 to 160 µs: a receipt cost 330 µs, and 125 without the durable cache. Since then results up to 10 kB are not compressed, and a receipt costs
  190 µs (with other programs beside them); single calls of the mix cost 6.8 in place of 8.2 × nginx in runs of one day. Of the rest, SQLite takes
  8 µs for a lookup and 31 for an entry. \`CACHE_DISK_MAX_BYTES=0\` turns it off.
- **Batches of eth_call.** They go upstream in batches of 10, so that HTTP costs little. What remains is done for each call, as if it were alone: an
  object, a slot of the key and one of the upstream, coalescing, hedging, a look into the cache, metrics. proxyd has one semaphore for a batch that
  goes upstream, and neither coalescing nor hedges. Calls that wait for a slot, and the calls of a batch, had promises, closures and timers of their own;
  each has one object now. Less takes one selection, one slot and one entry of metrics for all calls of a batch that go to one upstream.
- **eth_getLogs of 2 MB.** nodecore's cost, twice that of nginx, leaves no time to read them. Gatehouse checks each name, quantity and address on the way. On 2026-11-28 two causes of a
  sixth of the time went: the error, with its stack, that ended the walk at the end of each chunk, and the general path for the strings in an
  array. The search of closing quotes reads four bytes at a time. Less takes an index of
  quotes and brackets that WebAssembly makes, 16 bytes at a time, as simdjson does.
- **Blocks of 200 kB.** The hashes of their transactions, which are remembered, were searched in the bytes: an eighth of the time, until
  they came from the walk that checks them (2026-11-28, alternating with the commit before: 13.8 → 12.1 × nginx). Names are compared with learned
  layouts; a response up to 256 kB is not copied into one buffer with the caller's envelope. Reading results from 1 kB on as bytes,
  not from 8 kB on, made batches dearer (1.12 → 1.25 × nginx). The rest takes the same index as logs.
- **Traces of 5 MB** pass unread. Half of the time is the search for their end, which counts brackets outside of strings.
- **The longest turn while they pass**, in CPU time, was 14.2 ms in the median round until 2026-11-29: of a response without a \`Content-Length\`, up to
  1 MB is held back because of the bound on response bytes, and all of it was read at once before it was passed on. It is read in time slices
  now. Not holding the bytes together as one buffer, or passing on at most 256 kB of a response in a turn, did not bring it below 4 ms.
- **newHeads to 10,000 sockets** cost 21 µs for each notification. The result is made once, and only the id of the subscription is not shared. In a profile, Gatehouse's own code
  is a quarter of the busy time; the rest is the write of each socket, in Node and in the kernel, and the collection of its garbage. The last
  notification waits for all of them. A lower cost needs several workers, or a runtime that writes to many sockets with one system call.
- **CPU of an idle gateway.** Until 2026-11-30 it woke some 120 times per second: 100 times for prom-client's delay of the event loop, 10 for the
  memory guard, 4 for the size of the heap. Now the delay is measured while there is work, the heap is looked at after collections, and
  the guard looks once per second while memory is low. Left are the file of keys and the delay (twice per second each), usage, drains and
  conditions. With the nanoseconds of /proc/<pid>/schedstat, in alternating rounds on a machine with other load: 8.5 to 13.8 ms per s before, 1.6
  to 1.8 after. The heap is collected twice in the first half minute after a start.
- **300 calls per second.** A call costs four to five times as much as under full load, also through nginx (95 in place of 19 µs): each event
  wakes the process and has a turn of the event loop of its own, and the caches of the CPU are cold. A call takes 5.4 system calls (two writes, two reads,
  1.4 waits; 2026-11-30), as at full load, and no function has more than 4 % of the time: the rest takes less code on the way of a call. Reading the
  CPU time of the process, for fair turns, was 7 % of it; since 2026-11-28 that is read at most each 20 ms.
- **Start.** The gateway, its packages and workers are one bundle; console, doctor, issuer keys and proofs are loaded at first use. Most of the CPU time
  compiles and runs 2.3 MB of code, on the one core that the process has here. Node 20 cannot store compiled code; on Node 24 that made no
  difference (NODE_COMPILE_CACHE; 590 to 740 ms of CPU with it, 620 to 750 without, in alternating starts beside other programs, 2026-11-30).
- **30 ms and 256 connections.** Without a limit by the core, the median is that of the upstream. The calls are those of the mix, see above. One core
  serves 3,136 of them per second here, and peers 2,647 to 2,761: more takes [workers](../scaling.md#workers). Before the mend of the
  durable cache, two peers were ahead (3,734 beside 4,129 and 4,417).
- **An upstream that works on a batch call by call** got the few calls of a batch that execute code together still, after its lookups were sent
  singly: too few to compare. Since 2026-11-28 they go singly too. In three runs after it, the median was 0.97, 1.42 (with other programs beside it) and
  1.00 × with \`batch: false\`. The 99th percentile has rounds from 0.4 to 4.6 ×, because few requests of a short round are beyond it.
- **Cache hits** run 119 functions and no promise. A bare Node server that has all responses in memory and writes the same headers costs 1.22 × nginx,
  so that 5 µs remain of the goal for all that Gatehouse does; reading the envelope, with its checks for duplicate members, takes 9. It
  takes a server of Gatehouse's own on sockets.
- **Memory** under 256 connections: \`--heap-growing-percent=50\` (\`config/young-heap.ts\`) saves 4 MB, the limit of the young generation until
  the start 10 MB of an idle process. A young generation of half the size costs more memory, not less: more calls
  in flight survive, and become garbage of the old generation.
  Over an hour of 50 different calls per second, with some blocks, logs and traces, it rose from 133 MB to between 194 and 244 MB (2026-11-29): the
  cache was full, with 64 MiB, after 51 minutes.
- **10,000 keys and 200 networks**, with calls sent singly, cost 1.17 (file), 1.19 (Redis) and 1.48 (networks) × one of each. The rest: each call of a connection has
  another key than the one before, so that the route and the key's digest, which a connection remembers, are found again; the usage
  of 9,000 keys is written each second; 200 networks have as many pools of connections to upstreams.
- **Calls over the upstream's WebSocket** cost less than over HTTP. An upstream with a \`url\` gets its calls over HTTP, where a closed
  connection concerns one request, and not all calls in flight.`;
