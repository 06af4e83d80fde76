import { random } from '../../clock/random.ts';
import { clock } from '../../clock/clock.ts';
import { Gate } from '../../admission/gate.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import type { Cancellation } from './cancellation.ts';
import { Connector, type ConnectOptions } from './connect/connector.ts';
import { credentialsOf, joinSecrets, type SecretTexts } from './credentials.ts';
import { FramingFlood, type HttpResponse } from './http-exchange.ts';
import type { ConnectionEvents, SentRequest, Transport } from './transport.ts';
import { NoFreeSlot, UpstreamFailure, type FailureClass } from './upstream-response.ts';
import type { LinkListener } from './websocket-subscription.ts';
import { NotificationFlood, WebSocketConnection, type ConnectionTimes } from './websocket-connection.ts';
import { withSlot } from './with-slot.ts';

export interface WebSocketUpstreamOptions extends ConnectOptions {
  /** Name of the upstream. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for a response. A larger one ends the connection and is an upstream failure. */
  readonly responseMaxBytes: number;
  /** Maximum calls in flight. Default: unlimited. */
  readonly slots?: number;
  /** Accounts responses while they arrive; undefined: they are not accounted. */
  readonly memory?: MemoryBudget | undefined;
  readonly times?: Partial<ConnectionTimes>;
}

const defaultTimes: ConnectionTimes = { handshakeMs: 5_000, pingMs: 30_000, pongMs: 10_000, idleMs: 300_000 };

/** Bounds for the time between failed handshakes. Longer cooldowns are the task of `CircuitBreaker`. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** Time without a connection after more notifications or framing than the limit. */
const FLOOD_PAUSE_MS = 30_000;

/**
 * Sends calls to one upstream over one WebSocket, which all calls share. The first call opens it; after a disconnect,
 * the next call opens it again. After a failed handshake, calls fail at once until the backoff is over.
 */
export class WebSocketUpstream implements Transport {
  readonly secrets: SecretTexts;
  readonly slots: Gate;
  readonly #open: () => WebSocketConnection;
  readonly #listeners = new Set<LinkListener>();
  /** Connector; undefined: without a proxy. */
  readonly #connector: Connector | undefined;
  #connection: WebSocketConnection | undefined;
  #failedHandshakes = 0;
  /** Back-off after a failed handshake: until its deadline, calls fail as the last handshake did. */
  #backoff: { deadline: number; failure: FailureClass; message: string } | undefined;
  #floodedUntil = 0;
  #isClosed = false;

  constructor({ url: address, headers: configured, slots, times, proxyUrl, ...bounds }: WebSocketUpstreamOptions) {
    const { url, headers, secrets } = credentialsOf(address, configured);
    const proxy = proxyUrl === undefined ? undefined : credentialsOf(proxyUrl, {});
    this.#connector = proxy && new Connector(url, proxy, bounds.tls);
    const options = {
      url,
      headers: Object.fromEntries(headers),
      connector: this.#connector,
      ...bounds,
      times: { ...defaultTimes, ...times },
      onNotification: (body: Buffer) => {
        for (const listener of this.#listeners) listener.notified(body);
      },
    };
    this.slots = new Gate({ slots: slots ?? Infinity, rejection: () => new NoFreeSlot() });
    this.secrets = proxy === undefined ? secrets : joinSecrets(secrets, proxy.secrets);
    this.#open = () =>
      new WebSocketConnection(options, (hasOpened, failure) => {
        if (failure instanceof NotificationFlood || failure instanceof FramingFlood)
          this.#floodedUntil = clock.now() + FLOOD_PAUSE_MS;
        this.#handleEnd(hasOpened, failure);
      });
  }

  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse> {
    return withSlot(this.slots, request, cancellation, () => this.#usableConnection().send(request, cancellation));
  }

  /** Adds a listener for notifications and disconnects. @returns a function that removes it */
  listen(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  watch(events: ConnectionEvents): void {
    // A next connection follows the loss of this one.
    this.#listeners.add({
      notified: () => undefined,
      disconnected: () => {
        events.lost();
      },
    });
  }

  /** Ends all calls in flight with a failure. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#connector?.close();
    this.#connection?.close();
    return Promise.resolve();
  }

  /** @throws UpstreamFailure */
  #usableConnection(): WebSocketConnection {
    if (this.#connection?.isUsable === true) return this.#connection;
    if (this.#isClosed) throw new UpstreamFailure('transport', 'closed');
    if (clock.now() < this.#floodedUntil)
      throw new UpstreamFailure('transport', 'too many notifications, or too much framing');
    if (this.#backoff !== undefined && clock.now() < this.#backoff.deadline) {
      const failure = new UpstreamFailure(this.#backoff.failure, this.#backoff.message);
      failure.isUnsent = true;
      throw failure;
    }
    return (this.#connection = this.#open());
  }

  /** The backoff doubles. Half of it is jitter, so that many gateways do not reconnect at once. */
  #handleEnd(hasOpened: boolean, { failure, message }: UpstreamFailure): void {
    for (const listener of this.#listeners) listener.disconnected();
    if (hasOpened) {
      this.#failedHandshakes = 0;
      return;
    }
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(this.#failedHandshakes, 10), MAX_BACKOFF_MS);
    this.#failedHandshakes++;
    this.#backoff = { deadline: clock.now() + backoffMs * (0.5 + random.number() / 2), failure, message };
  }
}
