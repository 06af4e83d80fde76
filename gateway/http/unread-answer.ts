import type { ServerResponse } from 'node:http';
import { takenBytes, type Load } from '../load.ts';

/** Less than this is in the kernel's hands nearly at once. */
const USUAL_BYTES = 65_536;
const LOOK_EVERY_MS = 10_000;
/** Looks at which a caller may have taken nothing. */
const LOOKS_MAX = 3;

/**
 * A large answer counts as held until its caller has taken it; one that takes nothing for 30 to 40 s is cut off.
 * @param length of it, in bytes, or in characters of text, which is ASCII mostly
 */
export function holdUntilTaken(response: ServerResponse, load: Load, length: number): void {
  // What is written in parts has hardly begun.
  const bytes = response.writableEnded ? response.writableLength : length;
  const { socket } = response;
  if (bytes <= USUAL_BYTES || socket === null) return;
  load.add(bytes);
  let taken = takenBytes(socket);
  let looks = 0;
  const timer = setInterval(() => {
    const now = takenBytes(socket);
    looks = now === taken ? looks + 1 : 0;
    taken = now;
    if (looks >= LOOKS_MAX) socket.destroy();
  }, LOOK_EVERY_MS).unref();
  response.once('close', () => {
    clearInterval(timer);
    load.release(bytes);
  });
}
