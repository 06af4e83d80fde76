import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';

const page = join(packageRoot, 'docs/clients.md');
const [start, end] = ['<!-- days -->', '<!-- end of days -->'];

/** What a day is made of, in the words of docs/clients.md. */
export const steps = [
  ...(['reads', 'estimates', 'sends', 'does not see restarts', 'hears of blocks', 'hears of logs'] as const),
  ...(['when limited', 'when no upstream answers', 'does without'] as const),
];

/** What each client was seen to do. */
export class DayTable {
  readonly #cells = new Map<string, Map<string, string>>();

  note(client: string, step: (typeof steps)[number], cell: string): void {
    const own = this.#cells.get(client) ?? new Map<string, string>();
    this.#cells.set(client, own.set(step, cell));
  }

  /** A row for each client, in this order, under the headings. */
  rows(clients: readonly string[]): string[][] {
    const cellsOf = (name: string): string[] => steps.map((step) => this.#cells.get(name)?.get(step) ?? 'fails');
    return [['client', ...steps], ...clients.map((name) => [name, ...cellsOf(name)])];
  }
}

/** The rows in docs/clients.md. */
export function readDays(): string[][] {
  const [, rest = ''] = readFileSync(page, 'utf8').split(start);
  const lines = (rest.split(end)[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  const rows = lines.map((line) => line.slice(1, -1).split('|').map((cell) => cell.trim())); // prettier-ignore
  return rows.filter(([first]) => !/^-+$/.test(first ?? ''));
}

export function writeDays([heading = [], ...rows]: readonly string[][]): void {
  const [before = '', rest = ''] = readFileSync(page, 'utf8').split(start);
  const lines = [heading, heading.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  writeFileSync(page, `${before}${start}\n\n${lines.join('\n')}\n\n${end}${rest.split(end)[1] ?? ''}`);
}
