const ZERO = 48;

/** Whether a text is a hexadecimal number with leading zeros, or without any digit (`0x`). */
export function isPadded(text: string): boolean {
  const { length } = text;
  return (length === 2 || (length > 3 && text.charCodeAt(2) === ZERO)) && /^0x[0-9a-fA-F]*$/.test(text);
}

/** `0x05` becomes `0x5`; `0x00` and `0x` become `0x0`. */
export function withoutZeros(padded: string): string {
  return `0x${padded.slice(2).replace(/^0+/, '') || '0'}`;
}

/**
 * Turns JSON numbers into hexadecimal, and removes leading zeros. Fractions, null and other texts stay.
 * @returns the value itself if it needs no change
 */
export function normaliseQuantity(value: unknown): unknown {
  if (typeof value === 'string') return isPadded(value) ? withoutZeros(value) : value;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return value;
  return `0x${value.toString(16)}`;
}

/** A whole number that JSON.parse has rounded. */
export function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A member with a number. In a string of valid JSON, the quotes of a name would be escaped. */
const numberMember = /"(\w{1,40})"(\s*:\s*)(\d[\d.eE+-]*)/g;

/** @param names of quantities @returns the JSON text with their rounded numbers in hexadecimal, with all digits */
export function withHexNumbers(json: string, names: ReadonlySet<string>): string {
  return json.replace(numberMember, (member, name: string, colon: string, number: string) => {
    if (!names.has(name) || !isRounded(Number(number))) return member;
    // `1e20` has no digits to keep.
    const exact = BigInt(/^\d+$/.test(number) ? number : Number(number));
    return `"${name}"${colon}"0x${exact.toString(16)}"`;
  });
}

/** A string, which is skipped, or a number that may have more digits than a parsed one. */
const stringOrNumber = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d[\d.eE+-]*/g;
/** Numbers that may be such, and parts of texts. */
const mayHaveDigits = /[:,[]\s*-?(?:\d{16}|\d+[.eE])/;
/** Begins a text in place of a number. JSON has no other form of this character. */
const MARK_START = String.raw`\u0001`;
const markedNumber = /"\\u0001(-?\d[\d.eE+-]*)"/g;

/**
 * Parses JSON, changes the value, and writes it. Numbers that parsing would change are texts meanwhile, and keep their digits.
 * @param names of quantities, which become hexadecimal
 * @param change of the parsed value
 * @returns undefined: there are no such numbers
 */
export function withAllDigits(
  json: string,
  names: ReadonlySet<string>,
  change: (value: unknown) => unknown,
): string | undefined {
  if (!mayHaveDigits.test(json) || json.includes(MARK_START)) return undefined;
  const exact = withHexNumbers(json, names);
  const marked = exact.replace(stringOrNumber, (token) =>
    token.startsWith('"') || JSON.stringify(Number(token)) === token ? token : `"${MARK_START}${token}"`,
  );
  return marked === exact ? undefined : JSON.stringify(change(JSON.parse(marked))).replace(markedNumber, '$1');
}

export function isQuantity(value: unknown): boolean {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value);
}
