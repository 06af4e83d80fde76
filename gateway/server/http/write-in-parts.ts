import type { ServerResponse } from 'node:http';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';

/** Copied into the kernel at once: a tenth of a millisecond's work or so. Up to here an answer is written in one go. */
export const PART_BYTES = 262_144;

/**
 * Writes a large body, its length told before, part after part as it is taken: in one go the kernel would take as much as
 * its caller reads meanwhile, be it all. Never rejects.
 */
export async function writeInParts(response: ServerResponse, body: string | Buffer): Promise<void> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  for (let from = 0; from < bytes.length; from += PART_BYTES) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    // The caller has left.
    if (response.destroyed) return;
    if (!response.write(bytes.subarray(from, from + PART_BYTES))) await drained(response);
  }
  response.end();
}

/** What was written is in the kernel's hands, or the caller has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
