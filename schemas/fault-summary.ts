type Row = readonly string[];

/** What a fault of an upstream is of, by the beginning of its name. */
const prefixes = { TLS: 'TLS of an upstream', WebSocket: 'WebSocket upstream' } as const;
const others = 'HTTP upstream: connection, reply, chain';

/** Of docs/faults.md, the results in short: of each kind the median and the longest of all ways to fail. */
export function faultSummary(page: string): Row[] {
  const faults = rowsOf(page, 'upstreams');
  const upstreams = [others, ...Object.values(prefixes)].map((kind) => {
    const own = faults.filter(([name = '']) => kindOf(name) === kind);
    return [kind, String(own.length), ...[1, 2, 5].map((column) => times(own, column))];
  });
  const redis = rowsOf(page, 'redis');
  const keysSeen = [1, 2].map((column) => times(redis, column));
  return [
    ['what fails', 'ways', 'right answer after', 'the next call', 'answer, where there is no other'],
    ...upstreams,
    ['Redis', String(redis.length), ...keysSeen, `${times(redis, 4)}, for keys not seen before`],
  ];
}

function kindOf(name: string): string {
  const [prefix = '', rest] = name.split(': ');
  return (rest === undefined ? undefined : (prefixes as Readonly<Record<string, string>>)[prefix]) ?? others;
}

/** How long callers wait for the right answer when the first upstream dies. */
export function failoverSummary(page: string): Row[] {
  const rows = rowsOf(page, 'failover').map((cells) => cells.slice(0, 5));
  return [['the first upstream', 'through', 'p50', 'p99', 'worst'], ...rows];
}

/** Without its heading. */
function rowsOf(page: string, name: string): Row[] {
  const [, section = ''] = page.split(`<!-- ${name} -->`);
  const lines = (section.split('<!--')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  if (lines.length < 3) throw new Error(`docs/faults.md has no table ${name}`);
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** Of cells such as `3.4 ms`. */
function times(rows: readonly Row[], column: number): string {
  const sorted = rows.map((cells) => Number.parseFloat(cells[column] ?? '')).sort((a, b) => a - b);
  const [median = NaN, most = NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `${write(median)}, at most ${write(most)} ms`;
}

function write(ms: number): string {
  return ms < 9.5 ? ms.toFixed(1) : ms.toFixed(0);
}
