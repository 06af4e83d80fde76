import { isAddressRange } from './address-ranges.ts';

/** A row of `settings.ts`. */
export interface SettingRow {
  /** An amount is 0 or more, a count is 1 or more. */
  readonly type: 'string' | 'port' | 'count' | 'amount' | 'ranges' | 'token' | readonly string[];
  readonly default: string | number | undefined;
  readonly meaning: string;
  /** The value has a credential. */
  readonly isSecret?: true;
}

/** A shorter admin token could be guessed. */
const MIN_TOKEN_CHARS = 16;

/** Node's timers fire at once above 2³¹ - 1 ms, and the timer of the drain is twice its setting. */
const MAX_COUNT = 1_000_000_000;

/** Reads the value of a setting. Adds a message without the value to `problems` if it is invalid. */
export function parseSetting(
  row: SettingRow & { readonly name: string },
  given: string,
  problems: string[],
): string | number | undefined {
  if (row.type === 'string') return given;
  if (row.type === 'token') {
    // The characters of a bearer token in a header (RFC 6750 §2.1).
    if (!/^[A-Za-z0-9._~+/-]+=*$/.test(given) || given.length < MIN_TOKEN_CHARS) {
      problems.push(`${row.name}: expected ${MIN_TOKEN_CHARS} characters or more, of letters, digits and -._~+/`);
    }
    return given;
  }
  if (row.type === 'ranges') {
    if (!rangesIn(given).every(isAddressRange)) {
      problems.push(`${row.name}: expected addresses and ranges such as 10.0.0.0/8, separated by commas`);
    }
    return given;
  }
  if (Array.isArray(row.type)) {
    if (!row.type.includes(given)) problems.push(`${row.name}: expected one of ${row.type.join(', ')}`);
    return given;
  }
  const number = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  const min = row.type === 'count' ? 1 : 0;
  if (row.type === 'port') {
    if (!(number <= 65_535)) problems.push(`${row.name}: expected a port from 0 to 65535`);
  } else if (!(number >= min && number <= MAX_COUNT)) {
    problems.push(`${row.name}: expected a whole number from ${min} to ${MAX_COUNT}`);
  }
  return number;
}

/** The items of a setting of the type `ranges`. */
export function rangesIn(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((range) => range.trim());
}
