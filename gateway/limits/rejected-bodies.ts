import type { IncomingMessage } from 'node:http';

/** Rejected requests of one account whose bodies may still arrive. */
const MAX_PER_ACCOUNT = 64;

/**
 * Counts the rejected requests whose bodies have not arrived, by the account of their key, else by client address. They
 * are read and dropped, so that clients see the response. Above the limit, the connection is closed.
 */
export class RejectedBodies {
  readonly #counts = new Map<string, number>();

  /**
   * Adds a request, with or without a body. To be called after the response was written.
   * @param account name of its account in the memory budget
   */
  add(request: IncomingMessage, account: string): void {
    if (request.destroyed || request.socket.destroyed || request.complete || !hasBody(request)) return;
    const count = this.#counts.get(account) ?? 0;
    if (count >= MAX_PER_ACCOUNT) {
      request.socket.destroySoon();
      return;
    }
    this.#counts.set(account, count + 1);
    const { socket } = request;
    const end = (): void => {
      request.off('close', end);
      socket.off('close', end);
      const remaining = (this.#counts.get(account) ?? 0) - 1;
      if (remaining > 0) this.#counts.set(account, remaining);
      else this.#counts.delete(account);
    };
    // A request whose body cannot be read, because its length is ambiguous, is not closed with its socket.
    request.once('close', end);
    socket.once('close', end);
  }
}

/** RFC 9112 §6: one of these announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
