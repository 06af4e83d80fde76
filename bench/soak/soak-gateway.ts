import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Measures } from '../measured-gateway.ts';
import { startGateway } from '../start-gateway.ts';

const MAX_HEAP_GROWTH_BYTES = 12_000_000;
const MAX_RSS_GROWTH_BYTES = 64_000_000;
/** With `verify`, evidence is cached: of all networks, minutes fill a part of what is allowed. */
const EVIDENCE_BYTES = 30_000_000;
const MAX_DELAY_P99_MS = 250;

/** The nodes with known responses have only the methods of those. */
const METHOD_NOT_FOUND = -32601;

const here = dirname(fileURLToPath(import.meta.url));

/** A gateway process of the soak, whose memory and event loop delay are measured. */
export class SoakGateway {
  readonly name: string;
  readonly pid: number;
  readonly #port: number;
  readonly #paths: ReadonlyMap<string, string>;
  readonly #measure: () => Promise<Measures>;
  readonly #samples: Measures[] = [];

  private constructor(
    name: string,
    pid: number,
    port: number,
    paths: ReadonlyMap<string, string>,
    measure: () => Promise<Measures>,
  ) {
    this.name = name;
    this.pid = pid;
    this.#port = port;
    this.#paths = paths;
    this.#measure = measure;
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
    const { child, pid, port, paths } = await startGateway(own, {
      ...{ networks, keys: slugs.length, env: { UPSTREAM_RESPONSE_MAX_BYTES: '1000000', ...env } },
      script: ['--expose-gc', ...args, join(here, '../measured-gateway.js')],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const measure = async (): Promise<Measures> => {
      const message = once(child, 'message');
      child.send('measure');
      return ((await message) as [Measures])[0];
    };
    return new SoakGateway(name, pid, port, new Map(slugs.map((slug, index) => [slug, paths[index] ?? ''])), measure);
  }

  /** With its metrics. */
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
      this.#samples.push(await this.#measure());
    }
  }

  /** @param isVerifying results are proven, and the evidence is cached @returns what was not as promised */
  failures(isVerifying: boolean): string[] {
    for (const sample of this.#samples) console.log(`${this.name}: ${measuresText(sample)}`);
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined) return [`${this.name}: not measured`];
    const evidenceBytes = isVerifying ? EVIDENCE_BYTES : 0;
    const failures = [
      last.heapBytes - first.heapBytes > MAX_HEAP_GROWTH_BYTES + evidenceBytes && 'the heap grew',
      last.rssBytes - first.rssBytes > MAX_RSS_GROWTH_BYTES + evidenceBytes && 'the process grew',
      this.#samples.some(({ delayP99Ms }) => delayP99Ms > MAX_DELAY_P99_MS) && 'the event loop was blocked',
    ];
    return failures.filter((failure) => failure !== false).map((failure) => `${this.name}: ${failure}`);
  }
}

function measuresText({ rssBytes, heapBytes, externalBytes, delayP50Ms, delayP99Ms, delayMaxMs }: Measures): string {
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  const memory = `memory ${mb(rssBytes)}, heap ${mb(heapBytes)}, external ${mb(externalBytes)}`;
  const delays = [delayP50Ms, delayP99Ms, delayMaxMs].map((ms) => ms.toFixed(0)).join(', ');
  return `${memory}; event loop delay ${delays} ms (p50, p99, max)`;
}
