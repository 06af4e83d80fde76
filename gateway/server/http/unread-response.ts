import type { ServerResponse } from 'node:http';
import { sentBytes, type MemoryBudget } from '../../limits/memory-budget.ts';

/** Less than this is in the kernel's hands nearly at once. */
const IGNORED_BYTES = 65_536;
const CHECK_INTERVAL_MS = 10_000;
/** Looks at which a caller may have taken nothing. */
const MAX_STALLED_CHECKS = 3;

/**
 * A large answer counts as held until its caller has taken it; one that takes nothing for 30 to 40 s is cut off.
 * @param length of it, in bytes, or in characters of text, which is ASCII mostly
 */
export function reserveUntilSent(response: ServerResponse, memory: MemoryBudget, length: number): void {
  // What is written in parts has hardly begun.
  const bytes = response.writableEnded ? response.writableLength : length;
  const { socket } = response;
  if (bytes <= IGNORED_BYTES || socket === null) return;
  memory.reserveAnyway(bytes);
  let sent = sentBytes(socket);
  let stalledChecks = 0;
  const timer = setInterval(() => {
    const sentNow = sentBytes(socket);
    stalledChecks = sentNow === sent ? stalledChecks + 1 : 0;
    sent = sentNow;
    if (stalledChecks >= MAX_STALLED_CHECKS) socket.destroy();
  }, CHECK_INTERVAL_MS).unref();
  response.once('close', () => {
    clearInterval(timer);
    memory.release(bytes);
  });
}
