import type { Cancellation } from './cancellation.ts';
import { credentialsOf } from './credentials.ts';
import type { HttpResponse } from './http-upstream.ts';
import { UpstreamFailure } from './upstream-response.ts';
import type { LinkListener } from './websocket-subscription.ts';
import { WebSocketConnection, type ConnectionTimes } from './websocket-connection.ts';

export interface WebSocketUpstreamOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of a reply; more ends the connection and counts as a failure. */
  readonly responseMaxBytes: number;
  readonly times?: Partial<ConnectionTimes>;
}

const defaultTimes: ConnectionTimes = { handshakeMs: 5_000, pingMs: 30_000, pongMs: 10_000, idleMs: 300_000 };

/** Between handshakes that fail. Longer rests are the business of `CircuitBreaker`, which knows of other upstreams. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/**
 * One upstream over one WebSocket, opened by the first call, shared by all, and opened again by the next call after it
 * was lost. After a handshake that failed, calls fail at once for a while.
 */
export class WebSocketUpstream {
  readonly secrets: readonly string[];
  readonly #open: () => WebSocketConnection;
  readonly #listeners = new Set<LinkListener>();
  #connection: WebSocketConnection | undefined;
  #failedHandshakes = 0;
  #retryAt = 0;
  #isClosed = false;

  constructor({ url: address, headers: givenHeaders, responseMaxBytes, times }: WebSocketUpstreamOptions) {
    const { url, headers, secrets } = credentialsOf(address, givenHeaders);
    const options = {
      url,
      headers: Object.fromEntries(headers),
      responseMaxBytes,
      times: { ...defaultTimes, ...times },
      onNotification: (body: Buffer) => {
        for (const listener of this.#listeners) listener.notified(body);
      },
    };
    this.secrets = secrets;
    this.#open = () =>
      new WebSocketConnection(options, (hasOpened) => {
        this.#ended(hasOpened);
      });
  }

  /**
   * Sends a call and waits for the reply to it.
   * @param timeLimitMs from now until the reply, a handshake included
   * @param id the id in the body: the reply is found by it
   * @param cancellation breaks it off
   * @throws UpstreamFailure, Cancelled
   */
  async exchange(body: string, timeLimitMs: number, id: number, cancellation?: Cancellation): Promise<HttpResponse> {
    if (this.#connection?.isUsable !== true) {
      if (this.#isClosed) throw new UpstreamFailure('transport', 'closed');
      if (performance.now() < this.#retryAt) throw new UpstreamFailure('transport', 'waits before a new handshake');
      this.#connection = this.#open();
    }
    return this.#connection.exchange(body, timeLimitMs, id, cancellation);
  }

  /** Hears what the node tells without being asked, and of the next loss of the connection. */
  listen(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Breaks off what is under way. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#connection?.close();
    return Promise.resolve();
  }

  /** The time to wait doubles; half of it is chance, so that many gateways do not come back at the same moment. */
  #ended(hasOpened: boolean): void {
    for (const listener of this.#listeners) listener.lost();
    if (hasOpened) {
      this.#failedHandshakes = 0;
      return;
    }
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(this.#failedHandshakes, 10), MAX_BACKOFF_MS);
    this.#failedHandshakes++;
    this.#retryAt = performance.now() + backoffMs * (0.5 + Math.random() / 2);
  }
}
