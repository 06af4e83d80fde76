import { reasons, RpcError } from './errors.ts';

/** Longer ones fill the log lines of proxies. */
const MAX_LENGTH = 200;
/** Node rejects control characters, and a client reads bytes above ASCII as Latin-1. */
const NOT_PRINTABLE = /[^\x20-\x7e]+/g;

/** Of the messages of the catalogue. */
const phrases = new Map(
  reasons.map((reason) => [new RpcError(reason).message, sanitise(new RpcError(reason).message)]),
);

/**
 * The HTTP reason phrase of a rejection: its message. Some clients show the status line and drop the body, such as
 * web3.py, whose errors are those of `raise_for_status` of requests.
 */
export function reasonPhraseOf(message: string): string {
  return phrases.get(message) ?? sanitise(message);
}

function sanitise(message: string): string {
  return message.replace(NOT_PRINTABLE, ' ').slice(0, MAX_LENGTH).trim();
}
