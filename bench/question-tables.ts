import { table } from '../schemas/markdown-table.ts';
import { figuresOf, isMet, median, show, spread, type Figure } from './figures.ts';
import { peers } from './peers.ts';
import type { RemoteFigures, ScenarioResult } from './results.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/** The sections of docs/benchmarks.md in their order. */
const questions = {
  call: 'What does a call cost?',
  wait: 'What does a user wait?',
  machine: 'What does a machine serve?',
  large: 'What does a large result cost?',
};

function questionOf({ name, kind, ...rest }: Scenario): string {
  if (/^(block|logs|trace|memory-trace|flow)$/.test(name)) return questions.large;
  if (kind === 'cost') return questions.call;
  return kind === 'latency' || (kind === 'remote' && 'perSecond' in rest) ? questions.wait : questions.machine;
}

/** What was measured of one scenario. */
interface Row {
  readonly title: string;
  /** Medians of all rounds, by the program that the calls went through. */
  readonly medians: Readonly<Record<string, number>>;
  readonly unit: string;
  readonly isPeerAhead: boolean;
  readonly figures: readonly Figure[];
}

/** A heading and a table for each question. Rows in which a peer is ahead are first. */
export function questionTables(results: readonly ScenarioResult[]): string[] {
  const questionBy = (name: string): string | undefined => {
    const scenario = scenarios.find((one) => one.name === name);
    return scenario && questionOf(scenario);
  };
  return Object.values(questions).flatMap((question) => {
    const rows = results.filter(({ name }) => questionBy(name) === question).flatMap(rowsOf);
    if (rows.length === 0) return [];
    const measured = new Set(rows.flatMap(({ medians }) => Object.keys(medians)));
    const first = ['direct', 'Gatehouse', ...Object.keys(peers), 'nginx'].filter((name) => measured.has(name));
    const programs = [...new Set([...first, ...measured])];
    const lines = rows
      .toSorted((one, other) => Number(other.isPeerAhead) - Number(one.isPeerAhead))
      .map(({ title, medians, unit, figures }) => {
        const cells = programs.map((name) => (medians[name] === undefined ? '' : `${show(medians[name])}${unit}`));
        return [title, ...cells, figures.map((figure) => targetText(figure, title)).join('; ')];
      });
    return [`## ${question}`, table([['', ...programs, 'target: median (all rounds)'], ...lines])];
  });
}

function rowsOf(result: ScenarioResult): Row[] {
  const figures = figuresOf(result);
  const scenario = scenarios.find(({ name }) => name === result.name);
  if (result.kind === 'cost') {
    const baseline = scenario?.kind === 'cost' ? scenario.baseline : undefined;
    const shown = result.rounds.map((round) => omit(round, baseline));
    const medians = mediansOf(shown, ({ cpuUs }) => cpuUs);
    return [{ title: scenario?.title ?? '', medians, unit: ' µs', isPeerAhead: isAhead(medians, Math.min), figures }];
  }
  if (result.kind !== 'remote') {
    return figures.map((figure) => {
      const medians = { Gatehouse: median(figure.values) };
      return { title: figure.title, medians, unit: ` ${figure.unit}`, isPeerAhead: false, figures: [figure] };
    });
  }
  const rounds = result.rounds.map(({ direct, Gatehouse, others }) => ({ direct, Gatehouse, ...others }));
  const shares = mediansOf<RemoteFigures>(rounds, ({ correctShare }) => correctShare);
  const row = (name: string, unit: string, of: Exclude<keyof RemoteFigures, 'outcomes'>): Row => {
    const title = `${scenario?.title ?? ''}, ${name}`;
    const all = mediansOf<RemoteFigures>(rounds, (measured) => measured[of]);
    // A peer or proxy that serves fewer calls has less to do.
    const isShown = (through: string): boolean =>
      through === 'direct' || through === 'Gatehouse' || (shares[through] ?? 1) > 0.99;
    const medians = Object.fromEntries(Object.entries(all).filter(([through]) => isShown(through)));
    const isPeerAhead = isAhead(medians, of === 'perSecond' ? Math.max : Math.min);
    return { title, medians, unit, isPeerAhead, figures: figures.filter((figure) => figure.title.startsWith(title)) };
  };
  const isAtRate = scenario?.kind === 'remote' && scenario.perSecond !== undefined;
  const rows = [
    row('p50', ' ms', 'p50'),
    row('p99', ' ms', 'p99'),
    isAtRate ? row('CPU', ' µs', 'cpuUs') : row('calls per second', '', 'perSecond'),
  ];
  const lost = figures.find((figure) => !rows.some((one) => one.figures.includes(figure)));
  if (lost !== undefined) throw new Error(`no row of the tables has the figure ${lost.title}`);
  return rows;
}

function omit<Value>(round: Readonly<Record<string, Value>>, without?: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(round).filter(([name]) => name !== without));
}

function mediansOf<Measured>(
  rounds: readonly Readonly<Record<string, Measured>>[],
  of: (measured: Measured) => number | undefined,
): Record<string, number> {
  const names = Object.keys(rounds[0] ?? {});
  const medians = names.map((name) => {
    const values = rounds.flatMap((round) => (round[name] === undefined ? [] : (of(round[name]) ?? [])));
    return [name, median(values)] as const;
  });
  return Object.fromEntries(medians.filter(([, value]) => Number.isFinite(value)));
}

function isAhead(medians: Readonly<Record<string, number>>, best: (...values: number[]) => number): boolean {
  const { Gatehouse = NaN } = medians;
  return Object.keys(peers).some((name) => {
    const value = medians[name];
    return value !== undefined && value !== Gatehouse && best(value, Gatehouse) === value;
  });
}

/**
 * `≤ 4 × nginx: 5.37 (4.61 – 6.12), **missed**`, or without a target `2.35 × direct (1.87 – 2.77)`. What the title of the figure
 * adds to that of the row comes first: `of the best peer ≤ 0.83 × Gatehouse: …`.
 */
function targetText(figure: Figure, rowTitle: string): string {
  const { unit, values, max } = figure;
  const range = spread(values) === '' ? '' : ` (${spread(values)})`;
  const added = figure.title.startsWith(rowTitle) ? figure.title.slice(rowTitle.length) : '';
  const name = added.replace(/^, (CPU$)?/, '').trim();
  const begin = name === '' ? '' : `${name} `;
  if (max === undefined) return `${begin}${show(median(values))} ${unit}${range}`;
  return `${begin}≤ ${max} ${unit}: ${show(median(values))}${range}, ${isMet(figure) === true ? 'met' : '**missed**'}`;
}
