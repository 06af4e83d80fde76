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
  { name, type }: SettingRow & { readonly name: string },
  given: string,
  problems: string[],
): string | number {
  const problem = problemOf(type, given);
  if (problem !== undefined) problems.push(`${name}: ${problem}`);
  return ['ratio', 'port', 'count', 'amount'].includes(String(type)) ? Number(given) : given;
}

/** @returns undefined if the text is valid */
function problemOf(type: SettingRow['type'], text: string): string | undefined {
  const expect = (isValid: boolean, what: string): string | undefined => (isValid ? undefined : `expected ${what}`);
  const isWhole = (min: number, max: number): boolean =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max;
  switch (type) {
    case 'string':
      return undefined;
    case 'port':
      return expect(isWhole(0, 65_535), 'a port from 0 to 65535');
    case 'count':
      return expect(isWhole(1, MAX_COUNT), `a whole number from 1 to ${MAX_COUNT}`);
    case 'amount':
      return expect(isWhole(0, MAX_COUNT), `a whole number from 0 to ${MAX_COUNT}`);
    case 'ratio':
      return expect(/^\d(\.\d{1,9})?$/.test(text) && Number(text) <= 1, 'a number from 0 to 1');
    case 'ranges':
      return expect(
        itemsIn(text).every(isAddressRange),
        'addresses and ranges such as 10.0.0.0/8, separated by commas',
      );
    case 'token':
      return expect(isToken(text), `${MIN_TOKEN_CHARS} characters or more, of letters, digits and -._~+/`);
    case 'tokens':
      return problemOfTokens(text);
    case 'url': {
      const { protocol = '', username = '', password = '' } = parseUrl(text) ?? {};
      const problem = expect(/^https?:$/.test(protocol), 'a URL that begins with https:// or http://');
      return (
        problem ??
        expect(username + password === '', 'a URL without user and password: put a credential in its path or query')
      );
    }
    default:
      return expect(type.includes(text), `${type.length === 1 ? '' : 'one of '}${type.join(', ')}`);
  }
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
