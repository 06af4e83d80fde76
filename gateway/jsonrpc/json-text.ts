const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
export const BACKSLASH = 92;
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
  // At the end of the text, the code is NaN.
  for (let code = first; code > 32 && code !== COMMA && code !== CLOSE_BRACE && code !== CLOSE_BRACKET;)
    code = text.charCodeAt(++at);
  return at;
}

export function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (text.charCodeAt(at - 1) === BACKSLASH && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at + 1;
}

/** Whether a quote is part of a string. Usually there is no backslash before it. */
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

/** Skips the white space before a value, name or bracket, with the comma or colon. */
export function startOfNext(text: string, start: number): number {
  let at = start;
  let code = text.charCodeAt(at);
  while (code <= 32 || code === COMMA || code === COLON) code = text.charCodeAt(++at);
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
  let at = startOfNext(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const nameEnd = endOfString(text, at);
    at = startOfNext(text, onMember(text, at, nameEnd, startOfNext(text, nameEnd), context));
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
  let at = startOfNext(text, start + 1);
  for (let index = 0; text.charCodeAt(at) !== CLOSE_BRACKET; index++)
    at = startOfNext(text, onElement(text, at, index, context));
  return at + 1;
}
