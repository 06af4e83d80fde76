/** What an attacker has done. Its process sends it to the test at the end. */
export interface TrafficReport {
  readonly connections: number;
  readonly bytes: number;
  /** Number of responses by HTTP status, of those that the attacker reads. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Responses that no gateway may give. */
  readonly violations: readonly string[];
}

const MAX_VIOLATIONS = 10;

/** Counts what an attacker sends and receives, as evidence that the attack has taken place. */
export class Traffic {
  #connections = 0;
  #bytes = 0;
  readonly #statuses: Record<string, number> = {};
  readonly #violations = new Set<string>();

  opened(): void {
    this.#connections++;
  }

  sent(bytes: number): void {
    this.#bytes += bytes;
  }

  received(status: string | number): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }

  violation(text: string): void {
    if (this.#violations.size < MAX_VIOLATIONS) this.#violations.add(text);
  }

  report(): TrafficReport {
    const [connections, bytes, statuses] = [this.#connections, this.#bytes, this.#statuses];
    return { connections, bytes, statuses, violations: [...this.#violations] };
  }
}
