/** What a day is made of, in the words of docs/migration.md. */
export const steps = [
  ...(['reads', 'estimates', 'sends', 'survives failover', 'watches blocks', 'watches logs'] as const),
  ...(['at 429', 'at 503', 'unsupported methods'] as const),
];

/** What each client was seen to do. */
export class DayTable {
  readonly #cells = new Map<string, Map<string, string>>();

  logEntry(client: string, step: (typeof steps)[number], cell: string): void {
    const own = this.#cells.get(client) ?? new Map<string, string>();
    this.#cells.set(client, own.set(step, cell));
  }

  /** A row for each client, in this order, under the headings. */
  rows(clients: readonly string[]): string[][] {
    const cellsOf = (name: string): string[] => steps.map((step) => this.#cells.get(name)?.get(step) ?? 'fails');
    return [['client', ...steps], ...clients.map((name) => [name, ...cellsOf(name)])];
  }
}
