import type { NetworkConfig, UpstreamConfig } from '../network-files/network-config.ts';
import { TimedOut } from '../upstreams/transport/upstream-response.ts';
import type { Transport } from '../upstreams/transport/transport.ts';
import { withTimeout } from '../upstreams/with-timeout.ts';
import { ProbeClient, type ProbeResult } from './probe-client.ts';
import { probeCertificate, probeName } from './probe-connection.ts';
import { probeMethods, type MethodFindings } from './probe-methods.ts';

/** What was found out about one upstream; what is absent was not. */
export interface UpstreamFindings {
  readonly name: string;
  addresses?: number;
  /** Days that its certificate is still good for. */
  tlsDays?: number;
  chainId?: number;
  head?: { readonly number: number; readonly ageS: number };
  /** The median of a few calls over an open connection. */
  latencyMs?: number;
  history?: History;
  methods?: MethodFindings;
  webSocketMs?: number;
  /** What keeps calls from being answered. */
  readonly problems: string[];
  /** Worth a look. */
  readonly notes: string[];
}

/** How far back it knows the state: to the first block, or so many blocks at least. */
export type History = 'all' | 10_000 | 1_000 | 100 | 0;

export interface ProbeOptions {
  /** For all of it. */
  readonly timeoutMs: number;
  /** Undefined for a node that the gateway spawns. */
  readonly open: (upstream: UpstreamConfig) => Transport | undefined;
}

const MIN_TLS_DAYS = 14;
const MAX_HEAD_AGE_S = 600;
const LATENCY_CALLS = 3;
const zeroAddress = `0x${'0'.repeat(40)}`;

/** Asks one upstream all there is to know of it, gently: one call after the other. Never rejects, never takes longer. */
export async function probeUpstream(
  network: Pick<NetworkConfig, 'chainId' | 'methods'>,
  upstream: UpstreamConfig,
  { timeoutMs, open }: ProbeOptions,
): Promise<UpstreamFindings> {
  const found: UpstreamFindings = { name: upstream.name, problems: [], notes: [] };
  const { url, websocketUrl, ...others } = upstream;
  const deadline = performance.now() + timeoutMs;
  const transports: Transport[] = [];
  const over = (one: UpstreamConfig): ProbeClient | undefined => {
    const transport = open(one);
    if (transport !== undefined) transports.push(transport);
    return transport === undefined ? undefined : new ProbeClient(transport, deadline);
  };
  const address = url ?? websocketUrl;
  const client = address === undefined ? undefined : over(upstream);
  if (address === undefined || client === undefined) {
    found.notes.push('it is started with the gateway, and was not asked');
    return found;
  }
  const socket = url === undefined || websocketUrl === undefined ? undefined : over({ ...others, websocketUrl });
  const work = Promise.all([
    probeCalls(client, new URL(address), network, found, timeoutMs),
    socket === undefined ? undefined : probeWebSocket(socket, network.chainId, found),
  ]);
  try {
    await withTimeout(work, timeoutMs, () => new TimedOut());
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    if (found.problems.length === 0) found.problems.push(`not all was answered within ${timeoutMs / 1000} s`);
  } finally {
    await Promise.all(transports.map((transport) => transport.close()));
    await work.catch(() => undefined);
  }
  return found;
}

async function probeCalls(
  client: ProbeClient,
  address: URL,
  { chainId, methods }: Pick<NetworkConfig, 'chainId' | 'methods'>,
  found: UpstreamFindings,
  timeoutMs: number,
): Promise<void> {
  try {
    found.addresses = await probeName(address);
    if (/^(https|wss):$/.test(address.protocol)) found.tlsDays = await probeCertificate(address, timeoutMs);
  } catch (error) {
    found.problems.push((error as Error).message);
    return;
  }
  if ((found.tlsDays ?? MIN_TLS_DAYS) < MIN_TLS_DAYS) {
    found.notes.push(`its certificate ends in ${found.tlsDays} days`);
  }
  if (!(await probeChain(client, chainId, found, ''))) return;
  const head = await probeHead(client, found);
  found.latencyMs = await probeLatency(client);
  if (head === undefined) return;
  found.history = await probeHistory(client, head);
  found.methods = await probeMethods(client, methods, quantity(head));
}

async function probeWebSocket(client: ProbeClient, chainId: number, found: UpstreamFindings): Promise<void> {
  const start = performance.now();
  const isRight = await probeChain(client, chainId, found, 'WebSocket: ');
  // The handshake is in it, which opens the way for all calls after it.
  if (isRight) found.webSocketMs = performance.now() - start;
}

async function probeChain(
  client: ProbeClient,
  chainId: number,
  found: UpstreamFindings,
  where: string,
): Promise<boolean> {
  const probed = await client.request('eth_chainId', []);
  const given = 'failure' in probed ? undefined : numberOf(probed.result);
  if (given !== undefined) found.chainId = given;
  if (given === chainId) return true;
  const complaint =
    given === undefined ? `eth_chainId: ${problemOf(probed)}` : `its chain id is ${given}, not ${chainId}`;
  found.problems.push(where + complaint);
  return false;
}

async function probeHead(client: ProbeClient, found: UpstreamFindings): Promise<number | undefined> {
  const probed = await client.request('eth_getBlockByNumber', ['latest', false]);
  const block = 'failure' in probed ? undefined : (probed.result as Record<string, unknown> | null);
  const number = numberOf(block?.['number']);
  const timestamp = numberOf(block?.['timestamp']);
  if (number === undefined || timestamp === undefined) {
    found.problems.push(`eth_getBlockByNumber of latest: ${problemOf(probed)}`);
    return undefined;
  }
  found.head = { number, ageS: Math.max(0, Math.round(Date.now() / 1000 - timestamp)) };
  if (found.head.ageS > MAX_HEAD_AGE_S)
    found.notes.push(`its newest block is ${Math.round(found.head.ageS / 60)} min old`);
  return number;
}

async function probeLatency(client: ProbeClient): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < LATENCY_CALLS; call++) {
    const start = performance.now();
    await client.request('eth_blockNumber', []);
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[LATENCY_CALLS >> 1] ?? 0;
}

/** Block 1 and the middle: nodes that keep no history may keep the genesis' state all the same. */
async function probeHistory(client: ProbeClient, head: number): Promise<History> {
  const knows = async (block: number): Promise<boolean> => {
    return !('failure' in (await client.request('eth_getBalance', [zeroAddress, quantity(block)])));
  };
  if ((await knows(Math.min(1, head))) && (await knows(head >> 1))) return 'all';
  for (const back of [10_000, 1_000, 100] as const) if (head > back && (await knows(head - back))) return back;
  return 0;
}

function problemOf(probed: ProbeResult): string {
  return 'failure' in probed ? `${probed.words} (${probed.failure})` : 'no answer that makes sense';
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : undefined;
}

function quantity(number: number): string {
  return `0x${number.toString(16)}`;
}
