import type { ServerResponse } from 'node:http';
import { sentBytes, type MemoryBudget } from '../../limits/memory-budget.ts';

/** Smaller responses reach the kernel's buffers almost at once. */
const IGNORED_BYTES = 65_536;
const CHECK_INTERVAL_MS = 10_000;
/** Consecutive checks without progress before the connection is closed. */
const MAX_STALLED_CHECKS = 3;

/**
 * Reserves a large response in the memory budget until its client has read it. A client that reads nothing for 30 to
 * 40 s is disconnected.
 * @param length of the response in bytes, or in characters of text that is mostly ASCII
 */
export function reserveUntilSent(response: ServerResponse, memory: MemoryBudget, length: number): void {
  // A response that is written in parts has hardly started, so its whole length counts.
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
