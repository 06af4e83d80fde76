import { clock } from '../clock/clock.ts';
import { permitsMethod } from '../network-files/methods.ts';
import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import { normalise } from '../normalise/normalise.ts';
import { passThrough } from '../spec/method-spec.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import type { ConnectOptions } from '../upstreams/transport/connect/connector.ts';
import { Secrets } from '../upstreams/transport/credentials.ts';
import { readResponse } from '../upstreams/transport/read-response.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import { parseResponse, TimedOut, UpstreamFailure } from '../upstreams/transport/upstream-response.ts';
import { probeCertificate, probeName } from './probe-connection.ts';

/** Findings about one upstream. A missing member was not determined. */
export interface UpstreamFindings {
  readonly name: string;
  addresses?: number;
  /** Days until its certificate expires. */
  tlsDays?: number;
  chainId?: number;
  head?: { readonly number: number; readonly ageS: number };
  /** The median of a few calls over an open connection. */
  latencyMs?: number;
  history?: History;
  webSocketMs?: number;
  /** Problems that make calls fail. */
  readonly problems: string[];
  /** Warnings. */
  readonly notes: string[];
}

/** Depth of the available state: all blocks, or at least this number of blocks below the head. */
export type History = 'all' | 10_000 | 1_000 | 100 | 0;

export interface ProbeOptions {
  /** Timeout for all tests of the upstream. */
  readonly timeoutMs: number;
  /** Returns undefined for a node that the gateway starts itself. */
  readonly open: (upstream: UpstreamConfig) => Transport | undefined;
}

const MIN_TLS_DAYS = 14;
const MAX_HEAD_AGE_S = 600;
const LATENCY_CALLS = 3;
const zeroAddress = `0x${'0'.repeat(40)}`;
const INVALID = 'invalid result';
/** Error messages of a node are cut to this length. */
const MAX_ERROR_CHARS = 160;

/** Tests one upstream, one call at a time. Never rejects, and ends within the timeout. */
export async function probeUpstream(
  { chainId }: Pick<NetworkConfig, 'chainId'>,
  upstream: UpstreamConfig,
  { timeoutMs, open }: ProbeOptions,
): Promise<UpstreamFindings> {
  const found: UpstreamFindings = { name: upstream.name, problems: [], notes: [] };
  const { url, websocketUrl, ...others } = upstream;
  const deadline = clock.now() + timeoutMs;
  const hasBoth = url !== undefined && websocketUrl !== undefined;
  const configs: UpstreamConfig[] = hasBoth ? [upstream, { ...others, websocketUrl }] : [upstream];
  const transports = configs.flatMap((config) => open(config) ?? []);
  const [client, socket] = transports.map((transport) => new ProbeClient(transport, deadline, upstream.methods));
  const address = url ?? websocketUrl;
  if (address === undefined || client === undefined) {
    found.notes.push('not tested: the gateway starts this node itself');
    return found;
  }
  const work = Promise.all([
    probeCalls(client, new URL(address), chainId, found, { ...upstream, timeoutMs }),
    socket && probeWebSocket(socket, chainId, found),
  ]);
  try {
    await withTimeout(work, timeoutMs, () => new TimedOut());
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    if (found.problems.length === 0) found.problems.push(`some tests did not finish within ${timeoutMs / 1000} s`);
  } finally {
    await Promise.all(transports.map((transport) => transport.close()));
    await work.catch(() => undefined);
  }
  return found;
}

async function probeCalls(
  client: ProbeClient,
  address: URL,
  chainId: number,
  found: UpstreamFindings,
  options: ConnectOptions & { readonly timeoutMs: number },
): Promise<void> {
  try {
    // A proxy resolves the name itself.
    if (options.proxyUrl === undefined) found.addresses = await probeName(address);
    if (/^(https|wss):$/.test(address.protocol)) found.tlsDays = await probeCertificate(address, options);
  } catch (error) {
    found.problems.push((error as Error).message);
    return;
  }
  if ((found.tlsDays ?? MIN_TLS_DAYS) < MIN_TLS_DAYS)
    found.notes.push(`its certificate expires in ${found.tlsDays} days`);
  if (!(await probeChain(client, chainId, found))) return;
  if (client.permits('eth_getBlockByNumber')) await probeHead(client, found);
  else found.notes.push('only its chain id is tested: its methods exclude eth_getBlockByNumber');
  if (client.permits('eth_blockNumber')) found.latencyMs = await probeLatency(client);
  if (found.head !== undefined && client.permits('eth_getBalance'))
    found.history = await probeHistory(client, found.head.number);
}

async function probeWebSocket(client: ProbeClient, chainId: number, found: UpstreamFindings): Promise<void> {
  const start = clock.now();
  // The time includes the handshake, which later calls do not need.
  if (await probeChain(client, chainId, found, 'WebSocket: ')) found.webSocketMs = clock.now() - start;
}

/** @returns whether the chain id is that of the network */
async function probeChain(
  client: ProbeClient,
  chainId: number,
  found: UpstreamFindings,
  prefix = '',
): Promise<boolean> {
  const { result, problem = INVALID } = await client.request('eth_chainId', []);
  const actual = numberOf(result);
  if (actual === undefined) found.problems.push(`${prefix}eth_chainId: ${problem}`);
  else {
    found.chainId = actual;
    if (actual !== chainId) found.problems.push(`${prefix}its chain id is ${actual}, not ${chainId}`);
  }
  return actual === chainId;
}

async function probeHead(client: ProbeClient, found: UpstreamFindings): Promise<void> {
  const { result, problem = INVALID } = await client.request('eth_getBlockByNumber', ['latest', false]);
  const block = result as Readonly<Record<string, unknown>> | null | undefined;
  const number = numberOf(block?.['number']);
  const timestamp = numberOf(block?.['timestamp']);
  if (number === undefined || timestamp === undefined) {
    found.problems.push(`eth_getBlockByNumber of latest: ${problem}`);
    return;
  }
  const ageS = Math.max(0, Math.round(clock.unixMs() / 1000 - timestamp));
  found.head = { number, ageS };
  if (ageS > MAX_HEAD_AGE_S) found.notes.push(`its newest block is ${Math.round(ageS / 60)} min old`);
}

async function probeLatency(client: ProbeClient): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < LATENCY_CALLS; call++) {
    const start = clock.now();
    await client.request('eth_blockNumber', []);
    times.push(clock.now() - start);
  }
  return times.toSorted((a, b) => a - b)[LATENCY_CALLS >> 1] ?? 0;
}

/** Tests block 1 and the middle, not block 0: nodes without history may have the state of the genesis block. */
async function probeHistory(client: ProbeClient, head: number): Promise<History> {
  const hasState = async (block: number): Promise<boolean> => {
    const { problem } = await client.request('eth_getBalance', [zeroAddress, `0x${block.toString(16)}`]);
    return problem === undefined;
  };
  if ((await hasState(Math.min(1, head))) && (await hasState(head >> 1))) return 'all';
  for (const depth of [10_000, 1_000, 100] as const) if (head > depth && (await hasState(head - depth))) return depth;
  return 0;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : undefined;
}

/** Sends requests to one upstream and normalises the responses like calls. It does not retry. */
class ProbeClient {
  readonly #transport: Transport;
  readonly #secrets: Secrets;
  readonly #deadline: number;
  readonly #methods: UpstreamConfig['methods'];
  #id = 0;

  /** @param deadline by clock.now() */
  constructor(transport: Transport, deadline: number, methods: UpstreamConfig['methods']) {
    this.#transport = transport;
    this.#secrets = new Secrets(transport.secrets);
    this.#deadline = deadline;
    this.#methods = methods;
  }

  /** Whether the network file permits the method at the upstream. Its chain id is always tested. */
  permits(method: string): boolean {
    return permitsMethod(this.#methods, method);
  }

  /** @returns the result; or the problem, with the failure class */
  async request(
    method: string,
    params: readonly unknown[],
  ): Promise<{ readonly result?: unknown; readonly problem?: string }> {
    const id = ++this.#id;
    const spec = specs.find(({ name }) => name === method) ?? passThrough(method);
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const received = await this.#transport.send({ id, body, deadline: Math.max(this.#deadline, clock.now() + 1) });
      const outcome = normalise(spec, params, readResponse(received, id, this.#secrets));
      const response = outcome.response === undefined ? undefined : parseResponse(outcome.response);
      if (outcome.final && response?.kind === 'result') return { result: response.result };
      const message =
        response?.kind === 'error' ? this.#printable(`${response.code} ${response.message}`) : 'an invalid result';
      return { problem: `${message} (${outcome.final ? 'error' : outcome.failure})` };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { problem: `${error.message} (${error.failure})` };
    }
  }

  /** Removes URLs, control characters and secrets: the text is untrusted and is printed on a terminal. */
  #printable(message: string): string {
    const line = message.replace(/https?:\/\/\S+/g, '<url>').replace(/[^\P{C}]+/gu, ' ');
    return this.#secrets.removeFrom(line).slice(0, MAX_ERROR_CHARS);
  }
}
