import type { CompleteResponse } from '../cache/response-cache.ts';
import { JsonReader } from '../json/json-reader.ts';
import { jsonResponse, type LargeResponse } from '../upstreams/transport/upstream-response.ts';

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');
const [OPEN_BYTE, CLOSE_BYTE, SPACE] = [0x5b, 0x5d, 0x20];

/** The result as JSON bytes, which are not copied if it was received as bytes. */
export function bytesOf(response: CompleteResponse): Buffer {
  switch (response.kind) {
    case 'large':
      return response.parts.length === 1 ? response.parts[0] : Buffer.concat(response.parts);
    case 'cached':
      return typeof response.result === 'string' ? Buffer.from(response.result) : response.result;
    case 'result':
      return Buffer.from(response.text ?? JSON.stringify(response.result));
    case 'error':
      return Buffer.from('null');
  }
}

/** The elements of a list with the commas between them, not copied; undefined: the bytes are not a list. */
export function elementsIn(list: Buffer): Buffer | undefined {
  let start = 0;
  let end = list.length - 1;
  while (isSpace(list[start])) start++;
  while (isSpace(list[end])) end--;
  if (list[start] !== OPEN_BYTE || list[end] !== CLOSE_BYTE || end <= start) return undefined;
  do start++;
  while (isSpace(list[start]));
  do end--;
  while (isSpace(list[end]));
  return list.subarray(start, end + 1);
}

/** The number of elements. @param elements of a list, with the commas between them */
export function countElements(elements: Buffer): number {
  const reader = new JsonReader(elements);
  let count = 0;
  reader.skipSpace();
  while (reader.at < elements.length) {
    reader.skipValue();
    count++;
    reader.skipSpace();
    // The comma.
    reader.at++;
    reader.skipSpace();
  }
  return count;
}

/** One list of all elements, in this order. The bytes are not copied. */
export function joinLists(elements: readonly Buffer[]): LargeResponse {
  const filled = elements.filter(({ length }) => length > 0);
  const parts: [Buffer, ...Buffer[]] = [
    OPEN,
    ...filled.flatMap((bytes, index) => (index === 0 ? [bytes] : [COMMA, bytes])),
    CLOSE,
  ];
  return { kind: 'large', parts, parse: () => jsonResponse(Buffer.concat(parts)).parse() };
}

/** Space, tab, line feed and carriage return. Other bytes below the space are not in JSON outside of strings. */
function isSpace(byte: number | undefined): boolean {
  return byte !== undefined && byte <= SPACE;
}
