import { BACKSLASH } from './json-text.ts';

/** A member that another JSON parser may read differently: a known name in another case, or a duplicate. */
export class MemberFault extends Error {
  override readonly name = 'MemberFault';
  /** The name in the schema, never the caller's text. */
  readonly member: string;
  /** True: the name differs from the known name in case only. False: the member is in the object twice. */
  readonly isVariant: boolean;
  /** The path of the object: names and indexes, outermost first. */
  readonly path: (string | number)[] = [];

  constructor(member: string, isVariant: boolean) {
    super(member);
    this.member = member;
    this.isVariant = isVariant;
  }
}

/** An escaped character takes up to six characters: `\u0074`. */
const MAX_ESCAPED_CHARS = 6;
/** Each name has one bit in `seen`. */
const MAX_NAMES = 31;

/**
 * Finds the known members of an object in JSON text, and detects variants and duplicates of their names. JSON.parse takes
 * `To` and `to` for two members, and returns the last of two members `to`. Go's encoding/json (geth, erigon) takes both
 * spellings for `to`, and the last one wins.
 */
export class MemberNames {
  readonly names: readonly string[];
  readonly #quoted: readonly string[];
  readonly #folded: readonly string[];
  readonly #maxLength: number;

  /** @param names of ASCII letters */
  constructor(names: readonly string[]) {
    if (names.length > MAX_NAMES) throw new Error(`an object with more than ${MAX_NAMES} known members`);
    this.names = names;
    this.#quoted = names.map((name) => JSON.stringify(name));
    this.#folded = names.map((name) => name.toLowerCase());
    this.#maxLength = Math.max(0, ...names.map((name) => name.length));
  }

  /**
   * The index of a known name, or -1.
   * @param start at the opening quote of the name
   * @param end after its closing quote
   * @param seen bits of the names found in the object so far
   * @throws MemberFault
   */
  find(text: string, start: number, end: number, seen: number): number {
    const quoted = this.#quoted;
    for (let index = 0; index < quoted.length; index++) {
      const name = quoted[index] as string;
      if (name.length !== end - start || !text.startsWith(name, start)) continue;
      if ((seen & (1 << index)) !== 0) throw this.#duplicate(index);
      return index;
    }
    return this.#findUnusual(text, start, end, seen);
  }

  /** The first member whose name differs from a known one in case only. @param object without duplicates */
  findVariant(object: object): MemberFault | undefined {
    for (const name in object) {
      if (this.names.includes(name)) continue;
      const variant = this.#variantOf(name, 0, name.length);
      if (variant !== undefined) return new MemberFault(variant, true);
    }
    return undefined;
  }

  /** For an escaped name, one in another case, or an unknown one. A usual unknown name allocates no string. */
  #findUnusual(text: string, start: number, end: number, seen: number): number {
    const length = end - start - 2;
    if (length > this.#maxLength * MAX_ESCAPED_CHARS) return -1;
    if (!hasBackslash(text, start, end)) return this.#rejectVariant(text, start + 1, length);
    const name = JSON.parse(text.slice(start, end)) as string;
    const index = this.names.indexOf(name);
    if (index === -1) return this.#rejectVariant(name, 0, name.length);
    if ((seen & (1 << index)) !== 0) throw this.#duplicate(index);
    return index;
  }

  /** @returns -1 if the name that starts here is unknown @throws MemberFault if it differs from a known one in case only */
  #rejectVariant(text: string, start: number, length: number): number {
    const variant = this.#variantOf(text, start, length);
    if (variant !== undefined) throw new MemberFault(variant, true);
    return -1;
  }

  /** The known name from which the name that starts here differs in case only. */
  #variantOf(text: string, start: number, length: number): string | undefined {
    const all = this.#folded;
    for (let index = 0; index < all.length; index++) {
      const folded = all[index] as string;
      if (folded.length === length && isFolded(text, start, folded)) return this.names[index];
    }
    return undefined;
  }

  #duplicate(index: number): MemberFault {
    return new MemberFault(this.names[index] ?? '', false);
  }
}

function hasBackslash(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text.charCodeAt(at) === BACKSLASH) return true;
  return false;
}

function isFolded(text: string, start: number, folded: string): boolean {
  for (let at = 0; at < folded.length; at++) {
    if (fold(text.charCodeAt(start + at)) !== folded.charCodeAt(at)) return false;
  }
  return true;
}

/** Case folding of Go (encoding/json, fold.go): besides ASCII letters, U+017F is an s and U+212A is a k. */
function fold(code: number): number {
  if (code >= 65 && code <= 90) return code + 32;
  if (code === 0x17f) return 115;
  return code === 0x212a ? 107 : code;
}
