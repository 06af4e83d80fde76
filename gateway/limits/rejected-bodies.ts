import type { IncomingMessage } from 'node:http';
import { addressGroup } from '../auth/formats/address-group.ts';

/** Rejected requests of one address whose bodies may still arrive. */
const MAX_PER_ADDRESS = 64;

/**
 * Counts the rejected requests whose bodies have not arrived, by client address, because they count for no key. They are
 * read and dropped, so that clients see the response. Above the limit, the connection is closed.
 */
export class RejectedBodies {
  readonly #counts = new Map<string, number>();

  /** To be called after the response was written. */
  add(request: IncomingMessage, address: string): void {
    if (request.destroyed) return;
    const group = addressGroup(address);
    const count = this.#counts.get(group) ?? 0;
    if (count >= MAX_PER_ADDRESS) {
      request.socket.destroySoon();
      return;
    }
    this.#counts.set(group, count + 1);
    request.once('close', () => {
      const remaining = (this.#counts.get(group) ?? 0) - 1;
      if (remaining > 0) this.#counts.set(group, remaining);
      else this.#counts.delete(group);
    });
  }
}
