/** A member that another reader of the same JSON may take for another one, or read another value of. */
export class MemberFault extends Error {
  override readonly name = 'MemberFault';
  /** The known name, never the caller's text. */
  readonly member: string;
  /** Whether it differs from the known name in case only; else it stands in the object twice. */
  readonly isVariant: boolean;
  /** Where the object stands: names and indexes, outermost first. */
  readonly path: (string | number)[] = [];

  constructor(member: string, isVariant: boolean) {
    super(member);
    this.member = member;
    this.isVariant = isVariant;
  }
}

/** An escaped character takes up to six: `\u0074`. */
const ESCAPED_MAX = 6;
const BACKSLASH = 92;
/** One bit each in `seen`. */
const NAMES_MAX = 31;

/**
 * The names of an object's members that are read, found in JSON text. JSON.parse takes `To` for another name than `to`, and
 * of two members of one name shows the last. Go's encoding/json (geth, erigon) takes both for `to`, and the last one wins.
 */
export class MemberNames {
  readonly names: readonly string[];
  readonly #quoted: readonly string[];
  readonly #folded: readonly string[];
  readonly #lengthMax: number;

  /** @param names of ASCII letters */
  constructor(names: readonly string[]) {
    if (names.length > NAMES_MAX) throw new Error(`an object with more than ${NAMES_MAX} known members`);
    this.names = names;
    this.#quoted = names.map((name) => JSON.stringify(name));
    this.#folded = names.map((name) => name.toLowerCase());
    this.#lengthMax = Math.max(0, ...names.map((name) => name.length));
  }

  /**
   * The index of a known name; -1: the name is another one.
   * @param start at the opening quote of the name
   * @param end behind its closing quote
   * @param seen bits of the names that the object had so far
   * @throws MemberFault
   */
  find(text: string, start: number, end: number, seen: number): number {
    const quoted = this.#quoted;
    for (let index = 0; index < quoted.length; index++) {
      const name = quoted[index] as string;
      if (name.length === end - start && text.startsWith(name, start)) return this.#once(index, seen);
    }
    return this.#findUnusual(text, start, end, seen);
  }

  /** An escaped name, one in another case, or one that is not known. No string is made of the usual unknown name. */
  #findUnusual(text: string, start: number, end: number, seen: number): number {
    const length = end - start - 2;
    if (length > this.#lengthMax * ESCAPED_MAX) return -1;
    if (!hasBackslash(text, start, end)) return this.#notVariant(text, start + 1, length);
    const name = JSON.parse(text.slice(start, end)) as string;
    const index = this.names.indexOf(name);
    return index === -1 ? this.#notVariant(name, 0, name.length) : this.#once(index, seen);
  }

  /** @returns -1: the name that begins here is not known @throws MemberFault where only its case is another one */
  #notVariant(text: string, start: number, length: number): number {
    const all = this.#folded;
    for (let index = 0; index < all.length; index++) {
      const folded = all[index] as string;
      if (folded.length === length && isFolded(text, start, folded))
        throw new MemberFault(this.names[index] ?? '', true);
    }
    return -1;
  }

  #once(index: number, seen: number): number {
    if ((seen & (1 << index)) !== 0) throw new MemberFault(this.names[index] ?? '', false);
    return index;
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

/** As Go compares names (encoding/json, fold.go): besides ASCII letters, U+017F is an s and U+212A is a k. */
function fold(code: number): number {
  if (code >= 65 && code <= 90) return code + 32;
  if (code === 0x17f) return 115;
  return code === 0x212a ? 107 : code;
}
