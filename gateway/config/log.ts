import { pino, type Logger } from 'pino';

export type Log = Logger;

/**
 * Opens the log: JSON lines on standard error. Standard output is for text to operators.
 *
 * Allowed in the log: reasons, classes, names of networks and upstreams, key ids, request ids, error codes of the
 * operating system. Not allowed: keys, paths of requests (they contain the key), URLs and hosts of upstreams. Messages of
 * network errors are not allowed either, because they contain the host.
 */
export function openLog(level: string): Log {
  return pino({ level, base: null }, pino.destination({ fd: 2, sync: true }));
}

/** The part of an error that may be logged: its code (`ECONNREFUSED`) or its class, never its message. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : error.name;
}

/** The code and stack frames of an unexpected error. Its message is left out: it may quote what a caller sent. */
export function causeOf(error: unknown): { code: string; frames: string[] } {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  return { code: errorCode(error), frames: frames.map((frame) => frame.trim()) };
}
