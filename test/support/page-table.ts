import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/*
 * Reads and writes the tables in docs/ that tests and measurements generate. A table is between `<!-- name -->` and
 * `<!-- end of name -->`.
 */

/** The cells of each row. The heading is the first row. */
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

/** Writes a table with a line above it: the command that generated it, the machine and the date. */
export function writeTable(file: string, name: string, rows: readonly (readonly string[])[], command: string): void {
  const machine = `${cpus()[0]?.model ?? 'unknown CPU'} × ${cpus().length}, Node ${process.version}`;
  const source = `\`${command}\` on ${machine}, ${new Date().toISOString().slice(0, 10)}.`;
  const [heading = [], ...rest] = rows;
  const lines = [heading, heading.map(() => '---'), ...rest].map((cells) => `| ${cells.join(' | ')} |`);
  const { before, after } = parts(file, name);
  writeFileSync(
    file,
    `${before}<!-- ${name} -->\n\n${source}\n\n${lines.join('\n')}\n\n<!-- end of ${name} -->${after}`,
  );
}

function parts(file: string, name: string): { before: string; table: string; after: string } {
  const [before = '', rest, ...others] = readFileSync(file, 'utf8').split(`<!-- ${name} -->`);
  const [table = '', after, ...more] = rest?.split(`<!-- end of ${name} -->`) ?? [];
  if (after === undefined || others.length + more.length > 0)
    throw new Error(`${file} needs the markers of the table ${name}, once`);
  return { before, table, after };
}
