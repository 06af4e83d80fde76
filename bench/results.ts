import type { Outcomes } from './checked-calls.ts';

/** The results of a run, stored in docs/bench.json; the page, the chart and README's sentence are generated from them. */
export interface Results {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly command: string;
  /** Processor, cores, system, versions of Node and of what it is held against. */
  readonly machine: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly isPinned: boolean;
  readonly scenarios: readonly ScenarioResult[];
}

export type ScenarioResult =
  | { readonly name: string; readonly kind: 'cost'; readonly rounds: readonly CostRound[] }
  | { readonly name: string; readonly kind: 'latency'; readonly rounds: readonly LatencyRound[] }
  | { readonly name: string; readonly kind: 'memory'; readonly rounds: readonly MemoryRound[] }
  | { readonly name: string; readonly kind: 'script'; readonly text: string };

/** By who did the work. */
export type CostRound = Readonly<Record<string, Cost>>;

export interface Cost extends Readonly<Outcomes> {
  /** User and system time of its process, in µs per call. */
  readonly cpu: number;
  /** Of Redis, where there is one. */
  readonly redisCpu?: number;
  /** In ms a second, right after the last call; where it is held against one of each. */
  readonly atRest?: number;
  /** Calls. */
  readonly perSecond: number;
  /** Share of a core that its process used. */
  readonly busy: number;
  /** Of those that were right: answered without asking the upstream. */
  readonly cached: number;
}

/** In ms. What is `direct` goes to the upstream without anybody between. */
export interface LatencyRound {
  readonly perSecond: number;
  readonly direct: { readonly p50: number; readonly p99: number };
  readonly nginx: { readonly p50: number; readonly p99: number };
  readonly Gatehouse: { readonly p50: number; readonly p99: number };
  readonly outcomes: Readonly<Outcomes>;
}

export interface MemoryRound {
  readonly idleMb: number;
  readonly loadedMb: number;
  readonly outcomes: Readonly<Outcomes>;
}
