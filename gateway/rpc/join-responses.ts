import { buffersOf, type Body } from '../jsonrpc/buffer-list.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';

/** Up to this many characters, one string is built, which is fastest. */
const SMALL_CHARS = 100_000;
/** Bytes that are copied at once: about 0.1 ms. */
const STEP_BYTES = 500_000;

const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d];

/**
 * Joins the responses to the calls of a batch into the response to the batch.
 * @param lengthBytes sum of all responses
 */
export async function joinResponses(responses: readonly Body[], lengthBytes: number): Promise<string | Buffer> {
  if (lengthBytes <= SMALL_CHARS) return `[${responses.map((response) => response.toString()).join()}]`;
  // As bytes, because Node would encode a string of many megabytes in one step when it is sent.
  const joined = Buffer.allocUnsafe(lengthBytes + responses.length + 1);
  let offset = 0;
  for (const response of responses) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    joined[offset] = offset === 0 ? OPEN : COMMA;
    offset += 1;
    if (typeof response === 'string') {
      offset += joined.write(response, offset);
      continue;
    }
    for (const bytes of buffersOf(response)) {
      for (let from = 0; from < bytes.length; from += STEP_BYTES) {
        offset += bytes.copy(joined, offset, from, from + STEP_BYTES);
        await timeSlicer.next();
      }
    }
  }
  joined[offset] = CLOSE;
  return joined;
}
