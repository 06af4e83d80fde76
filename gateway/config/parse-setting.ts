import { adminRoles } from './admin-tokens.ts';
import { isAddressRange } from './address-ranges.ts';
import { parseUrl } from './parse-url.ts';

/** A row of `settings.ts`. */
export interface SettingRow {
  /** An amount is 0 or more, a count is 1 or more, a ratio is from 0 to 1. */
  readonly type:
    'string' | 'port' | 'count' | 'amount' | 'ratio' | 'ranges' | 'token' | 'tokens' | 'url' | readonly string[];
  readonly default: string | number | undefined;
  readonly meaning: string;
  /** A bound of the whole machine, of which each worker has a part. */
  readonly isDivided?: true;
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
    if (!isToken(given)) {
      problems.push(`${row.name}: expected ${MIN_TOKEN_CHARS} characters or more, of letters, digits and -._~+/`);
    }
    return given;
  }
  if (row.type === 'url') {
    const { protocol = '', username = '', password = '' } = parseUrl(given) ?? {};
    if (!/^https?:$/.test(protocol)) problems.push(`${row.name}: expected a URL that begins with https:// or http://`);
    else if (username + password !== '')
      problems.push(`${row.name}: expected a URL without user and password: put a credential in its path or query`);
    return given;
  }
  if (row.type === 'tokens') {
    const problem = problemOfTokens(given);
    if (problem !== undefined) problems.push(`${row.name}: ${problem}`);
    return given;
  }
  if (row.type === 'ranges') {
    if (!itemsIn(given).every(isAddressRange)) {
      problems.push(`${row.name}: expected addresses and ranges such as 10.0.0.0/8, separated by commas`);
    }
    return given;
  }
  if (Array.isArray(row.type)) {
    if (!row.type.includes(given))
      problems.push(`${row.name}: expected ${row.type.length === 1 ? '' : 'one of '}${row.type.join(', ')}`);
    return given;
  }
  if (row.type === 'ratio') {
    const ratio = /^\d(\.\d{1,9})?$/.test(given) ? Number(given) : NaN;
    if (!(ratio <= 1)) problems.push(`${row.name}: expected a number from 0 to 1`);
    return ratio;
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

/** The items of a list, separated by commas. */
export function itemsIn(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((range) => range.trim());
}

/** The characters of a bearer token in a header (RFC 6750 §2.1). */
function isToken(text: string): boolean {
  return /^[A-Za-z0-9._~+/-]+=*$/.test(text) && text.length >= MIN_TOKEN_CHARS;
}

/** @param text `name:role:token`, separated by commas  @returns undefined if it is valid */
function problemOfTokens(text: string): string | undefined {
  const parts = itemsIn(text).map((item) => item.split(':'));
  for (const [index, [name = '', role = '', token = '', ...more]] of parts.entries()) {
    const at = `item ${index + 1}`;
    if (more.length > 0 || token === '') return `${at}: expected name:role:token`;
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(name) || name === 'admin') {
      return `${at}: expected a name of 1 to 40 letters, digits and ._-, other than admin`;
    }
    if (!(adminRoles as readonly string[]).includes(role)) return `${at}: expected a role of ${adminRoles.join(', ')}`;
    if (!isToken(token)) return `${at}: expected a token of ${MIN_TOKEN_CHARS} characters or more, as ADMIN_TOKEN`;
  }
  const isUnique = [0, 2].every((part) => new Set(parts.map((item) => item[part])).size === parts.length);
  return isUnique ? undefined : 'two items have the same name or token';
}
