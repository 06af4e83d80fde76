import type { Outcomes } from './checked-calls.ts';

/** Time and place of a measurement. */
export interface Measured {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly command: string;
  /** Processor, cores, and the versions of Node and of the reference proxies. */
  readonly machine: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** The results of a run, stored in docs/bench.json; the page, the chart and README's sentence are generated from them. */
export interface Results extends Measured {
  readonly isPinned: boolean;
  /** What a reader must know of older results. */
  readonly note?: string;
  readonly scenarios: readonly ScenarioResult[];
}

/** `measured`: a later run has measured this scenario (`--add`). */
export type ScenarioResult = { readonly measured?: Measured } & (
  | { readonly name: string; readonly kind: 'cost'; readonly rounds: readonly CostRound[] }
  | { readonly name: string; readonly kind: 'latency'; readonly rounds: readonly LatencyRound[] }
  | { readonly name: string; readonly kind: 'remote'; readonly rounds: readonly RemoteRound[] }
  | { readonly name: string; readonly kind: 'memory'; readonly rounds: readonly MemoryRound[] }
  | { readonly name: string; readonly kind: 'script'; readonly text: string }
);

/** Costs by program under test. */
export type CostRound = Readonly<Record<string, Cost>>;

export interface Cost extends Readonly<Outcomes> {
  /** User and system time of the process, in µs per call. */
  readonly cpuUs: number;
  /** CPU time of Redis in µs per call, if the scenario has one. */
  readonly redisCpuUs?: number;
  /** CPU in ms per second right after the last call, if the scenario has the baseline `one of each`. */
  readonly idleCpuMs?: number;
  readonly callsPerSecond: number;
  /** The share of a core that the process used, from 0 to 1. */
  readonly coreShare: number;
  /** Correct responses without an upstream request. */
  readonly cached: number;
}

/** Latencies in ms. `direct` is without a proxy. */
export interface LatencyRound {
  readonly callsPerSecond: number;
  readonly direct: { readonly p50: number; readonly p99: number };
  readonly nginx: { readonly p50: number; readonly p99: number };
  /** Times of a bare Node proxy; undefined in results from before 2026-11-22. */
  readonly 'bare Node proxy'?: { readonly p50: number; readonly p99: number };
  readonly Gatehouse: { readonly p50: number; readonly p99: number };
  readonly outcomes: Readonly<Outcomes>;
}

/** Latencies in ms. Optional members are undefined in results from before 2026-11-26. */
export interface RemoteFigures {
  readonly p50: number;
  readonly p99: number;
  /** Correct responses per second. */
  readonly perSecond?: number;
  /** Share of all calls, from 0 to 1. */
  readonly correctShare?: number;
  /** User and system time of the process, in µs per call. Undefined: the upstream itself. */
  readonly cpuUs?: number;
  readonly outcomes?: Readonly<Outcomes>;
}

export interface RemoteRound {
  readonly direct: RemoteFigures;
  readonly Gatehouse: RemoteFigures;
  /** Gatehouse with other options, nginx and peers. */
  readonly others?: Readonly<Record<string, RemoteFigures>>;
  /** Outcomes of the calls through Gatehouse. */
  readonly outcomes: Readonly<Outcomes>;
}

export interface MemoryRound {
  /** Memory without calls; undefined: another scenario has it. */
  readonly idleMb?: number;
  /** CPU in ms per second with one unused network. Undefined in results from before 2026-11-29, too. */
  readonly idleCpuMs?: number;
  readonly loadedMb: number;
  readonly outcomes: Readonly<Outcomes>;
}
