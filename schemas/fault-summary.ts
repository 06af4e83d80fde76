import type { TableRow } from './markdown-table.ts';

/** Kinds of upstream faults, by the prefix of a fault's name. */
const prefixes = { TLS: 'TLS of an upstream', WebSocket: 'WebSocket upstream' } as const;
const others = 'HTTP upstream: connection, response, chain';

/** A summary of the tables in docs/measured/faults.md: for each kind of fault, the median and the maximum of all its faults. */
export function faultSummary(page: string): TableRow[] {
  const faults = rowsOf(page, 'upstreams');
  const upstreams = [others, ...Object.values(prefixes)].map((kind) => {
    const own = faults.filter(([name = '']) => kindOf(name) === kind);
    return [kind, String(own.length), ...[1, 2, 5].map((column) => times(own, column))];
  });
  const redis = rowsOf(page, 'redis');
  const keysSeen = [1, 2].map((column) => times(redis, column));
  return [
    ['component', 'faults', 'correct response after', 'next call', 'response without another upstream'],
    ...upstreams,
    ['Redis', String(redis.length), ...keysSeen, `${times(redis, 4)}, for a key not cached`],
  ];
}

function kindOf(name: string): string {
  const [prefix = '', rest] = name.split(': ');
  return (rest === undefined ? undefined : (prefixes as Readonly<Record<string, string>>)[prefix]) ?? others;
}

/** The rows of a table between its comments, without the heading. */
function rowsOf(page: string, name: string): TableRow[] {
  const [, section = ''] = page.split(`<!-- ${name} -->`);
  const lines = (section.split('<!--')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  if (lines.length < 3) throw new Error(`docs/measured/faults.md has no table ${name}`);
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** Median and maximum of cells such as `3.4 ms`. */
function times(rows: readonly TableRow[], column: number): string {
  const sorted = rows.map((cells) => Number.parseFloat(cells[column] ?? '')).sort((a, b) => a - b);
  const [median = NaN, max = NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `${write(median)}, max ${write(max)} ms`;
}

function write(ms: number): string {
  return ms < 9.5 ? ms.toFixed(1) : ms.toFixed(0);
}
