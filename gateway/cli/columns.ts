/** Control characters without line feed and tab, and characters that change the order or the lines of a text. */
const obeyed = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** A text for a terminal: of the characters that a terminal obeys, only line feeds and tabs stay. Others become JSON escapes. */
export function printable(text: string): string {
  return text.replace(obeyed, escapeOf);
}

/** Text within a line, such as a name, with what a terminal can show. */
export function printableInLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Cells of a row; undefined: nothing, which is `-` in a table and empty in CSV. */
type Row = readonly (string | undefined)[];

/** Makes a table of text: a line for each row, with columns of equal width. */
export function columns(rows: readonly Row[]): string {
  const lines = rows.map((cells) => cells.map((cell = '-') => printableInLine(cell)));
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
  rows: readonly Row[],
  none?: string,
): string {
  if (json) return `${JSON.stringify(data)}\n`;
  if (csv) return [head, ...rows].map((cells) => `${cells.map(csvCell).join(',')}\n`).join('');
  return (rows.length === 0 ? none : undefined) ?? columns([head.map((name) => name.toUpperCase()), ...rows]);
}

/** Makes a cell of printable text. One that a table calculator would run begins with an apostrophe. */
function csvCell(cell = ''): string {
  const text = printable(/^[=+\-@\t\r\n]/.test(cell) && cell !== '-' ? `'${cell}` : cell);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Time to the minute, in UTC; `-` for a text that is no time. */
export function shortTime(iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '-' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
