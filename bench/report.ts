import { table } from '../schemas/markdown-table.ts';
import type { Outcomes } from './checked-calls.ts';
import { callProfile } from './call-profile.ts';
import { median, ratios, remoteRatios, show } from './figures.ts';
import { questionTables } from './question-tables.ts';
import type { Cost, LatencyRound, Measured, RemoteFigures, Results, ScenarioResult } from './results.ts';
import { scenarios } from './scenarios.ts';

type RemoteResult = Extract<ScenarioResult, { kind: 'remote' }>;

/** The text of docs/benchmarks.md: a table for each question, and how all is measured. */
export function pageOf(results: Results): string {
  const sections = [
    '# Benchmarks',
    generated('bench.json'),
    summary(results),
    '![CPU per call, as multiples of nginx](bench.svg)',
    columnsText,
    ...questionTables(results.scenarios),
    '## How it is measured',
    howText(results),
    repeating,
  ];
  return `${sections.join('\n\n')}\n`;
}

/** The text of docs/measured/benchmarks.md: all results. */
export function detailsOf(results: Results): string {
  const costs = results.scenarios.filter((result) => result.kind === 'cost');
  const latencies = results.scenarios.filter((result) => result.kind === 'latency');
  const remotes = results.scenarios.filter((result) => result.kind === 'remote');
  const scripts = results.scenarios.filter((result) => result.kind === 'script');
  const sections = [
    '# Measured: benchmarks',
    generated('../bench.json'),
    'All results of the runs below. [Benchmarks](../benchmarks.md) has the targets, and how all is measured.',
    madeBy(results),
    ...laterTexts(results),
    targetsText,
    ...(results.note === undefined ? [] : [results.note]),
    ...(remotes.length === 0 ? [] : ['## Upstreams with a latency', remoteText, remoteTable(remotes)]),
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
        'correct',
        'cached',
        'rejected',
        'failed',
      ],
      ...costs.flatMap(costRows),
    ]),
    '## Where the time of a call goes',
    callProfile,
    ...latencies.flatMap(({ rounds }) => ['## Latency', timeText(rounds), timeTable(rounds)]),
    ...scripts.flatMap(({ name, text }) => [`## ${capital(titleOf(name))}`, withTables(text)]),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** The first two sentences of docs/benchmarks.md and of README's figures. */
function summary(results: Results): string {
  const found = (name: string) => results.scenarios.find((result) => result.name === name);
  const [remote, ethCall, batch] = [found('remote-call'), found('eth-call'), found('eth-call100')];
  if (remote?.kind !== 'remote' || ethCall?.kind !== 'cost' || batch?.kind !== 'cost') {
    throw new Error('README and docs/benchmarks.md need the scenarios remote-call, eth-call and eth-call100');
  }
  const [p50, p99] = (['p50', 'p99'] as const).map((share) => {
    const ms = median(remote.rounds.map(({ Gatehouse }) => Gatehouse[share]));
    return `${show(ms)} ms (${show(median(remoteRatios(remote.rounds, share)))} × direct)`;
  });
  // Until then, `batch: auto` had switched batches off (docs/measured/benchmarks.md).
  const sent = (batch.measured ?? results).date <= '2026-11-29' ? ' (Gatehouse sent its calls singly then)' : '';
  return `${titleOf(remote.name)}: p50 is ${p50 ?? ''}, p99 ${p99 ?? ''}.
CPU of an eth_call: ${costsOf(ethCall)}; in a client's batch of 100${sent}: ${costsOf(batch)}.`;
}

/** The three sentences between the comments `bench` in README. */
export function readmeSentence(results: Results): string {
  const ethCall = results.scenarios.find(({ name }) => name === 'eth-call');
  const { machine, date, rounds, seconds } = (ethCall?.kind === 'cost' ? ethCall.measured : undefined) ?? results;
  return `${summary(results)}
All results, those too in which a peer is ahead or a target is missed: [benchmarks](docs/benchmarks.md) (${machine}, ${date}, ${rounds} rounds of ${seconds} s, \`npm run bench\` with each \`--peer\`).`;
}

/** CPU per call of each gateway: `eRPC 222 µs`. */
function costsOf({ rounds }: Extract<ScenarioResult, { kind: 'cost' }>): string {
  const names = ['Gatehouse', 'nodecore', 'proxyd', 'erpc', 'nginx'].filter((name) => rounds[0]?.[name] !== undefined);
  return names
    .map(
      (name) =>
        `${name === 'erpc' ? 'eRPC' : name} ${show(median(rounds.map((round) => round[name]?.cpuUs ?? NaN)))} µs`,
    )
    .join(', ');
}

/** The number of calls without a correct response. */
export function countIncorrect(results: Results): number {
  const { rejected, failed } = total(results);
  return rejected + failed;
}

function countsText(results: Results): string {
  const { correct, rejected, failed } = total(results);
  const count = (number: number): string => number.toLocaleString('en');
  return `Of all calls ${count(correct)} got the correct response, ${count(rejected)} were rejected, ${count(failed)} failed.`;
}

function total({ scenarios: found }: Results): Outcomes {
  const all: Readonly<Outcomes>[] = found.flatMap((result) => {
    if (result.kind === 'script') return [];
    if (result.kind === 'cost') return result.rounds.flatMap((round) => Object.values(round));
    return result.rounds.map(({ outcomes }) => outcomes);
  });
  const sum = (of: keyof Outcomes): number => all.reduce((total, outcomes) => total + outcomes[of], 0);
  return { correct: sum('correct'), rejected: sum('rejected'), failed: sum('failed') };
}

function generated(source: string): string {
  return `<!-- Generated from ${source} by \`npm run bench\`: run it with \`--write\` instead of editing this page. -->`;
}

const repeating = `\`npm run bench -- --quick --rounds 3 --write\` repeats the measurement. \`npm run bench -- --list\` lists the scenarios, and \`-- --quick\` measures
the most important ones, in about 25 minutes with three peers.

\`--node PATH\` runs the gateway on another Node, \`--runtime "Node 24=PATH"\` also on this one in the same rounds. \`--peer erpc=PATH\`, \`proxyd=PATH\` and \`nodecore=PATH\` measure these
gateways too, with one upstream and no limits; the bench writes their configuration.

[All results](measured/benchmarks.md): upstreams with a latency, CPU per call, where the time of a call goes, large results, subscriptions, stalls.`;

const targetsText = `Targets changed on 2026-11-30, so that "met" is no progress by itself. In × nginx: eth_call from 3.5 to 4, over WebSocket from 3 to 3.3,
in batches of 10 from 1.2 to 1.6, of 100 from 1 to 1.15. Networks: from 1.15 to 1.2 × one of each. CPU, idle: from 1 to 1.5 ms per s. Longest turn:
from 3 to 5 ms. Logs of 2 MB: from 1.2 × the best peer to 1 × eRPC; nodecore is faster there.`;

const columnsText = `Each table begins with the rows in which a peer is ahead. A cell is the median of all rounds: CPU in µs per call, or what the row names.
Blank: not measured, or less than 99 % of the responses of a peer or proxy were correct.
The last column compares in the same rounds: its median, the range of all rounds, and whether a target is met.`;

function howText({ rounds, seconds, isPinned }: Results): string {
  const cores = isPinned ? 'has the first core to itself; everything else uses the others' : 'shares all cores';
  return `Clients and an upstream that responds immediately run in one process. The proxy under test is between them: nginx or
HAProxy (one worker, keep-alive connections) or a bare Node proxy forward calls unchanged. Gatehouse checks the key and the
parameters, selects the upstream, checks and completes the result, and counts the call. In each of ${rounds} rounds every
proxy runs for ${seconds} s at full load, with one call at a time on each of 64 connections (blocks: 8, batches: 16 and 4).
The proxy under test ${cores}. CPU is the user and system
time of its process, from /proc. In subscriptions and in the flow of large results, all processes use all cores. Where nginx is not fully loaded (\`core\`), a call costs it slightly more.

All calls differ, except in the scenario for cache hits, and each response is compared with the expected one. A multiple of
nginx is relative to nginx's cost of the same calls, sent singly over HTTP in the same round. \`one of each\` is a gateway
with one network and one key. Figures are medians of rounds.

undici 8.12.4 needs Node 22.19, so that it cannot replace undici 7 while Node 20 is supported. The gateway runs with it unchanged.
On Node 24.21 a single call cost 8.6 × nginx with it and 8.2 with 7.30.2: no difference that exceeds the noise (median of 21
alternating rounds, AMD EPYC × 2 with a load average of 10, 2026-11-23).`;
}

function madeBy({ command, machine, date }: Measured): string {
  return `\`${command}\` on ${machine}, ${date}.`;
}

/** The scenarios that later runs have measured. */
function laterTexts({ scenarios: found }: Results): string[] {
  const titles = new Map<string, string[]>();
  for (const { name, measured } of found) {
    if (measured === undefined) continue;
    const by = `${measured.rounds} rounds of ${measured.seconds} s: ${madeBy(measured)}`;
    titles.set(by, [...(titles.get(by) ?? []), titleOf(name)]);
  }
  return [...titles].map(([by, all]) => `Measured later: ${all.join('; ')}. ${by}`);
}

function costRows(result: ScenarioResult): string[][] {
  if (result.kind !== 'cost') return [];
  const { name, rounds } = result;
  return Object.keys(rounds[0] ?? {}).map((through) => {
    const costs = rounds.map((round) => round[through]).filter((cost) => cost !== undefined);
    const middle = (of: (cost: Cost) => number): number => median(costs.map(of));
    const total = (of: 'correct' | 'cached' | 'rejected' | 'failed'): string =>
      costs.reduce((sum, cost) => sum + cost[of], 0).toLocaleString('en');
    const redis = costs[0]?.redisCpuUs === undefined ? '' : show(middle(({ redisCpuUs = NaN }) => redisCpuUs));
    const cells = [
      ...[
        titleOf(name),
        through,
        show(middle(({ cpuUs }) => cpuUs)),
        redis,
        show(median(ratios(rounds, through, 'nginx'))),
      ],
      ...[Math.round(middle(({ callsPerSecond }) => callsPerSecond)).toLocaleString('en')],
      `${(100 * middle(({ coreShare }) => coreShare)).toFixed(0)} %`,
    ];
    return [...cells, total('correct'), total('cached'), total('rejected'), total('failed')];
  });
}

function timeText(rounds: readonly LatencyRound[]): string {
  const rate = Math.round(median(rounds.map(({ callsPerSecond }) => callsPerSecond))).toLocaleString('en');
  return `At ${rate} calls per second, half of the gateway's maximum, with random arrival times. Latency is measured from the
time at which a call was due.`;
}

function timeTable(rounds: readonly LatencyRound[]): string {
  const measured = (['direct', 'nginx', 'bare Node proxy', 'Gatehouse'] as const).filter((name) => rounds[0]?.[name]);
  const rows = measured.map((through) => {
    const middle = (of: (round: LatencyRound) => number | undefined): string =>
      `${show(median(rounds.map((round) => of(round) ?? NaN)))} ms`;
    const of = (share: 'p50' | 'p99'): string => middle((round) => round[through]?.[share]);
    const added = (share: 'p50' | 'p99'): string =>
      through === 'direct' ? '' : middle((round) => (round[through]?.[share] ?? NaN) - round.direct[share]);
    return [through, of('p50'), added('p50'), of('p99'), added('p99')];
  });
  return table([['through', 'p50', 'added', 'p99', 'added'], ...rows]);
}

/** Output of a script, with lines that begin with `|` as Markdown tables. */
function withTables(text: string): string {
  return text.replace(/(?:^\|.*\n?)+/gm, (lines) => {
    const rows = lines
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(1, -1).split('|'))
      .map((cells) => cells.map((cell) => cell.trim()))
      .filter((cells) => !cells.every((cell) => /^-+$/.test(cell)));
    return `${table(rows)}${lines.endsWith('\n') ? '\n' : ''}`;
  });
}

function titleOf(name: string): string {
  return scenarios.find((scenario) => scenario.name === name)?.title ?? name;
}

const remoteText = `Calls sent directly to an upstream that takes its time for each, and the same calls through Gatehouse, nginx and peers in the
same rounds. Latency is measured from the time at which a call was due. CPU is that of the gateway, for each call.`;

function remoteTable(results: readonly RemoteResult[]): string {
  const rows = results.flatMap(({ name, rounds }) => {
    const contenders = ['direct', 'Gatehouse', ...Object.keys(rounds[0]?.others ?? {})];
    return contenders.map((through, index) => {
      const all = rounds.map((round) => {
        return through === 'direct' || through === 'Gatehouse' ? round[through] : round.others?.[through];
      });
      const middle = (of: keyof Omit<RemoteFigures, 'outcomes'>): number =>
        median(all.map((figures) => figures?.[of] ?? NaN));
      const text = (value: number, unit = ''): string => (Number.isNaN(value) ? '' : `${show(value)}${unit}`);
      const times = (of: 'p50' | 'p99'): string =>
        through === 'direct'
          ? ''
          : text(median(all.map((figures, at) => (figures?.[of] ?? NaN) / (rounds[at]?.direct[of] ?? NaN))));
      const times50 = [text(middle('p50'), ' ms'), times('p50'), text(middle('p99'), ' ms'), times('p99')];
      const share = text(100 * middle('correctShare'), ' %');
      return [
        index === 0 ? titleOf(name) : '',
        through,
        ...times50,
        text(middle('perSecond')),
        share,
        text(middle('cpuUs')),
      ];
    });
  });
  const head = ['scenario', 'through', 'p50', '× direct', 'p99', '× direct', 'calls/s', 'correct', 'CPU-µs'];
  return table([head, ...rows]);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
