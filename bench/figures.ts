import type { CostRound, MemoryRound, RemoteRound, ScenarioResult } from './results.ts';
import { peers } from './peers.ts';
import { scenarios, type CostScenario, type RemoteScenario, type Scenario } from './scenarios.ts';

/** A number that is measured in each round, and its target if it has one. */
export interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly max?: number;
}

/** The gateway's figures in a scenario. */
export function figuresOf(result: ScenarioResult): Figure[] {
  const scenario = scenarios.find(({ name, kind }) => name === result.name && kind === result.kind);
  return scenario === undefined ? [] : figures(scenario, result);
}

function figures(scenario: Scenario, result: ScenarioResult): Figure[] {
  if (scenario.kind === 'cost' && result.kind === 'cost') return costFigures(scenario, result.rounds);
  if (scenario.kind === 'latency' && result.kind === 'latency') {
    const added = (share: 'p50' | 'p99'): number[] =>
      result.rounds.map(({ Gatehouse, direct }) => Gatehouse[share] - direct[share]);
    const aboveBare = result.rounds.flatMap(({ Gatehouse, 'bare Node proxy': bare }) =>
      bare === undefined ? [] : [Gatehouse.p99 - bare.p99],
    );
    // Older results have no bare Node proxy.
    return [
      { title: `p50 ${scenario.title}`, unit: 'ms', values: added('p50') },
      { title: `p99 ${scenario.title}`, unit: 'ms', values: added('p99') },
      {
        title: `p99 ${scenario.title}, above a bare Node proxy`,
        unit: 'ms',
        values: aboveBare,
        max: scenario.maxP99Ms,
      },
    ].filter(({ values }) => values.length > 0);
  }
  if (scenario.kind === 'remote' && result.kind === 'remote') return remoteFigures(scenario, result.rounds);
  if (scenario.kind === 'memory' && result.kind === 'memory') {
    const { title, maxIdle, maxLoadedMb } = scenario;
    const of = (pick: (round: MemoryRound) => number): number[] => result.rounds.map(pick);
    const loaded = { title, unit: 'MB', values: of(({ loadedMb }) => loadedMb), max: maxLoadedMb };
    if (maxIdle === undefined) return [loaded];
    const idleCpu = of(({ idleCpuMs = NaN }) => idleCpuMs);
    return [
      { title: 'memory, idle', unit: 'MB', values: of(({ idleMb = NaN }) => idleMb), max: maxIdle.mb },
      { title: 'CPU, idle, one unused network', unit: 'ms per s', values: idleCpu, max: maxIdle.cpuMs },
      loaded,
    ].filter(({ values }) => values.some((value) => !Number.isNaN(value)));
  }
  if (scenario.kind === 'script' && result.kind === 'script') {
    return scenario.figures.map(({ title, unit, find, max }) => {
      return { title, unit, max, values: [Number(find.exec(result.text)?.[1])] };
    });
  }
  return [];
}

function remoteFigures(scenario: RemoteScenario, rounds: readonly RemoteRound[]): Figure[] {
  const { title, maxP50, maxP99, maxP50Ms, ofBestPeer = {}, ofAlone = {} } = scenario;
  const figure = (name: string, unit: string, values: readonly number[], max: number | undefined): Figure => {
    return { title: `${title}, ${name}`, unit, values, ...(max !== undefined && { max }) };
  };
  const ofOther = (of: 'p50' | 'p99' | 'cpuUs', other: (round: RemoteRound) => number | undefined): number[] =>
    rounds.map((round) => (round.Gatehouse[of] ?? NaN) / (other(round) ?? NaN));
  const timesPeer = (of: 'p50' | 'p99' | 'cpuUs'): number[] => ofOther(of, (round) => bestPeer(round, of, Math.min));
  const timesAlone = (of: 'p50' | 'p99'): number[] =>
    ofOther(of, ({ others }) => others?.['Gatehouse, batch: false']?.[of]);
  const perSecond = rounds.map(
    (round) => (bestPeer(round, 'perSecond', Math.max) ?? NaN) / (round.Gatehouse.perSecond ?? NaN),
  );
  const { minPerSecond } = ofBestPeer;
  return [
    figure('p50', '× direct', remoteRatios(rounds, 'p50'), maxP50),
    figure('p99', '× direct', remoteRatios(rounds, 'p99'), maxP99),
    ...(maxP50Ms === undefined
      ? []
      : [
          figure(
            'p50',
            'ms',
            rounds.map(({ Gatehouse }) => Gatehouse.p50),
            maxP50Ms,
          ),
        ]),
    ...(['p50', 'p99', 'cpuUs'] as const)
      .filter((of) => ofBestPeer[of] !== undefined)
      .map((of) => figure(of === 'cpuUs' ? 'CPU' : of, '× the best peer', timesPeer(of), ofBestPeer[of])),
    ...(minPerSecond === undefined
      ? []
      : [figure('calls per second of the best peer', '× Gatehouse', perSecond, Number((1 / minPerSecond).toFixed(2)))]),
    ...(['p50', 'p99'] as const)
      .filter((of) => ofAlone[of] !== undefined)
      .map((of) => figure(of, '× with `batch: false`', timesAlone(of), ofAlone[of])),
  ].filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/** The best peer; undefined: none was measured. */
function bestPeer(
  { others = {} }: RemoteRound,
  of: 'p50' | 'p99' | 'cpuUs' | 'perSecond',
  best: (...values: number[]) => number,
): number | undefined {
  // A peer that serves fewer calls has less to do.
  const served = Object.entries(others).filter(
    ([name, { correctShare = 0 }]) => Object.hasOwn(peers, name) && correctShare > 0.99,
  );
  const values = served.flatMap(([, figures]) => figures[of] ?? []);
  return values.length === 0 ? undefined : best(...values);
}

function costFigures({ title, baseline, max, ofErpc }: CostScenario, rounds: readonly CostRound[]): Figure[] {
  const to = baseline ?? 'nginx';
  const perCall = { title: `${title}, CPU`, unit: `× ${to}`, values: ratios(rounds, 'Gatehouse', to) };
  const figure = max === undefined ? perCall : { ...perCall, max };
  const [first = {}] = rounds;
  if (ofErpc !== undefined && first['erpc'] !== undefined) {
    return [figure, { ...perCall, unit: '× eRPC', values: ratios(rounds, 'Gatehouse', 'erpc'), max: ofErpc }];
  }
  if (first['Gatehouse']?.idleCpuMs === undefined) return [figure];
  const added = rounds.map((round) => (round['Gatehouse']?.idleCpuMs ?? NaN) - (round[to]?.idleCpuMs ?? NaN));
  return [figure, { title: `${title}, idle CPU above ${to}`, unit: 'ms per s', values: added }];
}

/** CPU per call of `of` as a multiple of that of `to` in the same round. */
export function ratios(rounds: readonly CostRound[], of: string, to: string): number[] {
  return rounds.map((round) => (round[of]?.cpuUs ?? NaN) / (round[to]?.cpuUs ?? NaN));
}

/** Latencies through the gateway as multiples of those without it. */
export function remoteRatios(rounds: readonly RemoteRound[], share: 'p50' | 'p99'): number[] {
  return rounds.map(({ Gatehouse, direct }) => Gatehouse[share] / direct[share]);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/** Whether the median is within the target. Undefined: there is no target. */
export function isMet({ values, max }: Figure): boolean | undefined {
  return max === undefined ? undefined : median(values) <= max;
}

/** Text of a number with at least three significant digits, with thousands separators. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return '?';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The minimum and the maximum. Empty for a single value. */
export function spread(values: readonly number[]): string {
  if (values.length < 2) return '';
  return `${show(Math.min(...values))} – ${show(Math.max(...values))}`;
}
