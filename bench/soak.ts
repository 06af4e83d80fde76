import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startFaultProxy } from '../test/faults/fault-proxy.ts';
import { startFakeNode } from '../test/support/fake-node.ts';
import { callOverHttp, callOverWebSocket } from './callers.ts';
import { FaultSchedule, type Breakable } from './fault-schedule.ts';
import { CHAIN_ID, knownResponses } from './known-calls.ts';
import type { Measures } from './measured-gateway.ts';
import { ProcessDelay } from './process-delay.ts';
import { option, stopAll } from './processes.ts';
import { Random } from './random.ts';
import { startGateway } from './start-gateway.ts';
import { OutcomeCounts } from './outcome-counts.ts';

/**
 * Sends mixed calls and batches over HTTP and WebSockets for minutes while upstreams fail at random. Exits with 1 unless
 * every call gets exactly one correct response, memory does not grow, and event loop delays stay short.
 *
 *   npm run soak [-- --seed 1 --minutes 3]
 */
const HTTP_CALLERS = 12;
const WEBSOCKET_CALLERS = 4;
const ATTEMPT_TIMEOUT_MS = 1_000;

const MAX_HEAP_GROWTH_BYTES = 12_000_000;
const MAX_RSS_GROWTH_BYTES = 64_000_000;
const MAX_DELAY_P99_MS = 250;
const MAX_FAULTS_SHOWN = 20;

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'));
const closing: (() => Promise<unknown>)[] = [];
try {
  const hasPassed = await soak(option('seed', Date.now() % 1_000_000), option('minutes', 3) * 60_000);
  process.exitCode = hasPassed ? 0 : 1;
} finally {
  stopAll();
  for (const close of closing) await close();
  rmSync(folder, { recursive: true, force: true });
}

async function soak(seed: number, forMs: number): Promise<boolean> {
  console.log(`seed ${seed}, ${forMs / 60_000} min, ${cpus()[0]?.model ?? '?'} × ${cpus().length}, ${process.version}`);
  const upstreams = [await breakable(), await breakable()] as const;
  const { url, measure } = await startMeasuredGateway(upstreams);
  const schedule = new FaultSchedule(new Random(seed), upstreams);
  let faultsShown = 0;
  // If this process is delayed by half of the attempt timeout, a working node may miss that timeout.
  const processDelay = new ProcessDelay(ATTEMPT_TIMEOUT_MS / 2);
  closing.push(() => {
    processDelay.stop();
    return Promise.resolve();
  });
  const outcomes = new OutcomeCounts(
    (since) => schedule.hadNoUpstream(since) || processDelay.wasDelayed(since),
    (text) => {
      if (faultsShown++ < MAX_FAULTS_SHOWN) console.error(`${text} (last fault:${schedule.lastFault})`);
    },
  );
  const startedAt = performance.now();
  const deadline = startedAt + forMs;
  const callers = Array.from({ length: HTTP_CALLERS + WEBSOCKET_CALLERS }, (_, index) => {
    const parts = { url, outcomes, random: new Random(seed * 1_000 + index), deadline };
    return index < HTTP_CALLERS ? callOverHttp(parts) : callOverWebSocket(parts);
  });
  const faults = schedule.run(deadline);
  // The first sample is after a fifth of the time, when code is compiled and connection pools are full.
  const samples: Measures[] = [];
  const sampling = (async () => {
    for (let part = 1; part < 5; part++) {
      await delay(startedAt + (forMs * part) / 5 - performance.now());
      samples.push(await measure());
    }
  })();
  await Promise.all([...callers, faults, sampling]);
  const last = await measure();
  const [first = last] = samples;
  const { counts } = outcomes;
  const seconds = (performance.now() - startedAt) / 1_000;
  const callsPerSecond = Math.round(counts.sent / seconds);
  console.log(
    JSON.stringify({ ...counts, slowestMs: Math.round(counts.slowestMs), faults: schedule.faults, callsPerSecond }),
  );
  console.log(`this process, with the clients and nodes, was delayed by up to ${processDelay.maxMs.toFixed(0)} ms`);
  for (const sample of [...samples, last]) console.log(measuresText(sample));
  const failures = [
    counts.wrong + counts.unexpected + counts.pending + counts.failedUnexpectedly > 0 &&
      'not every call got exactly one correct response',
    counts.correct + counts.failed !== counts.sent && 'the counts do not add up',
    last.heapBytes - first.heapBytes > MAX_HEAP_GROWTH_BYTES && 'the heap grew',
    last.rssBytes - first.rssBytes > MAX_RSS_GROWTH_BYTES && 'the process grew',
    [...samples, last].some(({ delayP99Ms }) => delayP99Ms > MAX_DELAY_P99_MS) && 'the event loop was blocked',
  ].filter((failure) => failure !== false);
  console.log(failures.length === 0 ? 'passed' : failures.join('; '));
  return failures.length === 0;
}

function measuresText({ rssBytes, heapBytes, externalBytes, delayP50Ms, delayP99Ms, delayMaxMs }: Measures): string {
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const memory = `memory ${mb(rssBytes)}, heap ${mb(heapBytes)}, external ${mb(externalBytes)}`;
  const delays = [delayP50Ms, delayP99Ms, delayMaxMs].map((ms) => ms.toFixed(0)).join(', ');
  return `${memory}; event loop delay ${delays} ms (p50, p99, max)`;
}

async function breakable(): Promise<Breakable> {
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: knownResponses });
  const proxy = await startFaultProxy(Number(new URL(node.url).port));
  closing.push(
    () => proxy.close(),
    () => node.close(),
  );
  // The recorded calls are not needed and would fill the memory of this process.
  const clearing = setInterval(() => node.calls.splice(0), 1_000);
  closing.push(() => {
    clearInterval(clearing);
    return Promise.resolve();
  });
  return { node, proxy };
}

async function startMeasuredGateway(
  upstreams: readonly Breakable[],
): Promise<{ url: string; measure: () => Promise<Measures> }> {
  const network = {
    name: 'Soak',
    chainId: CHAIN_ID,
    upstreams: upstreams.map(({ proxy }, index) => ({
      name: `node-${index}`,
      url: `http://127.0.0.1:${proxy.port}`,
      timeoutMs: ATTEMPT_TIMEOUT_MS,
    })),
  };
  const { child, port, paths } = await startGateway(folder, {
    networks: { soak: network },
    env: { UPSTREAM_RESPONSE_MAX_BYTES: '1000000' },
    script: ['--expose-gc', join(here, 'measured-gateway.js')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const measure = async (): Promise<Measures> => {
    const message = once(child, 'message');
    child.send('measure');
    return ((await message) as [Measures])[0];
  };
  return { url: `http://127.0.0.1:${port}${paths[0] ?? ''}`, measure };
}
