import type { PermissionTexts } from '../gateway/auth/permissions/permissions.ts';
import { finalMix, walletMix, wholeBlocks, type CallKind } from './wallet-calls.ts';

/** What is measured. Each says what it promises: the most that a figure may be. */
export type Scenario = CostScenario | LatencyScenario | MemoryScenario | ScriptScenario;

interface Named {
  readonly name: string;
  /** For the table. */
  readonly title: string;
}

/** CPU per call, beside nginx, which is sent the same calls one by one. */
export interface CostScenario extends Named {
  readonly kind: 'cost';
  readonly calls: readonly CallKind[];
  /** Calls in a batch; or each by itself over WebSockets. Otherwise each is a POST. */
  readonly send?: number | 'websocket';
  /** After so many, the same calls come again. */
  readonly distinct?: number;
  /** 64 unless told otherwise. */
  readonly connections?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly networks?: number;
  readonly keys?: number;
  readonly store?: 'redis';
  readonly rules?: PermissionTexts;
  /** The upstream takes batches. */
  readonly batch?: boolean;
  /** Others that are shown beside it. */
  readonly others?: readonly ('HAProxy' | 'bare Node proxy')[];
  /** By whose CPU its own is divided: by nginx's, or by that of a gateway with one network and one key. */
  readonly against?: 'one of each';
  readonly most?: number;
}

/** What the gateway adds to an upstream's time while it has half of the calls that it can do. */
export interface LatencyScenario extends Named {
  readonly kind: 'latency';
  readonly calls: readonly CallKind[];
  readonly maxP99Ms: number;
}

export interface MemoryScenario extends Named {
  readonly kind: 'memory';
  readonly calls: readonly CallKind[];
  readonly connections: number;
  readonly maxIdleMb: number;
  readonly maxLoadedMb: number;
}

/** A bench of its own, which prints tables. */
export interface ScriptScenario extends Named {
  readonly kind: 'script';
  /** In bench/, without its ending. */
  readonly script: string;
  /** Figures in what it prints. */
  readonly figures: readonly {
    readonly title: string;
    readonly unit: string;
    readonly find: RegExp;
    readonly most: number;
  }[];
}

const wallet = { kind: 'cost', calls: walletMix } as const;

export const scenarios: readonly Scenario[] = [
  { ...wallet, name: 'single', title: 'single calls', others: ['HAProxy', 'bare Node proxy'], most: 3.5 },
  { ...wallet, name: 'batch10', title: 'batches of 10', send: 10, connections: 16 },
  { ...wallet, name: 'batch100', title: 'batches of 100', send: 100, connections: 4 },
  { ...wallet, name: 'together', title: 'single calls, upstream with batch: true', batch: true, most: 2.5 },
  {
    ...{ ...wallet, name: 'together100', title: 'batches of 100, upstream with batch: true', send: 100 },
    ...{ connections: 4, batch: true, most: 1.2 },
  },
  { ...wallet, name: 'websocket', title: 'WebSocket calls', send: 'websocket', most: 3.0 },
  {
    ...{ name: 'cached', title: 'cache hits', kind: 'cost', calls: finalMix, distinct: 210, most: 1.8 },
    env: { CACHE_MAX_BYTES: '50000000' },
  },
  {
    ...{ name: 'block', title: 'blocks of 200 kB', kind: 'cost', calls: wholeBlocks, connections: 8 },
    others: ['bare Node proxy'],
  },
  { ...wallet, name: 'rate', title: 'key with a rate, in Redis', store: 'redis', rules: { rate: '1000000' }, most: 4 },
  {
    ...{ ...wallet, name: 'limits', title: 'rate, quotas and permissions', store: 'redis' },
    rules: {
      ...{ rate: '1000000', daily: '1000000000', monthly: '1000000000' },
      ...{ networks: 'network-0,other', methods: 'eth,zks', ips: '127.0.0.0/8,10.0.0.0/8' },
    },
  },
  { ...wallet, name: 'keys-file', title: '10,000 keys in a file', keys: 10_000, against: 'one of each', most: 1.05 },
  {
    ...{ ...wallet, name: 'keys-redis', title: '10,000 keys in Redis', keys: 10_000, store: 'redis' },
    ...{ against: 'one of each', most: 1.05 },
  },
  {
    ...{ ...wallet, name: 'networks', title: '200 networks, 10,000 keys', networks: 200, keys: 10_000 },
    ...{ against: 'one of each', most: 1.05 },
  },
  { name: 'latency', title: 'added at half load', kind: 'latency', calls: walletMix, maxP99Ms: 1 },
  {
    ...{ name: 'memory', title: 'memory', kind: 'memory', calls: walletMix, connections: 256 },
    ...{ maxIdleMb: 90, maxLoadedMb: 160 },
  },
  {
    ...{ name: 'subscriptions', title: 'subscriptions', kind: 'script', script: 'subscriptions' },
    figures: [{ title: 'an idle WebSocket of 5,000', unit: 'kB', find: /idle sockets: ([\d.]+) kB each/, most: 15 }],
  },
  { name: 'steps', title: 'steps of a call', kind: 'script', script: 'steps', figures: [] },
];
