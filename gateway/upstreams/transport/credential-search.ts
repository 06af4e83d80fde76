import { malformed } from './upstream-response.ts';

const BACKSLASH = 92;

/** Searches the bytes of a result for credentials while they are passed on. */
export class CredentialSearch {
  readonly #isIn: (bytes: Buffer) => boolean;
  readonly #maxBytes: number;
  /** Bytes in which a credential may begin: they are not passed on before the next ones are known. */
  #held = Buffer.alloc(0);

  /** @param isIn whether bytes have a credential @param maxBytes of a credential, escaped */
  constructor(isIn: (bytes: Buffer) => boolean, maxBytes: number) {
    this.#isIn = isIn;
    this.#maxBytes = maxBytes;
  }

  /** @returns the bytes that are passed on now @throws UpstreamFailure if they have a credential */
  pass(found: readonly Buffer[], isLast: boolean): readonly Buffer[] {
    const all = Buffer.concat([this.#held, ...found]);
    if (this.#isIn(all)) throw malformed('the result has a credential');
    const end = isLast ? all.length : safeEnd(all, this.#maxBytes);
    this.#held = all.subarray(end);
    return end === 0 ? [] : [all.subarray(0, end)];
  }
}

/** The position before the last bytes that is not after an odd number of backslashes. */
function safeEnd(bytes: Buffer, lastBytes: number): number {
  const end = Math.max(0, bytes.length - lastBytes);
  let before = end;
  while (before > 0 && bytes[before - 1] === BACKSLASH) before--;
  return end - ((end - before) % 2);
}
