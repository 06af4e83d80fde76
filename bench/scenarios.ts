import type { PermissionTexts } from '../gateway/auth/permissions/permissions.ts';
import { finalMix, walletMix, wholeBlocks, type CallKind } from './wallet-calls.ts';

/** One measurement of `npm run bench`. `max…` is the target: the highest permitted value of a figure. */
export type Scenario = CostScenario | LatencyScenario | RemoteScenario | MemoryScenario | ScriptScenario;

interface Named {
  readonly name: string;
  /** Shown in the tables of docs/benchmarks.md. */
  readonly title: string;
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
}

/** The latency that the gateway adds to the upstream's at half of its maximum load. */
export interface LatencyScenario extends Named {
  readonly kind: 'latency';
  readonly calls: readonly CallKind[];
  /** Above that of a bare Node proxy. */
  readonly maxP99Ms: number;
}

/** Latencies through the gateway beside those of the same calls sent to the upstream directly, which has a latency itself. */
export interface RemoteScenario extends Named {
  readonly kind: 'remote';
  readonly calls: readonly CallKind[];
  /** Evenly distributed between the two. */
  readonly latencyMs: readonly [min: number, max: number];
  readonly connections: number;
  /** With random arrival times. Undefined: each connection sends its next call when it gets a response. */
  readonly perSecond?: number;
  /** As multiples of the same figure without the gateway. */
  readonly maxP50: number;
  readonly maxP99?: number;
}

export interface MemoryScenario extends Named {
  readonly kind: 'memory';
  readonly calls: readonly CallKind[];
  readonly connections: number;
  readonly maxIdleMb: number;
  readonly maxLoadedMb: number;
}

/** A separate program that prints tables. */
export interface ScriptScenario extends Named {
  readonly kind: 'script';
  /** The file name in bench/ without its extension. */
  readonly script: string;
  /** Figures in its output. */
  readonly figures: readonly {
    readonly title: string;
    readonly unit: string;
    readonly find: RegExp;
    readonly max: number;
  }[];
}

const wallet = { kind: 'cost', calls: walletMix } as const;
const compared = { ...wallet, comparesPeers: true } as const;

export const scenarios: readonly Scenario[] = [
  {
    ...{ name: 'remote', title: 'upstream of 20 to 100 ms, 800 calls per second', kind: 'remote', calls: walletMix },
    ...{ latencyMs: [20, 100], connections: 512, perSecond: 800, maxP50: 1.5, maxP99: 2.5 },
  },
  {
    ...{ name: 'remote256', title: 'upstream of 30 ms, 256 connections', kind: 'remote', calls: walletMix },
    ...{ latencyMs: [30, 30], connections: 256, maxP50: 1.7 },
  },
  {
    ...{ ...compared, name: 'single', title: 'single calls', max: 3.2 },
    references: ['HAProxy', 'bare Node proxy'],
  },
  { ...compared, name: 'single256', title: 'single calls, 256 connections', connections: 256, max: 3.5 },
  { ...compared, name: 'batch10', title: 'batches of 10', send: 10, connections: 16, max: 1.4 },
  { ...compared, name: 'batch100', title: 'batches of 100', send: 100, connections: 4, max: 1.1 },
  {
    ...{ ...wallet, name: 'alone100', title: 'batches of 100, sent upstream singly', send: 100 },
    ...{ connections: 4, batch: false },
  },
  { ...wallet, name: 'upstream-ws', title: 'single calls, upstream over WebSocket', upstream: 'websocket' },
  { ...wallet, name: 'websocket', title: 'WebSocket calls', send: 'websocket', max: 2.5 },
  {
    ...{ name: 'cached', title: 'cache hits', kind: 'cost', calls: finalMix, distinct: 210, max: 1.4 },
    env: { CACHE_MAX_BYTES: '50000000' },
  },
  {
    ...{ name: 'block', title: 'blocks of 200 kB', kind: 'cost', calls: wholeBlocks, connections: 8, max: 6 },
    comparesPeers: true,
    references: ['bare Node proxy'],
  },
  {
    ...wallet,
    name: 'rate',
    title: 'key with a rate, in Redis',
    store: 'redis',
    permissions: { rate: '1000000' },
    max: 3.8,
  },
  {
    ...{ ...wallet, name: 'limits', title: 'rate, quotas and permissions', store: 'redis' },
    permissions: {
      ...{ rate: '1000000', daily: '1000000000', monthly: '1000000000' },
      ...{ networks: 'network-0,other', methods: 'eth,zks', ips: '127.0.0.0/8,10.0.0.0/8' },
    },
  },
  { ...wallet, name: 'keys-file', title: '10,000 keys in a file', keys: 10_000, baseline: 'one of each', max: 1.05 },
  {
    ...{ ...wallet, name: 'keys-redis', title: '10,000 keys in Redis', keys: 10_000, store: 'redis' },
    ...{ baseline: 'one of each', max: 1.05 },
  },
  {
    ...{ ...wallet, name: 'networks', title: '200 networks, 10,000 keys', networks: 200, keys: 10_000 },
    ...{ baseline: 'one of each', max: 1.05 },
  },
  { name: 'latency', title: 'added at half load', kind: 'latency', calls: walletMix, maxP99Ms: 0.5 },
  {
    ...{ name: 'memory', title: 'memory', kind: 'memory', calls: walletMix, connections: 256 },
    ...{ maxIdleMb: 90, maxLoadedMb: 130 },
  },
  {
    ...{ name: 'subscriptions', title: 'subscriptions', kind: 'script', script: 'subscriptions' },
    figures: [{ title: 'an idle WebSocket of 5,000', unit: 'kB', find: /idle sockets: ([\d.]+) kB each/, max: 15 }],
  },
  { name: 'stalls', title: 'stalls of the event loop', kind: 'script', script: 'stalls/stalls', figures: [] },
  { name: 'steps', title: 'steps of a call', kind: 'script', script: 'steps', figures: [] },
];
