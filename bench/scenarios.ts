import type { PermissionTexts } from '../gateway/auth/permissions/permissions.ts';
import type { UpstreamShape } from './upstream-behaviour.ts';
import { ethCalls, finalMix, longLogs, longTraces, walletMix, wholeBlocks, type CallKind } from './wallet-calls.ts';

/** One measurement of `npm run bench`. `max…` is the target: the highest permitted value of a figure. */
export type Scenario = CostScenario | LatencyScenario | RemoteScenario | MemoryScenario | ScriptScenario;

interface Named {
  readonly name: string;
  /** Shown in the tables of docs/benchmarks.md. */
  readonly title: string;
  /** `--quick` leaves it out: other scenarios have the figures that matter most. */
  readonly isDetail?: true;
}

/** CPU per call, compared with nginx, which gets the same calls as single HTTP requests. */
export interface CostScenario extends Named {
  readonly kind: 'cost';
  readonly calls: readonly CallKind[];
  /** The number of calls in a batch, or single calls over WebSockets. Default: single HTTP requests. */
  readonly send?: number | 'websocket';
  /** The number of different calls, after which they repeat. */
  readonly distinct?: number;
  /** Default: 64. */
  readonly connections?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly networks?: number;
  readonly keys?: number;
  readonly store?: 'redis';
  readonly permissions?: PermissionTexts;
  /** The upstream's option `batch`. Default: `auto`. */
  readonly batch?: false;
  /** The gateway calls its upstream over WebSocket. */
  readonly upstream?: 'websocket';
  /** Other proxies that are measured with the same calls. */
  readonly references?: readonly ('HAProxy' | 'bare Node proxy')[];
  /** The peers of `--peer` are measured with the same calls. */
  readonly comparesPeers?: true;
  /** The figure is relative to this: a gateway with one network and one key. Default: nginx. */
  readonly baseline?: 'one of each';
  readonly max?: number;
  /** Target: CPU as a multiple of eRPC's in the same round. */
  readonly ofErpc?: number;
}

/** The latency that the gateway adds to the upstream's at half of its maximum load. */
export interface LatencyScenario extends Named {
  readonly kind: 'latency';
  readonly calls: readonly CallKind[];
  /** Target of p99 above that of a bare Node proxy. */
  readonly maxP99Ms: number;
}

/** Latencies through the gateway beside those of the same calls sent to the upstream directly, which takes its time itself. */
export interface RemoteScenario extends Named {
  readonly kind: 'remote';
  readonly calls: readonly CallKind[];
  readonly upstream: UpstreamShape;
  readonly connections: number;
  /** Calls per second with random arrival times. Undefined: each connection sends its next call when it gets a response. */
  readonly perSecond?: number;
  /** The number of calls in a batch. Default: single calls. */
  readonly send?: number;
  /** A gateway with `batch: false` is measured with the same calls. */
  readonly comparesAlone?: true;
  /** nginx and the peers of `--peer` are measured with the same calls. */
  readonly comparesPeers?: true;
  /** Target of p50 in ms. */
  readonly maxP50Ms?: number;
  /** Target as a multiple of the same figure without the gateway. */
  readonly maxP50?: number;
  readonly maxP99?: number;
  /** Targets as multiples of the best peer's figure in the same round. */
  readonly ofBestPeer?: Readonly<Partial<Record<'p50' | 'p99' | 'cpuUs', number>>> & { readonly minPerSecond?: number };
  /** Targets as multiples of the figure with `batch: false`. */
  readonly ofAlone?: Readonly<Partial<Record<'p50' | 'p99', number>>>;
}

export interface MemoryScenario extends Named {
  readonly kind: 'memory';
  readonly calls: readonly CallKind[];
  readonly connections: number;
  /** Targets for an unused gateway. Undefined: another scenario has them. */
  readonly maxIdle?: { readonly mb: number; readonly cpuMs: number };
  readonly maxLoadedMb: number;
}

/** A separate program that prints tables. */
export interface ScriptScenario extends Named {
  readonly kind: 'script';
  /** The file name in bench/ without its extension. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Figures in its output. */
  readonly figures: readonly {
    readonly title: string;
    readonly unit: string;
    readonly find: RegExp;
    readonly max: number;
  }[];
}

/** Latency as measured over the internet. */
const jitter: UpstreamShape = { latency: { medianMs: 30, sigma: 0.5 } };
const beside = { kind: 'remote', calls: walletMix, comparesPeers: true } as const;
const atRate = { ...beside, upstream: jitter, perSecond: 1_200, ofBestPeer: { p50: 1.05, p99: 1.25 } } as const;
const wallet = { kind: 'cost', calls: walletMix } as const;
const compared = { ...wallet, comparesPeers: true } as const;
const calls = { kind: 'cost', calls: ethCalls } as const;
const comparedCalls = { ...calls, comparesPeers: true } as const;

export const scenarios: readonly Scenario[] = [
  {
    ...{ ...beside, name: 'remote-call', title: 'eth_call, upstream of 30 ms, 300 calls per second', calls: ethCalls },
    ...{ upstream: { latency: [30, 30] }, connections: 64, perSecond: 300, ofBestPeer: { p50: 1.05, p99: 1.25 } },
  },
  {
    ...{ ...beside, name: 'remote256', title: 'upstream of 30 ms, 256 connections' },
    ...{ upstream: { latency: [30, 30] }, connections: 256, maxP50Ms: 42, ofBestPeer: { minPerSecond: 1.2 } },
  },
  {
    ...{ ...atRate, name: 'jitter200', connections: 200 },
    title: 'upstream of 30 ms with jitter, 1,200 calls per second, 200 connections',
  },
  {
    ...{ ...atRate, name: 'jitter512', connections: 512 },
    title: 'upstream of 30 ms with jitter, 1,200 calls per second, 512 connections',
  },
  {
    ...{ ...beside, name: 'wallets', title: 'upstream of 20 to 80 ms, 300 calls per second' },
    ...{ upstream: { latency: [20, 80] }, connections: 64, perSecond: 300, ofBestPeer: { cpuUs: 1 } },
  },
  {
    ...{ ...beside, name: 'serial', title: 'an upstream that works on a batch call by call, batches of 10' },
    ...{ upstream: { latency: [1, 1], hasSerialBatches: true }, send: 10, connections: 64, perSecond: 2_000 },
    ...{ comparesAlone: true, ofAlone: { p50: 1.1, p99: 1.25 } },
  },
  {
    ...{ ...beside, name: 'limit32', title: 'an upstream that works on 32 calls at once, 256 connections' },
    ...{ upstream: { latency: [30, 30], concurrency: 32 }, connections: 256 },
    ...{ comparesAlone: true, ofAlone: { p50: 1.1, p99: 1.25 } },
  },
  {
    ...{ ...beside, name: 'refuses32', title: 'an upstream that refuses calls beyond 32 at once, 256 connections' },
    ...{ upstream: { latency: [30, 30], concurrency: 32, refuses: true }, connections: 256, comparesAlone: true },
  },
  {
    ...{ ...beside, name: 'slows', title: 'an upstream of 10 ms that slows down under load, 256 connections' },
    ...{ upstream: { latency: [10, 10], slowsBy: 32 }, connections: 256 },
    ...{ comparesAlone: true, ofAlone: { p50: 1.1, p99: 1.25 } },
  },
  {
    ...{ ...beside, name: 'remote', title: 'upstream of 20 to 100 ms, 800 calls per second', isDetail: true },
    ...{ upstream: { latency: [20, 100] }, connections: 512, perSecond: 800, maxP50: 1.5, maxP99: 2.5 },
  },
  { ...comparedCalls, name: 'eth-call', title: 'single eth_call', max: 4 },
  { ...comparedCalls, name: 'eth-call256', title: 'single eth_call, 256 connections', connections: 256, max: 4 },
  { ...comparedCalls, name: 'eth-call-ws', title: 'eth_call over WebSocket', send: 'websocket', max: 3.3 },
  { ...comparedCalls, name: 'eth-call10', title: 'batches of 10 eth_call', send: 10, connections: 16, max: 1.6 },
  { ...comparedCalls, name: 'eth-call100', title: 'batches of 100 eth_call', send: 100, connections: 4, max: 1.15 },
  {
    ...{ ...compared, name: 'single', title: 'single calls', max: 3.2 },
    references: ['HAProxy', 'bare Node proxy'],
  },
  {
    ...{ ...compared, name: 'single256', title: 'single calls, 256 connections', connections: 256, max: 3.5 },
    isDetail: true,
  },
  { ...compared, name: 'batch10', title: 'batches of 10', send: 10, connections: 16, max: 1.4 },
  { ...compared, name: 'batch100', title: 'batches of 100', send: 100, connections: 4, max: 1.1 },
  {
    ...{ ...wallet, name: 'alone100', title: 'batches of 100, sent upstream singly', send: 100 },
    ...{ connections: 4, batch: false, isDetail: true },
  },
  {
    ...{ ...wallet, name: 'upstream-ws', title: 'single calls, upstream over WebSocket', upstream: 'websocket' },
    isDetail: true,
  },
  { ...wallet, name: 'websocket', title: 'WebSocket calls', send: 'websocket', max: 2.5, isDetail: true },
  {
    ...{ name: 'cached', title: 'cache hits', kind: 'cost', calls: finalMix, distinct: 210, max: 1.4 },
    env: { CACHE_MAX_BYTES: '50000000' },
  },
  {
    ...{ name: 'block', title: 'blocks of 200 kB', kind: 'cost', calls: wholeBlocks, connections: 8 },
    ...{ comparesPeers: true, ofErpc: 0.9 },
  },
  {
    ...{ name: 'logs', title: 'eth_getLogs of 2 MB', kind: 'cost', calls: longLogs, connections: 8 },
    ...{ comparesPeers: true, ofErpc: 1 },
  },
  {
    ...{ name: 'trace', title: 'traces of 5 MB', kind: 'cost', calls: longTraces, connections: 4 },
    ...{ comparesPeers: true, ofErpc: 1.1 },
  },
  {
    ...wallet,
    name: 'rate',
    isDetail: true,
    title: 'key with a rate, in Redis',
    store: 'redis',
    permissions: { rate: '1000000' },
    max: 3.8,
  },
  {
    ...{ ...wallet, name: 'limits', title: 'rate, quotas and permissions', store: 'redis', isDetail: true },
    permissions: {
      ...{ rate: '1000000', daily: '1000000000', monthly: '1000000000' },
      ...{ networks: 'network-0,other', methods: 'eth,zks', ips: '127.0.0.0/8,10.0.0.0/8' },
    },
  },
  { ...wallet, name: 'keys-file', title: '10,000 keys in a file', keys: 10_000, baseline: 'one of each', max: 1.1 },
  {
    ...{ ...calls, name: 'keys-call', title: '10,000 keys in a file, eth_call', keys: 10_000 },
    ...{ baseline: 'one of each', max: 1.1 },
  },
  {
    ...{ ...wallet, name: 'keys-redis', title: '10,000 keys in Redis', keys: 10_000, store: 'redis' },
    ...{ baseline: 'one of each', max: 1.1, isDetail: true },
  },
  {
    ...{ ...wallet, name: 'networks', title: '200 networks, 10,000 keys', networks: 200, keys: 10_000 },
    ...{ baseline: 'one of each', max: 1.2 },
  },
  {
    ...{ ...calls, name: 'networks-call', title: '200 networks, 200 keys, eth_call', networks: 200, keys: 200 },
    ...{ baseline: 'one of each', max: 1.2 },
  },
  {
    ...{ name: 'latency', title: 'added at half load', kind: 'latency', calls: walletMix, maxP99Ms: 0.5 },
    isDetail: true,
  },
  {
    ...{ name: 'memory', title: 'memory under 256 connections', kind: 'memory', calls: walletMix, connections: 256 },
    ...{ maxIdle: { mb: 90, cpuMs: 1.5 }, maxLoadedMb: 180 },
  },
  {
    ...{ name: 'memory-trace', title: 'memory while 8 clients get traces of 5 MB', kind: 'memory' },
    ...{ calls: longTraces, connections: 8, maxLoadedMb: 180 },
  },
  {
    ...{ name: 'start', title: 'start', kind: 'script', script: 'start' },
    figures: [
      { title: 'start to the first response', unit: 'ms', find: /Gatehouse +\| ([\d.]+) ms/, max: 600 },
      { title: 'start, CPU', unit: 'ms', find: /Gatehouse +\| [\d.,]+ ms +\| ([\d.]+) ms/, max: 550 },
      {
        title: 'first 1,000 calls beside later ones, CPU',
        unit: '× the ratio of a bare Node proxy',
        find: /The ratio of Gatehouse is ([\d.]+)/,
        max: 1.3,
      },
    ],
  },
  {
    ...{ name: 'flow', title: 'flow of large results', kind: 'script', script: 'flowing-results' },
    figures: [
      {
        title: 'longest turn of each round, CPU, while traces of 5 MB pass',
        unit: 'ms',
        find: /in all \| ([\d.]+) ms/,
        max: 5,
      },
    ],
  },
  {
    ...{ name: 'subscriptions', title: 'subscriptions', kind: 'script', script: 'subscriptions' },
    // An upstream over HTTP would add the time between polls.
    args: ['--subscribers', '10000', '--blocks', '10', '--websocket'],
    figures: [
      { title: 'an idle WebSocket of 5,000', unit: 'kB', find: /idle sockets: ([\d.]+) kB each/, max: 15 },
      { title: 'newHeads to 10,000, CPU per head', unit: 'ms', find: newHeadsCell(3), max: 200 },
      { title: 'newHeads to 10,000, first notification', unit: 'ms', find: newHeadsCell(4), max: 5 },
      { title: 'newHeads to 10,000, last notification', unit: 'ms', find: newHeadsCell(5), max: 150 },
    ],
  },
  {
    ...{ name: 'stalls', title: 'stalls of the event loop', kind: 'script', script: 'stalls/stalls', figures: [] },
    isDetail: true,
  },
  { name: 'steps', title: 'steps of a call', kind: 'script', script: 'steps', figures: [], isDetail: true },
];

/** A number in the row of `newHeads`. @param after the number of cells after the first that precede it */
function newHeadsCell(after: number): RegExp {
  return new RegExp(`newHeads \\|(?:[^|]*\\|){${after}} ([\\d.]+)`);
}
