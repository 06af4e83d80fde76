import { table } from '../schemas/markdown-table.ts';
import { median, ratios, show } from './figures.ts';
import { peers } from './peers.ts';
import type { CostRound, Results } from './results.ts';

/** Columns, and the scenarios with the default settings and with `batch: false` that they show. */
const columns: readonly (readonly [title: string, scenario: string, alone?: string])[] = [
  ['single, 64 connections', 'single', 'alone'],
  ['single, 256', 'single256'],
  ['batch of 10, per call', 'batch10'],
  ['batch of 100', 'batch100', 'alone100'],
  ['200 kB block', 'block'],
];

/** CPU per call through Gatehouse and through peers. Undefined if no peer was measured. */
export function peersTable({ scenarios }: Results): string | undefined {
  const roundsOf = (name?: string): readonly CostRound[] => {
    const found = scenarios.find((scenario) => scenario.name === name);
    return found?.kind === 'cost' ? found.rounds : [];
  };
  const isMeasured = (peer: string): boolean => columns.some(([, name]) => roundsOf(name)[0]?.[peer] !== undefined);
  const measured = Object.keys(peers).filter(isMeasured);
  if (measured.length === 0) return undefined;
  const multiple = (rounds: readonly CostRound[], through: string): string =>
    rounds[0]?.[through] === undefined ? '' : show(median(ratios(rounds, through, 'nginx')));
  return table([
    ['× nginx', ...columns.map(([title]) => title)],
    ['Gatehouse, default', ...columns.map(([, name]) => multiple(roundsOf(name), 'Gatehouse'))],
    ['Gatehouse, `batch: false`', ...columns.map(([, , name]) => multiple(roundsOf(name), 'Gatehouse'))],
    ...measured.map((peer) => [peer, ...columns.map(([, name]) => multiple(roundsOf(name), peer))]),
  ]);
}
