/** From this size on, checking the bytes of a response is cheaper than parsing it (bench/steps.ts). */
export const LARGE_RESPONSE_BYTES = 8_192;

/** The envelope before and after the result, as nearly every node writes it. */
const envelopeStart =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*"?(\d{1,15})"?\s*,\s*)?(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"result"\s*:\s*/;
const envelopeEnd = /(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?(?:,\s*"id"\s*:\s*"?(\d{1,15})"?\s*)?\}\s*$/;
const ENVELOPE_BYTES = 100;

/**
 * Finds the result in a large response by its envelope. The result itself is not checked: the caller must do that.
 * @returns undefined if the envelope is unusual, or has the id of another call
 */
export function findResult(body: Buffer, id: number): Buffer | undefined {
  const head = envelopeStart.exec(body.toString('latin1', 0, ENVELOPE_BYTES));
  const tail = envelopeEnd.exec(body.toString('latin1', Math.max(0, body.length - ENVELOPE_BYTES)));
  if (head === null || tail === null || (head[1] ?? tail[1]) !== String(id)) return undefined;
  return body.subarray(head[0].length, body.length - tail[0].length);
}
