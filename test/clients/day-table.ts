/** The columns of the table `days` in docs/clients.md. */
export const steps = [
  ...(['reads', 'estimates', 'sends', 'survives failover', 'watches blocks', 'watches logs'] as const),
  ...(['at 429', 'at 503', 'unsupported methods'] as const),
];

/** Collects the observed behaviour of each client for the table `days` in docs/clients.md. */
export class DayTable {
  readonly #cells = new Map<string, Map<string, string>>();

  set(client: string, step: (typeof steps)[number], cell: string): void {
    const own = this.#cells.get(client) ?? new Map<string, string>();
    this.#cells.set(client, own.set(step, cell));
  }

  /** The heading, and a row for each client in this order. A step without a result has `fails`. */
  rows(clients: readonly string[]): string[][] {
    const cellsOf = (name: string): string[] => steps.map((step) => this.#cells.get(name)?.get(step) ?? 'fails');
    return [['client', ...steps], ...clients.map((name) => [name, ...cellsOf(name)])];
  }
}
