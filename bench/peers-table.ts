import { table } from '../schemas/markdown-table.ts';
import { median, ratios, show } from './figures.ts';
import { peers, RUNTIME_PREFIX } from './peers.ts';
import type { CostRound, Results } from './results.ts';
import { scenarios as defined } from './scenarios.ts';

/** Columns, and the scenarios with the default settings and with `batch: false` that they show. */
const columns: readonly (readonly [title: string, scenario: string, alone?: string])[] = [
  ['eth_call, 64 connections', 'eth-call'],
  ['batch of 10 eth_call, per call', 'eth-call10'],
  ['batch of 100', 'eth-call100'],
  ['single, 64 connections', 'single'],
  ['single, 256', 'single256'],
  ['batch of 10, per call', 'batch10'],
  ['batch of 100', 'batch100', 'alone100'],
  ['200 kB block', 'block'],
  ['2 MB of logs', 'logs'],
  ['5 MB trace', 'trace'],
];

/** CPU per call through Gatehouse and through peers. Undefined if neither a peer nor another Node was measured. */
export function peersTable({ scenarios }: Results): string | undefined {
  const roundsOf = (name?: string): readonly CostRound[] => {
    const found = scenarios.find((scenario) => scenario.name === name);
    return found?.kind === 'cost' ? found.rounds : [];
  };
  const names = new Set(columns.flatMap(([, name]) => Object.keys(roundsOf(name)[0] ?? {})));
  const measured = [...names].filter((name) => name.startsWith(RUNTIME_PREFIX) || Object.hasOwn(peers, name));
  if (measured.length === 0) return undefined;
  const multiple = (rounds: readonly CostRound[], through: string): string =>
    rounds[0]?.[through] === undefined ? '' : show(median(ratios(rounds, through, 'nginx')));
  return table([
    ['× nginx', ...columns.map(([title]) => title)],
    ['goal, default settings', ...columns.map(([, name]) => goalOf(name))],
    ['Gatehouse, default', ...columns.map(([, name]) => multiple(roundsOf(name), 'Gatehouse'))],
    ['Gatehouse, `batch: false`', ...columns.map(([, , name]) => multiple(roundsOf(name), 'Gatehouse'))],
    ...measured.map((name) => [name, ...columns.map(([, scenario]) => multiple(roundsOf(scenario), name))]),
  ]);
}

function goalOf(name: string): string {
  const scenario = defined.find((one) => one.name === name);
  return scenario?.kind === 'cost' && scenario.max !== undefined ? `≤ ${scenario.max}` : '';
}
