import type { NestedError } from './nested-errors.ts';

const SECOND_MS = 1_000;

/** Where providers say how long to wait, when they do not say it in `Retry-After`. */
const fields: readonly { readonly path: readonly string[]; readonly client: string; readonly source: string }[] = [
  { path: ['rate', 'backoff_seconds'], client: 'Infura', source: 'INFURA/infura#201' },
  { path: ['try_again_in'], client: 'Chainstack', source: 'Chainstack docs, limits' },
  { path: ['retry_after'], client: 'providers behind Cloudflare', source: 'Cloudflare docs, error 1015' },
];

/** "retry in 10s" (Ankr), "try again in 2 seconds", "retry after 500ms". */
const inWords = /\b(?:retry|again) (?:in|after) (?<amount>\d{1,6}(?:\.\d+)?) ?(?<unit>ms|m\b|s|minute)?/i;

/** How long a rate limit's words ask to wait, in milliseconds. */
export function retryHint(nestedErrors: readonly NestedError[]): number | undefined {
  for (const { message, data } of nestedErrors) {
    for (const { path } of fields) {
      const ms = durationMs(at(data, path));
      if (ms !== undefined) return ms;
    }
    const { amount, unit } = inWords.exec(message)?.groups ?? {};
    const ms = amount === undefined ? undefined : durationMs(`${amount}${unit ?? 's'}`);
    if (ms !== undefined) return ms;
  }
  return undefined;
}

function at(data: unknown, path: readonly string[]): unknown {
  let value = data;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** Seconds, or a number with a unit. No time at all is no hint. */
function durationMs(value: unknown): number | undefined {
  const { amount, unit = 's' } = /^(?<amount>\d+(?:\.\d+)?) ?(?<unit>ms|m|s)?/.exec(String(value))?.groups ?? {};
  if (amount === undefined) return undefined;
  const ms = Number(amount) * { ms: 1, s: SECOND_MS, m: 60 * SECOND_MS }[unit as 'ms' | 's' | 'm'];
  return ms > 0 ? ms : undefined;
}
