import { printableInLine } from './printable.ts';

/** Makes a table of text: a line for each row, with columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(printableInLine));
  const width = (column: number): number => Math.max(...lines.map((cells) => cells[column]?.length ?? 0));
  const padded = lines.map((cells) => cells.map((cell, at) => cell.padEnd(width(at))).join('  '));
  return padded.map((line) => `${line.trimEnd()}\n`).join('');
}

export interface ListOptions {
  readonly json?: true;
  readonly csv?: true;
}

/** Text of a list: `data` as JSON, or its rows as CSV (RFC 4180, with line feeds) or as a table. @param none in place of an empty table */
export function listText(
  { json, csv }: ListOptions,
  data: unknown,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
): string {
  if (json) return `${JSON.stringify(data)}\n`;
  if (csv) return [head, ...rows].map((cells) => `${cells.map(csvCell).join(',')}\n`).join('');
  return (rows.length === 0 ? none : undefined) ?? columns([head.map((name) => name.toUpperCase()), ...rows]);
}

/** A text that a table calculator would run begins with an apostrophe. */
function csvCell(cell: string): string {
  const text = cell === '-' ? '' : /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Time to the minute, in UTC. */
export function shortTime(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '-' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
