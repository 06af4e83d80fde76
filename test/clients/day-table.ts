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
