const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/**
 * The functions of this file walk through JSON text without parsing it. The text must be valid: JSON.parse has read it.
 * Each function takes the start of a part and returns its end.
 */
export function endOfValue(text: string, start: number): number {
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

export function endOfString(text: string, start: number): number {
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

export function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}

export function isObjectAt(text: string, start: number): boolean {
  return text.charCodeAt(start) === OPEN_BRACE;
}

export function isArrayAt(text: string, start: number): boolean {
  return text.charCodeAt(start) === OPEN_BRACKET;
}

/**
 * @param start at the opening brace
 * @param onMember called with the positions of a member's name (quotes included) and value; returns the end of the value
 * @param context passed to `onMember`, so that it need not be a closure
 */
export function walkObject<Context>(
  text: string,
  start: number,
  onMember: (text: string, nameStart: number, nameEnd: number, valueStart: number, context: Context) => number,
  context: Context,
): number {
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const nameEnd = endOfString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    at = skipSpace(text, onMember(text, at, nameEnd, valueStart, context));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}

/**
 * @param start at the opening bracket
 * @param onElement called with the start of an element and its index; returns its end
 * @param context passed to `onElement`
 */
export function walkArray<Context>(
  text: string,
  start: number,
  onElement: (text: string, start: number, index: number, context: Context) => number,
  context: Context,
): number {
  let at = skipSpace(text, start + 1);
  for (let index = 0; text.charCodeAt(at) !== CLOSE_BRACKET; index++) {
    at = skipSpace(text, onElement(text, at, index, context));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}
