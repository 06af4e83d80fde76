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
import { CHAIN_ID, knownAnswers } from './known-calls.ts';
import type { Measures } from './measured-gateway.ts';
import { OwnLateness } from './own-lateness.ts';
import { option, stopAll } from './processes.ts';
import { Random } from './random.ts';
import { startGateway } from './start-gateway.ts';
import { OutcomeCounts } from './outcome-counts.ts';

/**
 * Minutes of mixed calls, batches and WebSockets while upstreams fail at random. Exits 1 unless every call is answered
 * once, rightly, under its own id; memory stays flat; and the event loop is never late for long.
 *
 *   npm run soak [-- --seed 1 --minutes 3]
 */
const HTTP_CALLERS = 12;
const WEBSOCKET_CALLERS = 4;
const ATTEMPT_MS = 1_000;

const HEAP_GROWTH_MAX_BYTES = 12_000_000;
const RSS_GROWTH_MAX_BYTES = 64_000_000;
const DELAY_P99_MAX_MS = 250;
const FAULTS_SHOWN = 20;

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'));
const closing: (() => Promise<unknown>)[] = [];
try {
  const isGood = await soak(option('seed', Date.now() % 1_000_000), option('minutes', 3) * 60_000);
  process.exitCode = isGood ? 0 : 1;
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
  let told = 0;
  // Where it is late by half the time of an attempt, a good node may not have been good to the gateway.
  const own = new OwnLateness(ATTEMPT_MS / 2);
  closing.push(() => {
    own.stop();
    return Promise.resolve();
  });
  const outcomes = new OutcomeCounts(
    (since) => schedule.wasAllBad(since) || own.wasLate(since),
    (text) => {
      if (told++ < FAULTS_SHOWN) console.error(`${text} (last fault:${schedule.now})`);
    },
  );
  const began = performance.now();
  const until = began + forMs;
  const callers = Array.from({ length: HTTP_CALLERS + WEBSOCKET_CALLERS }, (_, index) => {
    const parts = { url, outcomes, random: new Random(seed * 1_000 + index), deadline: until };
    return index < HTTP_CALLERS ? callOverHttp(parts) : callOverWebSocket(parts);
  });
  const faults = schedule.run(until);
  // After a fifth of it code is compiled and pools are full.
  const samples: Measures[] = [];
  const sampling = (async () => {
    for (let part = 1; part < 5; part++) {
      await delay(began + (forMs * part) / 5 - performance.now());
      samples.push(await measure());
    }
  })();
  await Promise.all([...callers, faults, sampling]);
  const last = await measure();
  const [first = last] = samples;
  const { counts } = outcomes;
  const seconds = (performance.now() - began) / 1_000;
  const callsPerSecond = Math.round(counts.sent / seconds);
  console.log(
    JSON.stringify({ ...counts, slowestMs: Math.round(counts.slowestMs), faults: schedule.faults, callsPerSecond }),
  );
  console.log(`this process, with callers and nodes in it, was late by ${own.worstMs.toFixed(0)} ms at most`);
  for (const sample of [...samples, last]) console.log(shown(sample));
  const complaints = [
    counts.wrong + counts.untried + counts.unacknowledged + counts.refusedInVain > 0 &&
      'not every call was answered rightly, once',
    counts.right + counts.refused !== counts.sent && 'the counts do not add up',
    last.heapBytes - first.heapBytes > HEAP_GROWTH_MAX_BYTES && 'the heap grew',
    last.rssBytes - first.rssBytes > RSS_GROWTH_MAX_BYTES && 'the process grew',
    [...samples, last].some(({ delayP99Ms }) => delayP99Ms > DELAY_P99_MAX_MS) && 'the event loop was late',
  ].filter((complaint) => complaint !== false);
  console.log(complaints.length === 0 ? 'good' : complaints.join('; '));
  return complaints.length === 0;
}

function shown({ rssBytes, heapBytes, externalBytes, delayP50Ms, delayP99Ms, delayMaxMs }: Measures): string {
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const memory = `memory ${mb(rssBytes)}, heap ${mb(heapBytes)}, external ${mb(externalBytes)}`;
  const delays = [delayP50Ms, delayP99Ms, delayMaxMs].map((ms) => ms.toFixed(0)).join(', ');
  return `${memory}; event loop late by ${delays} ms (p50, p99, worst)`;
}

async function breakable(): Promise<Breakable> {
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: knownAnswers });
  const proxy = await startFaultProxy(Number(new URL(node.url).port));
  closing.push(
    () => proxy.close(),
    () => node.close(),
  );
  // What it was asked is of no interest here, and would fill this process.
  const forget = setInterval(() => node.calls.splice(0), 1_000);
  closing.push(() => {
    clearInterval(forget);
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
      timeoutMs: ATTEMPT_MS,
    })),
  };
  const { child, port, paths } = await startGateway(folder, {
    networks: { soak: network },
    env: { UPSTREAM_RESPONSE_MAX_BYTES: '1000000' },
    script: ['--expose-gc', join(here, 'measured-gateway.js')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const measure = async (): Promise<Measures> => {
    const told = once(child, 'message');
    child.send('measure');
    return ((await told) as [Measures])[0];
  };
  return { url: `http://127.0.0.1:${port}${paths[0] ?? ''}`, measure };
}
