import { printableInLine } from './printable.ts';

/** Makes a table of text: a line for each row, with columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(printableInLine));
  const width = (column: number): number => Math.max(...lines.map((cells) => cells[column]?.length ?? 0));
  const padded = lines.map((cells) => cells.map((cell, at) => cell.padEnd(width(at))).join('  '));
  return padded.map((line) => `${line.trimEnd()}\n`).join('');
}

/** To the minute, in UTC. */
export function shortTime(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '-' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
