/** From here on it is cheaper to look at a reply's bytes than to make values of them (bench/steps.ts). */
export const LARGE_RESPONSE_BYTES = 8_192;

/** What stands before a result, and after it, with nearly every node. */
const envelopeStart =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*"?(\d{1,15})"?\s*,\s*)?(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"result"\s*:\s*/;
const envelopeEnd = /(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?(?:,\s*"id"\s*:\s*"?(\d{1,15})"?\s*)?\}\s*$/;
const ENVELOPE_BYTES = 100;

/**
 * Finds the result in a large reply, without looking at it: where it is not valid JSON up to its end, this is wrong.
 * @returns undefined where the envelope is another than the usual, or another call's
 */
export function findResult(body: Buffer, id: number): Buffer | undefined {
  const head = envelopeStart.exec(body.toString('latin1', 0, ENVELOPE_BYTES));
  const tail = envelopeEnd.exec(body.toString('latin1', Math.max(0, body.length - ENVELOPE_BYTES)));
  if (head === null || tail === null || (head[1] ?? tail[1]) !== String(id)) return undefined;
  return body.subarray(head[0].length, body.length - tail[0].length);
}
