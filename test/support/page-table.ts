import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/*
 * Tables in pages for people that are made by tests and measurements: between `<!-- name -->` and `<!-- end of name -->`.
 */

/** The cells of each row, those of the heading first. */
export function readTable(file: string, name: string): string[][] {
  const { table } = parts(file, name);
  const lines = table.split('\n').filter((line) => line.startsWith('|'));
  const cellsOf = (line: string): string[] =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
  return lines.map(cellsOf).filter((cells) => !cells.every((cell) => /^-+$/.test(cell)));
}

/** @param command made it, which is told in a line above with the machine and the day */
export function writeTable(file: string, name: string, rows: readonly (readonly string[])[], command: string): void {
  const where = `${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}`;
  const made = `\`${command}\` on ${where}, ${new Date().toISOString().slice(0, 10)}.`;
  const [heading = [], ...rest] = rows;
  const lines = [heading, heading.map(() => '---'), ...rest].map((cells) => `| ${cells.join(' | ')} |`);
  const { before, after } = parts(file, name);
  writeFileSync(file, `${before}<!-- ${name} -->\n\n${made}\n\n${lines.join('\n')}\n\n<!-- end of ${name} -->${after}`);
}

function parts(file: string, name: string): { before: string; table: string; after: string } {
  const [before = '', rest] = readFileSync(file, 'utf8').split(`<!-- ${name} -->`);
  const [table = '', after] = rest?.split(`<!-- end of ${name} -->`) ?? [];
  if (after === undefined) throw new Error(`${file} has no place for the table ${name}`);
  return { before, table, after };
}
