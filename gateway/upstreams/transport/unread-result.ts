import { ValueEnd } from '../../json/value-end.ts';
import type { Secrets } from './credentials.ts';
import type { ResultReader } from './flowing-result.ts';
import { UpstreamFailure } from './upstream-response.ts';

const BACKSLASH = '\\';
/** An escaped character takes up to six: `\u0074`. */
const MAX_ESCAPED_CHARS = 6;

/** Passes a result on unread, except for its end and for credentials. */
export class UnreadResult implements ResultReader {
  readonly #secrets: Secrets | undefined;
  readonly #end = new ValueEnd();
  /** Bytes in which a credential may begin: they are not passed on before the next ones are known. */
  #held: Buffer = empty;
  #heldText = '';

  /** @param secrets their credentials are searched for; undefined: there are none */
  constructor(secrets: Secrets | undefined) {
    this.#secrets = secrets;
  }

  read(chunk: Buffer, passed: Buffer[]): number {
    const end = this.#end.find(chunk);
    const bytes = end === -1 ? chunk : chunk.subarray(0, end);
    if (this.#secrets === undefined) passed.push(bytes);
    else this.#passSearched(bytes, end !== -1, this.#secrets, passed);
    return end;
  }

  /** Passes on bytes without the last ones, in which a credential may begin. */
  #passSearched(bytes: Buffer, isLast: boolean, secrets: Secrets, passed: Buffer[]): void {
    const text = this.#heldText + bytes.toString('latin1');
    if (secrets.areIn(text)) throw new UpstreamFailure('malformed', 'the result has a credential');
    const from = isLast ? text.length : safeEnd(text, secrets.maxCredentialChars * MAX_ESCAPED_CHARS);
    const fromInBytes = from - this.#held.length;
    if (fromInBytes > 0) {
      if (this.#held.length > 0) passed.push(this.#held);
      passed.push(bytes.subarray(0, fromInBytes));
      this.#held = bytes.subarray(fromInBytes);
    } else {
      const all = Buffer.concat([this.#held, bytes]);
      if (from > 0) passed.push(all.subarray(0, from));
      this.#held = all.subarray(from);
    }
    this.#heldText = text.slice(from);
  }
}

const empty = Buffer.alloc(0);

/** The position before the last characters that is not after an odd number of backslashes. */
function safeEnd(text: string, lastChars: number): number {
  const end = Math.max(0, text.length - lastChars);
  let before = end;
  while (before > 0 && text[before - 1] === BACKSLASH) before--;
  return end - ((end - before) % 2);
}
