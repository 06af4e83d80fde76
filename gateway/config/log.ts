import { pino, type Logger } from 'pino';

export type Log = Logger;

/**
 * Opens the log: JSON lines on standard error, so that standard output stays free for people.
 *
 * What may be logged: reasons, classes, names of networks and upstreams, key ids, request ids, error codes of the
 * operating system. What may not: a key, a request's path (the key is in it), an upstream's URL or host, and so the
 * message of a network error, which has the host in it.
 */
export function openLog(level: string): Log {
  return pino({ level, base: null }, pino.destination({ fd: 2, sync: true }));
}

/** What of an error may be logged: its class and its code (`ECONNREFUSED`), never its message. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : error.name;
}

/** Where an unforeseen error came from, without its message: that may quote what a caller sent. */
export function causeOf(error: unknown): { code: string; frames: string[] } {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  return { code: errorCode(error), frames: frames.map((frame) => frame.trim()) };
}
