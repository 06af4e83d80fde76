import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { table } from '../../schemas/markdown-table.ts';
import { CheckedCalls } from '../checked-calls.ts';
import { LoadGenerator } from '../load.ts';
import { pinThisProcess } from '../pinning.ts';
import { option, removeFolder, stop } from '../processes.ts';
import { Random } from '../random.ts';
import { Rig } from '../rig.ts';
import { startGateway } from '../start-gateway.ts';
import { walletMix } from '../wallet-calls.ts';
import type { StallCause } from './stall-causes.ts';

/**
 * Lists what keeps the gateway's event loop from other work for more than 1 ms, by cause, at half of its maximum load, with
 * 1,000 keys whose usage is written to files, polls of heads, and scrapes of /metrics every 15 s.
 *
 *   npm run bench -- stalls [--seconds 60]
 */
const KEYS = 1_000;
const CONNECTIONS = 64;
const WARMUP_S = 10;
const LOAD_SHARE = 0.5;
const SCRAPE_MS = 15_000;

const seconds = option('seconds', 60);
pinThisProcess();
const rig = new Rig();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-stalls-'));
try {
  const gateway = await startGateway(folder, {
    networks: {
      bench: {
        name: 'Bench',
        chainId: 1,
        methods: ['eth', 'zks'],
        upstreams: [{ name: 'fixed', url: await upstreamUrl() }],
      },
    },
    keys: KEYS,
    env: { CACHE_MAX_BYTES: '0' },
    script: [
      '--import',
      join(packageRoot, 'dist/bench/stalls/stall-recorder.js'),
      join(packageRoot, 'dist/gateway/main.js'),
    ],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { child, port, paths } = gateway;
  const warmup = await LoadGenerator.open({ port, paths }, CONNECTIONS, new CheckedCalls(walletMix));
  const durationS = await warmup.saturate(WARMUP_S);
  const perSecond = (LOAD_SHARE * warmup.outcomes.correct) / durationS;
  warmup.close();
  const load = await LoadGenerator.open({ port, paths }, CONNECTIONS, new CheckedCalls(walletMix));
  const scrapes = setInterval(() => void scrape(port), SCRAPE_MS);
  child.send('begin');
  await load.sendAtRate(perSecond, seconds, new Random(1));
  child.send('stop');
  const [causes] = (await once(child, 'message')) as [StallCause[]];
  clearInterval(scrapes);
  load.close();
  await stop(child);
  const { correct, rejected, failed } = load.outcomes;
  console.log(
    `${Math.round(perSecond).toLocaleString('en')} calls per second for ${seconds} s, of 1,000 keys: ` +
      `${correct.toLocaleString('en')} correct, ${rejected} rejected, ${failed} failed\n`,
  );
  const rows = causes.map(({ cause, count, longestMs, totalMs }) => [
    ...[cause, String(count), longestMs.toFixed(1), totalMs.toFixed(0)],
  ]);
  console.log(table([['turns of more than 1 ms of CPU', 'number', 'longest, ms', 'together, ms'], ...rows]));
} finally {
  rig.close();
  removeFolder(folder);
}

async function upstreamUrl(): Promise<string> {
  return `http://127.0.0.1:${await rig.upstreamPort}`;
}

async function scrape(port: number): Promise<void> {
  await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}
