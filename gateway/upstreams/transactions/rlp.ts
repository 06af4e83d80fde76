/** First byte of an empty list. */
export const FIRST_LIST_BYTE = 0xc0;
/** First byte of an empty string of bytes. */
const FIRST_BYTES_BYTE = 0x80;

/** The list of these items, in RLP. @param items in RLP */
export function encodeList(items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items);
  return Buffer.concat([listHeader(content.length), content]);
}

/** The bytes before the items of a list. @param length of the items in bytes */
export function listHeader(length: number): Buffer {
  return header(FIRST_LIST_BYTE, length);
}

export function encodeBytes(bytes: Buffer): Buffer {
  if (bytes.length === 1 && bytes.readUInt8(0) < FIRST_BYTES_BYTE) return bytes;
  return Buffer.concat([header(FIRST_BYTES_BYTE, bytes.length), bytes]);
}

export function encodeNumber(number: bigint): Buffer {
  return encodeBytes(numberBytes(number));
}

/** Up to 55, the first byte has the length. Above, it has the number of bytes of the length, which follows. */
function header(first: number, length: number): Buffer {
  if (length <= 55) return Buffer.from([first + length]);
  const bytes = numberBytes(BigInt(length));
  return Buffer.concat([Buffer.from([first + 55 + bytes.length]), bytes]);
}

/** Big-endian without leading zeros. */
function numberBytes(number: bigint): Buffer {
  const digits = number === 0n ? '' : number.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}
