import { malformed } from './upstream-response.ts';

const BACKSLASH = 92;
/** Parts that are searched one by one. More of them are small, and are joined first. */
const MAX_PARTS = 8;

/** Searches the bytes of a result for credentials while they are passed on. */
export class CredentialSearch {
  readonly #isIn: (bytes: Buffer) => boolean;
  readonly #maxBytes: number;
  /** Bytes in which a credential may begin: they are not passed on before the next ones are known. */
  #held: Buffer = Buffer.alloc(0);

  /** @param isIn whether bytes have a credential @param maxBytes of a credential, escaped */
  constructor(isIn: (bytes: Buffer) => boolean, maxBytes: number) {
    this.#isIn = isIn;
    this.#maxBytes = maxBytes;
  }

  /** @returns the bytes that are passed on now @throws UpstreamFailure if they have a credential */
  pass(found: readonly Buffer[], isLast: boolean): readonly Buffer[] {
    const parts = found.length > MAX_PARTS || found.length === 0 ? [Buffer.concat(found)] : found;
    const passed = parts.flatMap((bytes, index) => this.#passPart(bytes, isLast && index === parts.length - 1));
    return passed.filter(({ length }) => length > 0);
  }

  /** Passes on a part. A large one is not copied, unless escapes that begin in what is held end in it: backslashes. */
  #passPart(bytes: Buffer, isLast: boolean): readonly Buffer[] {
    const isJoined = bytes.length <= this.#maxBytes || bytes[0] === BACKSLASH;
    const begun = Buffer.concat([this.#held, isJoined ? bytes : bytes.subarray(0, this.#maxBytes)]);
    if (this.#isIn(begun) || (!isJoined && this.#isIn(bytes))) throw malformed('the result has a credential');
    const rest = isJoined ? begun : bytes;
    const end = isLast ? rest.length : safeEnd(rest, this.#maxBytes);
    const passed = isJoined ? [rest.subarray(0, end)] : [this.#held, rest.subarray(0, end)];
    this.#held = rest.subarray(end);
    return passed;
  }
}

/** The position before the last bytes that is not after an odd number of backslashes. */
function safeEnd(bytes: Buffer, lastBytes: number): number {
  const end = Math.max(0, bytes.length - lastBytes);
  let before = end;
  while (before > 0 && bytes[before - 1] === BACKSLASH) before--;
  return end - ((end - before) % 2);
}
