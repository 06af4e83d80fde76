import { clock } from '../../clock/clock.ts';
import { exceeds } from '../../json/nesting.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';
import { MAX_DEPTH } from '../../spec/result-bounds.ts';
import { checkChain } from './check-chain.ts';
import type { Secrets } from './credentials.ts';
import type { HttpResponse } from './http-exchange.ts';
import { parseJson } from '../../json/parse-json.ts';
import { readResponse } from './read-response.ts';
import type { SentRequest } from './transport.ts';
import { UpstreamFailure, type UpstreamResponse } from './upstream-response.ts';

/** A WebSocket to an upstream, which subscriptions and calls share. */
export interface SubscriptionLink {
  send(request: SentRequest): Promise<HttpResponse>;
  /** @returns a function that removes the listener */
  listen(listener: LinkListener): () => void;
}

export interface LinkListener {
  /** Handles a notification: called with every one of the connection, also of other subscriptions. */
  notified(body: Buffer): void;
  /** Handles the end of the connection: called then. */
  disconnected(): void;
}

export interface UpstreamSubscriptionOptions {
  readonly chainId: number;
  /** The parameters of eth_subscribe, as JSON text. */
  readonly params: string;
  /** Time limit of each response. */
  readonly timeoutMs: number;
  /** Secrets that are removed from notifications. */
  readonly secrets: Secrets;
  /** @returns an id that no other call over the connection has */
  readonly nextId: () => number;
  /** eth_chainId returned the id of another chain. */
  readonly onOtherChain: () => void;
}

export interface SubscriptionEvents {
  /** Handles the start: called when the upstream has accepted the subscription. */
  started(): void;
  /** @param result of one notification */
  notified(result: unknown): void;
  /** Handles the end: called once, unless `close` was called. */
  ended(): void;
}

/** A longer notification is ignored: a header has up to 64 kB, a transaction hash 66 characters. */
const MAX_NOTIFICATION_BYTES = 128_000;
/**
 * Limits of a notification: one with more values is ignored too. A header has up to 30, and some nodes add the hashes of its
 * transactions.
 */
const notificationLimits = { depth: MAX_DEPTH, values: 2_000 };
/** Limit for notifications before the response to eth_subscribe. Beyond it, the subscription ends. */
const MAX_EARLY_BYTES = 1_000_000;
/** Minimum that each notification counts. */
const MIN_EARLY_BYTES = 1_000;

interface Notification {
  readonly subscription?: unknown;
  readonly result?: unknown;
}

/**
 * Opens one subscription with eth_subscribe. It checks eth_chainId first: another node may use the address by now, and
 * the WebSocket URL may differ from the HTTP URL.
 */
export function openSubscription(
  link: SubscriptionLink,
  { chainId, params, timeoutMs, secrets, nextId, onOtherChain }: UpstreamSubscriptionOptions,
  events: SubscriptionEvents,
): { close(): void } {
  let subscription: unknown;
  /** Notifications that arrive before the response to eth_subscribe is handled. */
  let earlyNotifications: Notification[] = [];
  let earlyBytes = 0;
  let hasEnded = false;

  const request = async (method: string, requestParams: string): Promise<UpstreamResponse> => {
    const id = nextId();
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${requestParams}}`;
    return readResponse(await link.send({ id, body, deadline: clock.now() + timeoutMs }), id, secrets);
  };
  const deliver = ({ subscription: id, result }: Notification): void => {
    if (!hasEnded && id === subscription) events.notified(result);
  };
  const isOpen = (): boolean => !hasEnded;
  const end = (): boolean => {
    if (hasEnded) return false;
    hasEnded = true;
    stopListening();
    return true;
  };
  const stopListening = link.listen({
    notified: (body) => {
      if (body.length > MAX_NOTIFICATION_BYTES || exceeds(body, notificationLimits)) return;
      if (subscription === undefined) earlyBytes += Math.max(body.length, MIN_EARLY_BYTES);
      if (earlyBytes > MAX_EARLY_BYTES) {
        earlyNotifications = [];
        if (end()) events.ended();
        return;
      }
      const notification = parseNotification(secrets.removeFromJson(body.toString()));
      if (subscription === undefined) earlyNotifications.push(notification);
      else deliver(notification);
    },
    disconnected: () => {
      if (end()) events.ended();
    },
  });
  const unsubscribe = (): void => {
    // A failure does not matter: the subscription also ends with the connection.
    request(nodeMethods.unsubscribe, JSON.stringify([subscription])).catch(() => undefined);
  };
  const begin = async (): Promise<void> => {
    checkChain(await request(nodeMethods.chainId, '[]'), chainId);
    if (!isOpen()) return;
    const response = await request(nodeMethods.subscribe, params);
    if (response.kind !== 'result') throw new Error('the subscription was rejected');
    subscription = response.result;
    if (!isOpen()) {
      unsubscribe();
      return;
    }
    events.started();
    for (const notification of earlyNotifications) deliver(notification);
    earlyNotifications = [];
    earlyBytes = 0;
  };
  begin().catch((error: unknown) => {
    if (error instanceof UpstreamFailure && error.failure === 'wrong-chain') onOtherChain();
    if (end()) events.ended();
  });
  return {
    close: () => {
      if (end() && subscription !== undefined) unsubscribe();
    },
  };
}

/** Nodes only send `{"method":"eth_subscription","params":{"subscription":…,"result":…}}`. */
function parseNotification(text: string): Notification {
  return (parseJson(text) as { readonly params?: Notification } | null | undefined)?.params ?? {};
}
