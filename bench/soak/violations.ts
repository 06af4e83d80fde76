/** What the soak asserts of every gateway. */
export const violationKinds = {
  'older-read': 'a read is older than one that was served before',
  lag: '`latest` is too far behind the best live upstream',
  null: 'null for an object that exists and was served',
  error: 'a permanent error for an object that exists, or for a read at a tag',
  failed: 'no response although an upstream could serve the call',
  replaced: 'a block that no upstream has had for a while',
  wrong: 'a response that no upstream could have given',
  'logs-gap': 'the logs of a range are not complete',
  removed: '`removed: true` for a log whose block was not replaced, or that was not delivered',
  'not-removed': 'logs of a replaced block are not removed before those of its successor',
  'head-twice': 'a head is delivered again although it was not replaced',
  'head-missing': 'a head is not delivered',
  'log-twice': 'a log is delivered again although it was not removed',
  'log-missing': 'a log is not delivered',
  unanswered: 'a call without exactly one response',
} as const;

export type ViolationKind = keyof typeof violationKinds;

export interface Violation {
  readonly kind: ViolationKind;
  readonly at: number;
  /** The call or the subscription. */
  readonly of: string;
  readonly expected: string;
  readonly came: string;
}

const MAX_TEXT = 160;

/** Counts violations by kind, and keeps the first ones of each kind. */
export class Violations {
  readonly #maxShown: number;
  readonly #startedAt: number;
  readonly #onShown: (text: string) => void;
  readonly #found = new Map<ViolationKind, { count: number; readonly shown: Violation[] }>();

  /** @param onShown is called with a description of the first violations of each kind */
  constructor(maxShown: number, startedAt: number, onShown: (text: string) => void) {
    this.#maxShown = maxShown;
    this.#startedAt = startedAt;
    this.#onShown = onShown;
  }

  add(violation: Violation): void {
    const found = this.#found.get(violation.kind) ?? { count: 0, shown: [] };
    this.#found.set(violation.kind, found);
    found.count++;
    if (found.shown.length >= this.#maxShown) return;
    found.shown.push(violation);
    const { kind, at, of, expected, came } = violation;
    this.#onShown(
      `${((at - this.#startedAt) / 1_000).toFixed(2)} s ${kind}: ${cut(of)}: expected ${cut(expected)}, came ${cut(came)}`,
    );
  }

  get total(): number {
    return [...this.#found.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** The kinds that occurred. */
  get kinds(): ViolationKind[] {
    return [...this.#found.keys()];
  }

  /** One line per kind that occurred. */
  summary(): string[] {
    return [...this.#found].map(([kind, { count }]) => `${count} × ${kind}: ${violationKinds[kind]}`);
  }
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
