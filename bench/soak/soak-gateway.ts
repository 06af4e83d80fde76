import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processTree } from '../../test/support/process-tree.ts';
import { readMeasures, type Measures } from '../measures.ts';
import { startGateway } from '../start-gateway.ts';

const MAX_HEAP_GROWTH_BYTES = 12_000_000;
const MAX_RSS_GROWTH_BYTES = 64_000_000;
/** Size of the cached evidence of `verify`: of all networks, minutes fill a part of what is allowed. */
const EVIDENCE_BYTES = 30_000_000;
const MAX_DELAY_P99_MS = 250;

/** The nodes with known responses have only the methods of those. */
const METHOD_NOT_FOUND = -32601;

const here = dirname(fileURLToPath(import.meta.url));

/** A gateway of the soak. The memory and event loop delay of its processes are measured. */
export class SoakGateway {
  readonly name: string;
  /** Process ids of those that serve: one, or the workers. */
  readonly pids: readonly number[];
  readonly #port: number;
  readonly #paths: ReadonlyMap<string, string>;
  readonly #dataDir: string;
  readonly #samples = new Map<number, Measures[]>();

  private constructor(
    name: string,
    pids: readonly number[],
    port: number,
    paths: ReadonlyMap<string, string>,
    dataDir: string,
  ) {
    this.name = name;
    this.pids = pids;
    this.#port = port;
    this.#paths = paths;
    this.#dataDir = dataDir;
  }

  /**
   * @param networks network files by slug
   * @param args of node, and more environment variables
   */
  static async start(
    name: string,
    folder: string,
    networks: Readonly<Record<string, object>>,
    { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
  ): Promise<SoakGateway> {
    const own = join(folder, name);
    mkdirSync(own);
    const slugs = Object.keys(networks);
    const { pid, port, dataDir, paths } = await startGateway(own, {
      ...{ networks, keys: slugs.length, env },
      script: ['--expose-gc', ...args, join(here, '../measured-gateway.js')],
    });
    const workers = await workersOf(pid, Number(env['WORKERS'] ?? 1));
    const pathsBySlug = new Map(slugs.map((slug, index) => [slug, paths[index] ?? '']));
    return new SoakGateway(name, workers, port, pathsBySlug, dataDir);
  }

  /** Address with the metrics. */
  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  urlOf(slug: string): string {
    return `${this.address}${this.#paths.get(slug) ?? ''}`;
  }

  webSocketUrlOf(slug: string): string {
    return this.urlOf(slug).replace('http', 'ws').replace('/v3/', '/ws/v3/');
  }

  /** Waits until a network returns its head. */
  async untilServing(slug: string): Promise<void> {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}';
    const headers = { 'content-type': 'application/json' };
    for (;;) {
      const response = await fetch(this.urlOf(slug), { method: 'POST', headers, body });
      const { error } = (await response.json()) as { error?: { code: number } };
      if (error === undefined || error.code === METHOD_NOT_FOUND) return;
    }
  }

  /** Measures after each fifth of the time. The first is after the start-up of code and connection pools. */
  async sample(startedAt: number, forMs: number): Promise<void> {
    for (let part = 1; part <= 5; part++) {
      await delay(Math.max(0, startedAt + (forMs * part) / 5 - performance.now()));
      for (const pid of this.pids) {
        const samples = this.#samples.get(pid) ?? [];
        this.#samples.set(pid, [...samples, await readMeasures(this.#dataDir, pid)]);
      }
    }
  }

  /** @param isVerifying results are proven, and the evidence is cached @returns what was not as promised */
  failures(isVerifying: boolean): string[] {
    if (this.#samples.size === 0) return [`${this.name}: not measured`];
    return [...this.#samples].flatMap(([pid, samples]) => {
      const name = this.pids.length === 1 ? this.name : `${this.name}, worker ${pid}`;
      return failuresOf(samples, isVerifying, name);
    });
  }
}

/** Waits until all workers of a primary run. @returns their process ids, or that of the only process */
async function workersOf(pid: number, count: number): Promise<number[]> {
  if (count === 1) return [pid];
  for (let tried = 0; tried < 200; tried++) {
    const workers = processTree(pid).slice(1);
    if (workers.length === count) return workers;
    await delay(100);
  }
  throw new Error(`the gateway has not started ${count} workers`);
}

function failuresOf(samples: readonly Measures[], isVerifying: boolean, name: string): string[] {
  for (const sample of samples) console.log(`${name}: ${measuresText(sample)}`);
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return [`${name}: not measured`];
  const evidenceBytes = isVerifying ? EVIDENCE_BYTES : 0;
  const failures = [
    last.heapBytes - first.heapBytes > MAX_HEAP_GROWTH_BYTES + evidenceBytes && 'the heap grew',
    last.rssBytes - first.rssBytes > MAX_RSS_GROWTH_BYTES + evidenceBytes && 'the process grew',
    samples.some(({ delayP99Ms }) => delayP99Ms > MAX_DELAY_P99_MS) && 'the event loop was blocked',
  ];
  return failures.filter((failure) => failure !== false).map((failure) => `${name}: ${failure}`);
}

function measuresText({ rssBytes, heapBytes, externalBytes, delayP50Ms, delayP99Ms, delayMaxMs }: Measures): string {
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const memory = `memory ${mb(rssBytes)}, heap ${mb(heapBytes)}, external ${mb(externalBytes)}`;
  const delays = [delayP50Ms, delayP99Ms, delayMaxMs].map((ms) => ms.toFixed(0)).join(', ');
  return `${memory}; event loop delay ${delays} ms (p50, p99, max)`;
}
