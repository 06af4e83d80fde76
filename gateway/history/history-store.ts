import { valuesFrom, type HistoryPoint, type HistoryRange } from '../metrics/long-history.ts';

/** The history of a network, with that of its upstreams. */
export interface ReadHistory {
  /** In no order; a step of which nothing is known is left out. */
  readonly points: readonly HistoryPoint[];
  /** Whether other gateways share the history, but cannot be included, because Redis is unavailable. */
  readonly isPartial: boolean;
}

/** Stores what networks and upstreams did over 1 h, 24 h and 7 d. A failure is logged and is never that of a caller. */
export interface HistoryStore {
  /** @param network its slug */
  read(range: HistoryRange, network: string): Promise<ReadHistory>;
  /** Resolves when everything is written, or cannot be. */
  close(): Promise<void>;
}

/** As JSON. An unknown lag is null. */
export function pointText({ at, names, values }: HistoryPoint, writer?: string): string {
  return JSON.stringify([at, names, [...values], ...(writer === undefined ? [] : [writer])]);
}

/** @returns undefined for a text of another form, such as a line that was not written completely */
export function parsePoint(text: string): HistoryPoint | undefined {
  try {
    const [at, names, values] = JSON.parse(text) as [unknown, unknown, unknown];
    if (typeof at !== 'number' || !Array.isArray(names) || !names.every((name) => typeof name === 'string'))
      return undefined;
    if (!Array.isArray(values)) return undefined;
    const numbers = values.map((value) => (typeof value === 'number' ? value : NaN));
    const read = valuesFrom(numbers, names.length);
    return read && { at, names, values: read };
  } catch {
    return undefined;
  }
}
