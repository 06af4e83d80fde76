import { isatty } from 'node:tty';
import { pino, type Logger } from 'pino';
import { loadPackage } from './load-package.ts';
import type pinoPretty from 'pino-pretty';

export type Log = Logger;

/** Format of times for pino-pretty. */
const ISO_TIME = "UTC:yyyy-mm-dd'T'HH:MM:ss.l'Z'";

/**
 * Opens the log on standard error: JSON lines, or readable lines. Standard output is for text to operators.
 *
 * Allowed in the log: reasons, classes, names of networks and upstreams, key ids, request ids, error codes of the
 * operating system. Not allowed: keys, paths of requests (they contain the key), URLs and hosts of upstreams. Messages of
 * network errors are not allowed either, because they contain the host.
 */
export function openLog(level: string, isReadable = false, fd = 2): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isReadable) return pino(options, pino.destination({ fd, sync: true }));
  const pretty = loadPackage('pino-pretty') as typeof pinoPretty;
  return pino(options, pretty({ destination: fd, sync: true, singleLine: true, translateTime: ISO_TIME }));
}

/** Whether the log is readable: on a terminal, unless the gateway runs in production. */
export function shouldPrintReadableLog({ NODE_ENV }: Readonly<Record<string, string | undefined>>): boolean {
  return NODE_ENV !== 'production' && isatty(2);
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
