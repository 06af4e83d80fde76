import type { ServerResponse } from 'node:http';
import { buffersOf, type Body } from '../../jsonrpc/buffer-list.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';

/** Bytes copied into the kernel at once, in about 0.1 ms. Smaller responses are written in one step. */
export const PART_BYTES = 262_144;

/**
 * Writes a large body in parts, after its headers. A single write would block the event loop while the kernel copies
 * all that the client reads meanwhile, up to the whole body. Never rejects.
 * @param last follows the body in one step
 */
export async function writeInParts(response: ServerResponse, body: Body, last?: Buffer): Promise<void> {
  for (const bytes of buffersOf(body)) {
    for (let from = 0; from < bytes.length; from += PART_BYTES) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      // The client has disconnected.
      if (response.destroyed) return;
      if (!response.write(bytes.subarray(from, from + PART_BYTES))) await waitForDrain(response);
    }
  }
  response.end(last);
}

/** Resolves when the written bytes are in the kernel's buffers, or the client has disconnected. */
export function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
