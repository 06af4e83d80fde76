import { table } from '../schemas/markdown-table.ts';
import type { Outcomes } from './asked-calls.ts';
import { figuresOf, isMet, median, ratios, show, spread } from './figures.ts';
import type { Cost, LatencyRound, Results, ScenarioResult } from './results.ts';
import { scenarios } from './scenarios.ts';

/** docs/bench.md */
export function pageOf(results: Results): string {
  const costs = results.scenarios.filter((result) => result.kind === 'cost');
  const latencies = results.scenarios.filter((result) => result.kind === 'latency');
  const scripts = results.scenarios.filter((result) => result.kind === 'script');
  const sections = [
    '# Benchmarks',
    `<!-- Made of bench.json by \`npm run bench\`: run it with \`--write\` rather than edit this. -->`,
    madeBy(results),
    '![CPU per call, as multiples of nginx](bench.svg)',
    howText(results),
    '## Targets',
    targetsTable(results),
    countsText(results),
    '## CPU per call',
    table([
      [
        'scenario',
        'through',
        'CPU-µs',
        'of Redis',
        '× nginx',
        'calls/s',
        'core',
        'right',
        'cached',
        'refused',
        'failed',
      ],
      ...costs.flatMap(costRows),
    ]),
    ...latencies.flatMap(({ rounds }) => ['## Time', timeText(rounds), timeTable(rounds)]),
    ...scripts.flatMap(({ name, text }) => [`## ${capital(titleOf(name))}`, text]),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** What stands in README between the comments `bench`. */
export function readmeBlock(results: Results): string {
  const chart = '![CPU per call, as multiples of nginx](docs/bench.svg)';
  return `${madeBy(results)} More in [docs/bench.md](docs/bench.md).\n\n${chart}\n\n${targetsTable(results)}`;
}

/** Says plainly what was missed. */
export function targetsTable({ scenarios: found }: Results): string {
  const rows = found.flatMap(figuresOf).map((figure) => {
    const { title, unit, values, most } = figure;
    const met = { true: 'met', false: '**missed**', undefined: '' }[String(isMet(figure)) as 'true'];
    return [
      title,
      most === undefined ? '' : `≤ ${most} ${unit}`,
      `${show(median(values))} ${unit}`,
      spread(values),
      met,
    ];
  });
  return table([['', 'target', 'median', 'all rounds', ''], ...rows]);
}

/** Calls that were not answered rightly. */
export function badCalls(results: Results): number {
  const { refused, failed } = total(results);
  return refused + failed;
}

function countsText(results: Results): string {
  const { right, refused, failed } = total(results);
  const count = (number: number): string => number.toLocaleString('en');
  return `Of all calls ${count(right)} were answered rightly, ${count(refused)} were refused, ${count(failed)} failed.`;
}

function total({ scenarios: found }: Results): Outcomes {
  const all: Readonly<Outcomes>[] = found.flatMap((result) => {
    if (result.kind === 'script') return [];
    if (result.kind === 'cost') return result.rounds.flatMap((round) => Object.values(round));
    return result.rounds.map(({ outcomes }) => outcomes);
  });
  const sum = (of: keyof Outcomes): number => all.reduce((so, outcomes) => so + outcomes[of], 0);
  return { right: sum('right'), refused: sum('refused'), failed: sum('failed') };
}

function howText({ rounds, seconds, isPinned }: Results): string {
  const cores = isPinned ? 'has the first core to itself, all else the others' : 'shares all cores with all else';
  return `Callers and an upstream that answers at once are one process; between them is nginx or HAProxy (one worker,
connections kept alive) or a bare Node proxy, which pass calls on as they are, or Gatehouse, which checks key and
parameters, chooses the upstream, checks and completes the result, and counts. In each of ${rounds} rounds each has a turn
of ${seconds} s with as many calls as it can do, one at a time on each of 64 connections (blocks: 8, batches: 16 and 4). What
is measured ${cores}; CPU is user and system time of its process, by /proc. Where
nginx is not kept busy (\`core\`), a call costs it some more than where it is.

All calls differ, unless hits are asked for, and each answer is held against its call. A multiple of nginx is that of its
cost for the same calls one by one over HTTP in the same round; \`one of each\` is a gateway with one network and one key.
Figures are medians of rounds.`;
}

function madeBy({ command, machine, date }: Results): string {
  return `\`${command}\` on ${machine}, ${date}.`;
}

function costRows(result: ScenarioResult): string[][] {
  if (result.kind !== 'cost') return [];
  const { name, rounds } = result;
  return Object.keys(rounds[0] ?? {}).map((through) => {
    const costs = rounds.map((round) => round[through]).filter((cost) => cost !== undefined);
    const middle = (of: (cost: Cost) => number): number => median(costs.map(of));
    const total = (of: 'right' | 'cached' | 'refused' | 'failed'): string =>
      costs.reduce((sum, cost) => sum + cost[of], 0).toLocaleString('en');
    const redis = costs[0]?.redisCpu === undefined ? '' : show(middle(({ redisCpu = NaN }) => redisCpu));
    const cells = [
      ...[
        titleOf(name),
        through,
        show(middle(({ cpu }) => cpu)),
        redis,
        show(median(ratios(rounds, through, 'nginx'))),
      ],
      ...[Math.round(middle(({ perSecond }) => perSecond)).toLocaleString('en')],
      `${(100 * middle(({ busy }) => busy)).toFixed(0)} %`,
    ];
    return [...cells, total('right'), total('cached'), total('refused'), total('failed')];
  });
}

function timeText(rounds: readonly LatencyRound[]): string {
  const rate = Math.round(median(rounds.map(({ perSecond }) => perSecond))).toLocaleString('en');
  return `At ${rate} calls a second, half of what the gateway can do, at moments of chance; from when a call was due.`;
}

function timeTable(rounds: readonly LatencyRound[]): string {
  const rows = (['direct', 'nginx', 'Gatehouse'] as const).map((through) => {
    const of = (share: 'p50' | 'p99'): string => `${show(median(rounds.map((round) => round[through][share])))} ms`;
    const added = (share: 'p50' | 'p99'): string =>
      through === 'direct'
        ? ''
        : `${show(median(rounds.map((round) => round[through][share] - round.direct[share])))} ms`;
    return [through, of('p50'), added('p50'), of('p99'), added('p99')];
  });
  return table([['through', 'p50', 'added', 'p99', 'added'], ...rows]);
}

function titleOf(name: string): string {
  return scenarios.find((scenario) => scenario.name === name)?.title ?? name;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
