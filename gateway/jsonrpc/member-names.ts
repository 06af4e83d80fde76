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
/** One bit each in `seen`. */
const NAMES_MAX = 31;

/**
 * The names of an object's members that are read, found in JSON text. JSON.parse takes `To` for another name than `to`, and
 * of two members of one name shows the last. Go's encoding/json (geth, erigon) takes both for `to`, and the last one wins.
 */
export class MemberNames {
  readonly names: readonly string[];
  readonly #quoted: readonly string[];
  readonly #byFolded: ReadonlyMap<string, string>;
  readonly #lengthMax: number;

  constructor(names: readonly string[]) {
    if (names.length > NAMES_MAX) throw new Error(`an object with more than ${NAMES_MAX} known members`);
    this.names = names;
    this.#quoted = names.map((name) => JSON.stringify(name));
    this.#byFolded = new Map(names.map((name) => [fold(name), name]));
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

  /** An escaped name, one in another case, or one that is not known. */
  #findUnusual(text: string, start: number, end: number, seen: number): number {
    if (end - start - 2 > this.#lengthMax * ESCAPED_MAX) return -1;
    let name = text.slice(start + 1, end - 1);
    if (name.includes('\\')) {
      name = JSON.parse(text.slice(start, end)) as string;
      const index = this.names.indexOf(name);
      if (index !== -1) return this.#once(index, seen);
    }
    const known = this.#byFolded.get(fold(name));
    if (known !== undefined) throw new MemberFault(known, true);
    return -1;
  }

  #once(index: number, seen: number): number {
    if ((seen & (1 << index)) !== 0) throw new MemberFault(this.names[index] ?? '', false);
    return index;
  }
}

/**
 * As Go compares names (encoding/json, fold.go): besides ASCII letters, U+017F is an s and U+212A is a k. Lower case makes
 * a k of the latter, and an ASCII letter of no other character.
 */
function fold(name: string): string {
  return name.toLowerCase().replaceAll('\u017f', 's');
}
