import { isAt, type JsonReader } from './json-reader.ts';

/** A member that another JSON parser may read differently: a known name in another case, or a duplicate. */
export class MemberFault extends Error {
  override readonly name = 'MemberFault';
  /** The name in the schema, never the caller's text. */
  readonly member: string;
  /** Whether the name differs from the known name in case only. False: the member is in the object twice. */
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
const BACKSLASH = 0x5c;
const FIRST_NOT_ASCII = 0x80;
/** Each name has one bit in `seen`. */
const MAX_NAMES = 31;

/**
 * Finds the known members of an object in JSON, and detects variants and duplicates of their names. JSON.parse takes
 * `To` and `to` for two members, and returns the last of two members `to`. Go's encoding/json (geth, erigon) takes both
 * spellings for `to`, and the last one wins.
 */
export class MemberNames {
  readonly names: readonly string[];
  readonly #bytes: readonly Buffer[];
  readonly #folded: readonly string[];
  readonly #maxLength: number;

  /** @param names of ASCII letters */
  constructor(names: readonly string[]) {
    if (names.length > MAX_NAMES) throw new Error(`an object with more than ${MAX_NAMES} known members`);
    this.names = names;
    this.#bytes = names.map((name) => Buffer.from(name));
    this.#folded = names.map(fold);
    this.#maxLength = Math.max(0, ...names.map((name) => name.length));
  }

  /**
   * The index of the known name that the reader has read, or -1.
   * @param seen bits of the names found in the object so far
   */
  find(reader: JsonReader, seen: number): number | MemberFault {
    const { nameStart, nameEnd, bytes } = reader;
    const known = this.#bytes;
    let index = 0;
    while (index < known.length && !isAt(known[index] as Buffer, bytes, nameStart, nameEnd)) index++;
    if (index === known.length) {
      if (nameEnd - nameStart > this.#maxLength * MAX_ESCAPED_CHARS || !this.#mayBeVariant(reader)) return -1;
      const name = JSON.parse(bytes.toString('utf8', nameStart - 1, nameEnd + 1)) as string;
      index = this.names.indexOf(name);
      if (index === -1) return this.#variantOf(name) ?? -1;
    }
    return (seen & (1 << index)) === 0 ? index : new MemberFault(this.names[index] ?? '', false);
  }

  /** Whether the unknown name that the reader has read needs decoding. Most need not: they have another length. */
  #mayBeVariant({ nameStart, nameEnd, bytes }: JsonReader): boolean {
    const length = nameEnd - nameStart;
    if (this.#bytes.some((known) => known.length === length)) return true;
    for (let at = nameStart; at < nameEnd; at++) {
      const byte = bytes[at] as number;
      if (byte === BACKSLASH || byte >= FIRST_NOT_ASCII) return true;
    }
    return false;
  }

  /** The first member whose name differs from a known one in case only. @param object without duplicates */
  findVariant(object: object): MemberFault | undefined {
    for (const name in object) {
      const fault = this.names.includes(name) ? undefined : this.#variantOf(name);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #variantOf(name: string): MemberFault | undefined {
    if (name.length > this.#maxLength) return undefined;
    const known = this.names[this.#folded.indexOf(fold(name))];
    return known === undefined ? undefined : new MemberFault(known, true);
  }
}

/** Case folding of Go (encoding/json, fold.go): besides ASCII letters, U+017F is an s and U+212A is a k. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll('\u017f', 's');
}
