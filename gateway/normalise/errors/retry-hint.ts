import type { NestedError } from './nested-errors.ts';

const SECOND_MS = 1_000;
/** Text is weaker evidence than the header `Retry-After`. */
const MAX_HINT_MS = 30_000;

/** Members of `error.data` in which providers give the waiting time, in place of `Retry-After`. */
export const retryHintFields: readonly {
  readonly path: readonly string[];
  readonly client: string;
  readonly source: string;
}[] = [
  { path: ['rate', 'backoff_seconds'], client: 'Infura', source: 'INFURA/infura#201' },
  { path: ['try_again_in'], client: 'Chainstack', source: 'Chainstack docs, limits' },
];

/** "retry in 10s" (Ankr), "try again in 2 seconds", "retry after 500ms". */
const hintInMessage = /\b(?:retry|again) (?:in|after) (?<amount>\d{1,6}(?:\.\d+)?) ?(?<unit>ms|m\b|s|minute)?/i;

/** Finds the waiting time in the text or data of a rate limit error, in ms: 30 s at most. */
export function findRetryHint(nestedErrors: readonly NestedError[]): number | undefined {
  const ms = findHint(nestedErrors);
  return ms === undefined ? undefined : Math.min(ms, MAX_HINT_MS);
}

function findHint(nestedErrors: readonly NestedError[]): number | undefined {
  for (const { message, data } of nestedErrors) {
    for (const { path } of retryHintFields) {
      const ms = parseDurationMs(valueAt(data, path));
      if (ms !== undefined) return ms;
    }
    const { amount, unit } = hintInMessage.exec(message)?.groups ?? {};
    const ms = amount === undefined ? undefined : parseDurationMs(`${amount}${unit ?? 's'}`);
    if (ms !== undefined) return ms;
  }
  return undefined;
}

function valueAt(data: unknown, path: readonly string[]): unknown {
  let value = data;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** Parses seconds, or a number with a unit. Zero is not a hint. */
function parseDurationMs(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const { amount, unit = 's' } = /^(?<amount>\d+(?:\.\d+)?) ?(?<unit>ms|m|s)?/.exec(String(value))?.groups ?? {};
  if (amount === undefined) return undefined;
  const ms = Number(amount) * { ms: 1, s: SECOND_MS, m: 60 * SECOND_MS }[unit as 'ms' | 's' | 'm'];
  return ms > 0 ? ms : undefined;
}
