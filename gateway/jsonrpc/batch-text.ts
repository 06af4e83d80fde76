import { RpcError } from './errors.ts';

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;

/**
 * The text of a batch, item by item, so that a large one need not be parsed in one go. Where the whole is no JSON, some
 * item is none either, or what stands around the items is not as it should be.
 */
export class BatchText {
  readonly #text: string;
  readonly #most: { readonly depth: number; readonly values: number };
  #at: number;
  #values = 1;
  #isOver = false;
  #isFirst = true;

  /** @param most in the whole, as `exceeds` counts */
  constructor(text: string, most: { readonly depth: number; readonly values: number }) {
    this.#text = text;
    this.#most = most;
    this.#at = text.indexOf('[') + 1;
  }

  static isBatch(text: string): boolean {
    return text.charCodeAt(endOfSpace(text, 0)) === OPEN_BRACKET;
  }

  /**
   * The text of the next item, which may be anything, also nothing: JSON.parse tells.
   * @returns undefined where the batch is over
   * @throws RpcError parse-error, nested-too-deep
   */
  next(): string | undefined {
    if (this.#isOver) return undefined;
    const text = this.#text;
    const start = this.#at;
    let depth = 1;
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = endOfString(text, at);
      else if ((code & ~32) === OPEN_BRACKET) {
        if (++depth > this.#most.depth) throw new RpcError('nested-too-deep');
        this.#count();
      } else if ((code & ~32) === CLOSE_BRACKET) {
        if (--depth > 0) continue;
        this.#end(code, at);
        return this.#isFirst && endOfSpace(text, start) === at ? undefined : text.slice(start, at);
      } else if (code === COMMA) {
        this.#count();
        if (depth > 1) continue;
        this.#at = at + 1;
        this.#isFirst = false;
        return text.slice(start, at);
      }
    }
    throw new RpcError('parse-error');
  }

  #count(): void {
    if (++this.#values > this.#most.values) throw new RpcError('nested-too-deep');
  }

  #end(code: number, at: number): void {
    if (code !== CLOSE_BRACKET || endOfSpace(this.#text, at + 1) < this.#text.length) throw new RpcError('parse-error');
    this.#isOver = true;
  }
}

/** The closing quote, or the end of the text. */
export function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at === -1 ? text.length : at;
}

function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1;
  while (text.charCodeAt(at) === BACKSLASH) at--;
  return (quote - at) % 2 === 0;
}

function endOfSpace(text: string, start: number): number {
  let at = start;
  // What JSON takes for space.
  while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at++;
  return at;
}
