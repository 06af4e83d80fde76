/** The cells of one row. */
export type TableRow = readonly string[];

/** A Markdown table in Prettier's format. The first row is the head. */
export function table([head = [], ...rows]: readonly TableRow[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: TableRow): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

export function code(value: string | number): string {
  return `\`${value}\``;
}
