import { mkdtempSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from '../figures.ts';
import { freePorts, removeFolder, start, stop, untilOpen } from '../processes.ts';
import { startGateway } from '../start-gateway.ts';

/** How the gateway reaches the upstream. */
export type UpstreamTransport = 'http' | 'batch' | 'websocket';

/** What a key notices while another key sends ten times what the upstream can serve. */
export interface FairShares {
  readonly transport: UpstreamTransport;
  /** Latencies without other load. */
  readonly alone: Latencies;
  /** Latencies during the load. */
  readonly loaded: Latencies;
  /** Responses to the neighbour during the load that are not a result. */
  readonly rejected: readonly string[];
  /** Responses to the greedy key. */
  readonly greedy: Readonly<Record<string, number>>;
}

export interface Latencies {
  readonly medianMs: number;
  readonly maxMs: number;
}

export const MAX_MEDIAN_RATIO = 1.5;
export const MAX_WORST_RATIO = 3;

/** Latency so long that the wait for a slot decides, and not the CPU time of a small machine. */
const LATENCY_MS = 300;
const SLOTS = 64;
const ALONE = 10;
const LOAD_SECONDS = 18;
const folderOfScripts = dirname(fileURLToPath(import.meta.url));

/** Starts a gateway and an upstream of 64 slots with 300 ms each, and measures sequential requests of one key. */
export async function measureFairShares(transport: UpstreamTransport): Promise<FairShares> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fairness-'));
  const [port = 0] = await freePorts(1);
  const script = (name: string): string => join(folderOfScripts, name);
  const upstream = start(process.execPath, [script('slow-upstream.js'), ...[port, SLOTS, LATENCY_MS].map(String)]);
  await untilOpen(port);
  const address = `127.0.0.1:${port}`;
  const target = transport === 'websocket' ? { websocketUrl: `ws://${address}` } : { url: `http://${address}` };
  const upstreams = [{ name: 'slow', ...target, ...(transport === 'http' && { batch: false }) }];
  const gateway = await startGateway(folder, { networks: { main: { name: 'Main', chainId: 1, upstreams } }, keys: 2 });
  const [greedyPath = '', path = ''] = gateway.paths;
  const neighbour = new Neighbour(gateway.port, path);
  try {
    await neighbour.callFor(1_000);
    const alone: number[] = [];
    while (alone.length < ALONE) alone.push(await neighbour.call());
    const args = [script('greedy-caller.js'), String(gateway.port), greedyPath, String(LOAD_SECONDS)];
    const greedy = start(process.execPath, args, process.env, ['ignore', 'pipe', 'inherit']);
    let output = '';
    greedy.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await delay(3_000);
    neighbour.rejected.length = 0;
    const loaded = await neighbour.callFor((LOAD_SECONDS - 5) * 1_000);
    while (greedy.exitCode === null) await delay(50);
    const counts = JSON.parse(output) as Record<string, number>;
    return {
      transport,
      alone: latencies(alone),
      loaded: latencies(loaded),
      rejected: neighbour.rejected,
      greedy: counts,
    };
  } finally {
    await Promise.all([stop(gateway.child), stop(upstream)]);
    removeFolder(folder);
  }
}

/** A key whose requests follow one another. */
class Neighbour {
  readonly rejected: string[] = [];
  readonly #agent = new Agent({ keepAlive: true });
  readonly #port: number;
  readonly #path: string;
  #position = 0;

  constructor(port: number, path: string) {
    this.#port = port;
    this.#path = path;
  }

  /** @returns ms until the last byte of the response */
  call(): Promise<number> {
    const params = [`0x${'34'.repeat(20)}`, `0x${(++this.#position).toString(16)}`, 'latest'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path: this.#path, method: 'POST', agent: this.#agent };
      request(options, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          if (response.statusCode !== 200 || !text.includes('"result"'))
            this.rejected.push(`${response.statusCode} ${text}`);
          resolve(performance.now() - startedAt);
        });
      })
        .on('error', reject)
        .end(body);
    });
  }

  async callFor(ms: number): Promise<number[]> {
    const times: number[] = [];
    for (const end = performance.now() + ms; performance.now() < end;) times.push(await this.call());
    return times;
  }
}

function latencies(times: readonly number[]): Latencies {
  return { medianMs: median(times), maxMs: Math.max(...times) };
}

/** The bounds that a measurement exceeds, as text. */
export function exceededBounds({ alone, loaded, rejected }: FairShares): string[] {
  const medianRatio = loaded.medianMs / alone.medianMs;
  const worstRatio = loaded.maxMs / alone.maxMs;
  return [
    ...(medianRatio < MAX_MEDIAN_RATIO ? [] : [`median ${medianRatio.toFixed(2)} x`]),
    ...(worstRatio < MAX_WORST_RATIO ? [] : [`worst ${worstRatio.toFixed(2)} x`]),
    ...(rejected.length === 0 ? [] : [`${rejected.length} rejected: ${rejected[0]}`]),
  ];
}

// Standalone: node dist/bench/fairness/fair-shares.js [http|batch|websocket …]. The exit code is 1 if a bound is exceeded.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const chosen = process.argv.slice(2) as UpstreamTransport[];
  for (const transport of chosen.length > 0 ? chosen : (['http', 'batch', 'websocket'] as const)) {
    const measured = await measureFairShares(transport);
    const exceeded = exceededBounds(measured);
    console.log(JSON.stringify(measured));
    console.log(exceeded.length === 0 ? `${transport}: within the bounds` : `${transport}: ${exceeded.join(', ')}`);
    if (exceeded.length > 0) process.exitCode = 1;
  }
}
