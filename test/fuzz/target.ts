import type { Session } from './session.ts';

/** One of the three interfaces that the fuzzer sends to. */
export interface FuzzTarget {
  /** Network files by slug. */
  readonly networks: Readonly<Record<string, object>>;
  /** Plays what follows from the seed. @returns what is wrong */
  playRound(session: Session, seed: number): Promise<string[]>;
  /** What has happened so far, as evidence. */
  counts(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Counts by name. */
export class Counts {
  readonly #counts: Record<string, number> = {};

  add(name: string, count = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + count;
  }

  get all(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.#counts).sort());
  }
}

/** Does several things at once, in the order of the list. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** A text for a report, shortened. */
export function short(text: string, max = 600): string {
  return text.length > max ? `${text.slice(0, max)}… (${text.length} characters)` : text;
}
