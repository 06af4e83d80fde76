import type { Socket } from 'node:net';
import { Cancellation } from '../upstream/cancellation.ts';

const callers = new WeakMap<Socket, Cancellation>();

/**
 * Breaks off what is under way for a connection's requests when that closes. One for all of them: a listener for each
 * request would cost more, and a connection that has closed leaves none of them to answer.
 */
export function callerOf(connection: Socket): Cancellation {
  const known = callers.get(connection);
  if (known !== undefined) return known;
  const caller = new Cancellation();
  callers.set(connection, caller);
  const left = (): void => {
    caller.breakOff();
  };
  if (connection.destroyed) left();
  else connection.once('close', left);
  return caller;
}
