import { timeSlicer } from '../jsonrpc/time-slices.ts';

/** Up to here one string is made, which is the quickest. */
const SMALL_CHARS = 100_000;
/** What is copied at once: a tenth of a millisecond. */
const STEP_BYTES = 500_000;

const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d];

/**
 * The answer to a batch of the answers to its calls.
 * @param length of all of them, in bytes
 */
export async function joinResponses(responses: readonly (string | Buffer)[], length: number): Promise<string | Buffer> {
  if (length <= SMALL_CHARS) return `[${responses.map((response) => response.toString()).join()}]`;
  // As bytes: a string of many megabytes would be encoded in one go when it is sent.
  const joined = Buffer.allocUnsafe(length + responses.length + 1);
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
    for (let from = 0; from < response.length; from += STEP_BYTES) {
      offset += response.copy(joined, offset, from, from + STEP_BYTES);
      await timeSlicer.next();
    }
  }
  joined[offset] = CLOSE;
  return joined;
}
