/*
 * Finds the end of a JSON value in the memory of this module, in AssemblyScript. `npm run test:all -- wasm --write`
 * compiles it into gateway/json/value-end.generated.ts; gateway/json/value-end.ts is its caller. It reads strings and
 * brackets only.
 */

const QUOTE: u8 = 34;
const BACKSLASH: u8 = 92;
/** `[` and `{` differ in this bit, as do `]` and `}`. */
const BRACKET_BIT: u8 = 32;
const OPEN: u8 = 123;
const CLOSE: u8 = 125;
const BLOCK_BYTES: i32 = 64;
const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/** Open objects and arrays. */
export let depth: i32 = 0;
export let isInString: bool = false;
/** The byte before was a backslash that escapes the next one. */
export let isEscaped: bool = false;

/** Sets where the bytes of the next `find` begin. */
export function begin(openDepth: i32, inString: bool, escaped: bool): void {
  depth = openDepth;
  isInString = inString;
  isEscaped = escaped;
}

/** Reads the bytes from 0 to `length`. Returns the position after the last byte of the value; -1: it has not ended. */
export function find(length: i32): i32 {
  let at = 0;
  while (at < length) {
    const blockEnd = min(at + BLOCK_BYTES, length);
    if (ASC_FEATURE_SIMD && at + BLOCK_BYTES <= length && skipBlock(at)) at = blockEnd;
    while (at < blockEnd) if (endsWith(load<u8>(at++))) return at;
  }
  return -1;
}

/** Reads one byte. Returns whether it is the last one of the value. */
function endsWith(byte: u8): bool {
  if (isEscaped) isEscaped = false;
  else if (isInString) {
    if (byte == BACKSLASH) isEscaped = true;
    else if (byte == QUOTE) {
      isInString = false;
      return depth == 0;
    }
  } else if (byte == QUOTE) isInString = true;
  else if ((byte | BRACKET_BIT) == OPEN) depth++;
  else if ((byte | BRACKET_BIT) == CLOSE) return --depth <= 0;
  return false;
}

/** Reads 64 bytes, if the value does not end there. Returns whether it has. */
function skipBlock(at: i32): bool {
  const backslashes = bytesEqual(at, BACKSLASH, 0);
  const escapes = backslashes == 0 ? 0 : escapesOf(backslashes);
  const quotes = bytesEqual(at, QUOTE, 0) & ~((escapes << 1) | u64(isEscaped));
  if (isInString && (quotes | backslashes) == 0) {
    isEscaped = false;
    return true;
  }
  // The first byte of the value, and the closing quote of a string that is the value, are read one by one.
  if (depth == 0 && (!isInString || quotes != 0)) return false;
  // A bit of each byte within a string, its opening quote included: those after an odd number of quotes.
  let text = quotes;
  for (let shift: u64 = 1; shift < 64; shift <<= 1) text ^= text << shift;
  if (isInString) text = ~text;
  // Outside of strings, where JSON has none, a backslash escapes nothing.
  if ((backslashes & ~text) != 0) return false;
  const opening = bytesEqual(at, OPEN, BRACKET_BIT) & ~text;
  const closing = bytesEqual(at, CLOSE, BRACKET_BIT) & ~text;
  if (depth <= i32(popcnt(closing)) && endsWithin(opening, closing)) return false;
  depth += i32(popcnt(opening)) - i32(popcnt(closing));
  isInString = text >> 63 != 0;
  isEscaped = escapes >> 63 != 0;
  return true;
}

/** Whether one of the closing brackets ends the value. */
function endsWithin(opening: u64, closing: u64): bool {
  let open = depth;
  for (let brackets = opening | closing; brackets != 0; brackets &= brackets - 1) {
    if ((brackets & -brackets & closing) == 0) open++;
    else if (--open <= 0) return true;
  }
  return false;
}

/** The backslashes that escape the next byte: the first, third, fifth of each run. The method is that of simdjson. */
function escapesOf(backslashes: u64): u64 {
  const unescaped = backslashes & ~u64(isEscaped);
  return ((((unescaped << 1) | ODD_BITS) - unescaped) ^ ODD_BITS) & backslashes;
}

/** A bit for each of 64 bytes that equals `byte` once `bits` are set. */
function bytesEqual(at: i32, byte: u8, bits: u8): u64 {
  const low = vectorEqual(at, byte, bits) | (vectorEqual(at + 16, byte, bits) << 16);
  const high = vectorEqual(at + 32, byte, bits) | (vectorEqual(at + 48, byte, bits) << 16);
  return low | (high << 32);
}

function vectorEqual(at: i32, byte: u8, bits: u8): u64 {
  const bytes = v128.or(v128.load(at), i8x16.splat(bits));
  return u64(i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(byte))));
}
