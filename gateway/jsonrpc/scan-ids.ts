const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/**
 * Finds the `id` of a call, or of each call of a batch, as the JSON text that the caller wrote, because JSON.parse
 * cannot give it back: 9007199254740993 becomes …992, 1.0 becomes 1. Undefined where there is none.
 * @param text valid JSON
 * @param maxCount the scan of a batch stops after so many of its items
 */
export function scanIds(text: string, maxCount = Infinity): (string | undefined)[] {
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) !== OPEN_BRACKET) return [idAt(text, start)];
  const ids: (string | undefined)[] = [];
  let at = skipSpace(text, start + 1);
  while (ids.length < maxCount && text.charCodeAt(at) !== CLOSE_BRACKET) {
    ids.push(idAt(text, at));
    at = skipSpace(text, endOfValue(text, at));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return ids;
}

/** The id of the object that begins here. A repeated member counts as in JSON.parse: the last one stands. */
function idAt(text: string, start: number): string | undefined {
  if (text.charCodeAt(start) !== OPEN_BRACE) {
    endOfValue(text, start);
    return undefined;
  }
  let id: string | undefined;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const endOfName = endOfString(text, at);
    const isId = namesId(text, at, endOfName);
    at = skipSpace(text, skipSpace(text, endOfName) + 1);
    const end = endOfValue(text, at);
    if (isId) id = text.slice(at, end);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return id;
}

function namesId(text: string, start: number, end: number): boolean {
  if (end - start === 4) return text.startsWith('"id"', start);
  // `"\u0069d"` is the same name to a JSON parser.
  const name = text.slice(start, end);
  return name.includes('\\') && JSON.parse(name) === 'id';
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, start);
  let at = start;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 32;
}

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at + 1;
}

export function isEscaped(text: string, quote: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
  return slashes % 2 === 1;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    at++;
  } while (depth > 0);
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}
