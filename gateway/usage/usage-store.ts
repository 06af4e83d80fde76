/** How long the usage of a day is kept. */
export const usageRetentionDays = 90;

/** What a key did: calls, their weights where an upstream was asked, those answered with an error, bytes of answers. */
export interface Amounts {
  calls: number;
  units: number;
  errors: number;
  bytes: number;
}

export const amountNames = ['calls', 'units', 'errors', 'bytes'] as const satisfies (keyof Amounts)[];

/** Those of a key at `<network> <method>`. */
export interface PlacedAmounts extends Readonly<Amounts> {
  readonly place: string;
}

/** What one key did in about a second, or in ten where there are thousands. */
export interface UsageBatch {
  /** A key's id. */
  readonly key: string;
  /** `2026-01-31`, in UTC. */
  readonly day: string;
  /** Rises from batch to batch of this process, so that one that is given again is known. */
  readonly number: number;
  /** A place may stand in it twice. */
  readonly amounts: readonly PlacedAmounts[];
}

export interface UsageRow extends Amounts {
  readonly day: string;
  readonly network: string;
  readonly method: string;
}

/** Where usage is kept, by key and day. */
export interface UsageStore {
  /** Whether `add` has a chance at the moment. */
  readonly isUp: boolean;
  /**
   * Adds each batch once, however often it is given. Never rejects.
   * @returns those that are not known to be kept, to be given again
   */
  add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]>;
  /** By day, network and method. @throws KeyStoreUnreachable, or what the system says of a file */
  read(key: string, days: readonly string[]): Promise<UsageRow[]>;
  /** Waits until it can be asked, for `limitMs` at most. */
  waitUntilReady(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export function newAmounts(): Amounts {
  return { calls: 0, units: 0, errors: 0, bytes: 0 };
}

/** `<network> <method> <calls> <units> <errors> <bytes>`, as stores are given it. */
export function textOf({ place, calls, units, errors, bytes }: PlacedAmounts): string {
  return `${place} ${calls} ${units} ${errors} ${bytes}`;
}

/** A row of `<network> <method>` on a day. */
export function rowOf(day: string, place: string, amounts: Readonly<Amounts>): UsageRow {
  const [network = '', method = ''] = place.split(' ');
  return { day, network, method, ...amounts };
}

export function byDayAndMethod(a: UsageRow, b: UsageRow): number {
  return a.day.localeCompare(b.day) || a.network.localeCompare(b.network) || a.method.localeCompare(b.method);
}

/** The last so many days in UTC, today included, oldest first. */
export function lastDays(count: number, now = Date.now()): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(now - (count - 1 - index) * 86_400_000));
}

export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
