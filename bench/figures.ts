import type { CostRound, ScenarioResult } from './results.ts';
import { scenarios, type CostScenario, type Scenario } from './scenarios.ts';

/** One number that was measured in each round, and the most that it may be. */
export interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly most?: number;
}

/** What is promised, or said, of a gateway in a scenario. */
export function figuresOf(result: ScenarioResult): Figure[] {
  const scenario = scenarios.find(({ name, kind }) => name === result.name && kind === result.kind);
  return scenario === undefined ? [] : figures(scenario, result);
}

function figures(scenario: Scenario, result: ScenarioResult): Figure[] {
  if (scenario.kind === 'cost' && result.kind === 'cost') return costFigures(scenario, result.rounds);
  if (scenario.kind === 'latency' && result.kind === 'latency') {
    const added = (share: 'p50' | 'p99'): number[] =>
      result.rounds.map(({ Gatehouse, direct }) => Gatehouse[share] - direct[share]);
    return [
      { title: `p50 ${scenario.title}`, unit: 'ms', values: added('p50') },
      { title: `p99 ${scenario.title}`, unit: 'ms', values: added('p99'), most: scenario.maxP99Ms },
    ];
  }
  if (scenario.kind === 'memory' && result.kind === 'memory') {
    const [idle, loaded] = [result.rounds.map(({ idleMb }) => idleMb), result.rounds.map(({ loadedMb }) => loadedMb)];
    return [
      { title: 'memory, idle', unit: 'MB', values: idle, most: scenario.maxIdleMb },
      {
        ...{ title: `memory under ${scenario.connections} connections`, unit: 'MB', values: loaded },
        most: scenario.maxLoadedMb,
      },
    ];
  }
  if (scenario.kind === 'script' && result.kind === 'script') {
    return scenario.figures.map(({ title, unit, find, most: max }) => {
      return { title, unit, most: max, values: [Number(find.exec(result.text)?.[1])] };
    });
  }
  return [];
}

function costFigures({ title, against, most: max }: CostScenario, rounds: readonly CostRound[]): Figure[] {
  const to = against ?? 'nginx';
  const perCall = { title: `${title}, CPU`, unit: `× ${to}`, values: ratios(rounds, 'Gatehouse', to) };
  const figure = max === undefined ? perCall : { ...perCall, most: max };
  const [first] = rounds;
  if (first?.['Gatehouse']?.atRest === undefined) return [figure];
  const atRest = rounds.map((round) => (round['Gatehouse']?.atRest ?? NaN) - (round[to]?.atRest ?? NaN));
  return [figure, { title: `${title}, idle CPU above ${to}`, unit: 'ms per s', values: atRest }];
}

/** CPU per call of one as a multiple of another's in the same round. */
export function ratios(rounds: readonly CostRound[], of: string, to: string): number[] {
  return rounds.map((round) => (round[of]?.cpu ?? NaN) / (round[to]?.cpu ?? NaN));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

export function isMet({ values, most: max }: Figure): boolean | undefined {
  return max === undefined ? undefined : median(values) <= max;
}

/** Three digits that count, and thousands apart. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return '?';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The least and the most; of one value there is nothing to say. */
export function spread(values: readonly number[]): string {
  if (values.length < 2) return '';
  return `${show(Math.min(...values))} – ${show(Math.max(...values))}`;
}
