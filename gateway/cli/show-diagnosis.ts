import type { Diagnosis, NetworkFindings } from '../doctor/diagnose.ts';
import type { RedisFindings } from '../doctor/probe-redis.ts';
import type { UpstreamFindings } from '../doctor/probe-upstream.ts';
import { columns, printableInLine } from './columns.ts';

type Colour = 'red' | 'yellow' | 'green' | 'dim';
/** Colours a text, if the output has colours. */
export type Paint = (colour: Colour, text: string) => string;

const codes: Readonly<Record<Colour, number>> = { red: 31, yellow: 33, green: 32, dim: 2 };

/** Makes the function that colours. NO_COLOR is on if it is not empty (https://no-color.org). */
export function painter(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isPlain = !isTerminal || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return isPlain ? (_, text) => text : (colour, text) => `\x1b[${codes[colour]}m${text}\x1b[0m`;
}

/** Formats the result of `gatehouse check --live`: a table per network, then Redis, then a summary. */
export function showDiagnosis(diagnosis: Diagnosis, paint: Paint): string {
  const { ok, networks, redis } = diagnosis;
  const all = [...networks.flatMap(({ upstreams }) => upstreams), ...(redis === undefined ? [] : [redis])];
  const failed = all.filter(({ problems }) => problems.length > 0).length;
  const summary = ok ? paint('green', 'No problems.') : paint('red', `${failed} of ${all.length} have problems.`);
  return `${[...networks.map((network) => tableOf(network, paint)), ...(redis === undefined ? [] : [redisOf(redis, paint)])].join('\n')}\n${summary}\n`;
}

const head = ['', 'UPSTREAM', 'TLS', 'HEAD', 'AGE', 'LATENCY', 'STATE', 'WEBSOCKET'];

function tableOf({ name, slug, chainId, upstreams }: NetworkFindings, paint: Paint): string {
  const table = columns([head, ...upstreams.map(rowOf)])
    .trimEnd()
    .split('\n');
  const lines = table.map((text, index) => {
    const found = upstreams[index - 1];
    return found === undefined
      ? paint('dim', text)
      : text.replace(markOf(found), paint(colourOf(found), markOf(found)));
  });
  const problems = upstreams.flatMap((found) => problemLines(found.name, found, paint));
  return `${[`${printableInLine(name)} (${slug}), chain ${chainId}`, ...lines, ...problems].join('\n')}\n`;
}

function rowOf(found: UpstreamFindings): string[] {
  const { name, tlsDays, head: newest, latencyMs, webSocketMs } = found;
  return [
    markOf(found),
    name,
    tlsDays === undefined ? '-' : `${tlsDays} d`,
    newest === undefined ? '-' : String(newest.number),
    newest === undefined ? '-' : `${newest.ageS} s`,
    milliseconds(latencyMs),
    historyOf(found),
    milliseconds(webSocketMs),
  ];
}

function historyOf({ history }: UpstreamFindings): string {
  if (history === undefined) return '-';
  if (history === 'all') return 'archive';
  return history === 0 ? 'newest' : `> ${history} blocks`;
}

function redisOf(found: RedisFindings, paint: Paint): string {
  const facts = [found.version, milliseconds(found.latencyMs), found.persistence].filter((fact) => fact !== undefined);
  const line = `${paint(colourOf(found), markOf(found))} Redis ${found.version === undefined ? '' : facts.join(', ')}`;
  return `${[line.trimEnd(), ...problemLines('Redis', found, paint)].join('\n')}\n`;
}

function problemLines(of: string, found: UpstreamFindings | RedisFindings, paint: Paint): string[] {
  const name = printableInLine(of);
  return [
    ...found.problems.map((problem) => paint('red', `  ${name}: ${printableInLine(problem)}`)),
    ...found.notes.map((note) => paint('yellow', `  ${name}: ${printableInLine(note)}`)),
  ];
}

function markOf({ problems, notes }: Pick<UpstreamFindings, 'problems' | 'notes'>): string {
  return problems.length > 0 ? '✗' : notes.length > 0 ? '!' : '✓';
}

function colourOf(found: Pick<UpstreamFindings, 'problems' | 'notes'>): Colour {
  return found.problems.length > 0 ? 'red' : found.notes.length > 0 ? 'yellow' : 'green';
}

function milliseconds(timeMs: number | undefined): string {
  return timeMs === undefined ? '-' : `${timeMs < 10 ? timeMs.toFixed(1) : Math.round(timeMs)} ms`;
}
