import { checkChain } from './check-chain.ts';
import type { HttpResponse } from './http-upstream.ts';
import { readResponse } from './read-response.ts';
import type { UpstreamResponse } from './upstream-response.ts';

/** A WebSocket to a node, which calls may share. */
export interface SubscriptionLink {
  exchange(body: string, timeLimitMs: number, id: number): Promise<HttpResponse>;
  /** @returns stops it */
  listen(listener: LinkListener): () => void;
}

export interface LinkListener {
  /** A notification, whose ever it is, as it came. */
  notified(body: Buffer): void;
  /** The connection was lost. */
  lost(): void;
}

export interface SubscriptionOptions {
  readonly chainId: number;
  /** Of eth_subscribe, as JSON text. */
  readonly params: string;
  /** For each reply. */
  readonly timeoutMs: number;
  /** An id that no other call over the link has. */
  readonly nextId: () => number;
}

export interface SubscriptionEvents {
  /** The node has taken it, and tells from now on. */
  started(): void;
  /** @param result of a notification, as the node gave it */
  notified(result: unknown): void;
  /** Once, unless it was closed from here. */
  ended(): void;
}

interface Notification {
  readonly subscription?: unknown;
  readonly result?: unknown;
}

/**
 * One eth_subscribe. The node is asked for its chain id first: another may have taken its place, and the WebSocket's
 * address may be another's than the URL's.
 */
export function openSubscription(
  link: SubscriptionLink,
  { chainId, params, timeoutMs, nextId }: SubscriptionOptions,
  events: SubscriptionEvents,
): { close(): void } {
  let subscription: unknown;
  /** What came in the same breath as the reply to eth_subscribe. */
  let earlyNotifications: Notification[] = [];
  let hasEnded = false;

  const request = async (method: string, requestParams: string): Promise<UpstreamResponse> => {
    const id = nextId();
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${requestParams}}`;
    const { status, body } = await link.exchange(text, timeoutMs, id);
    return readResponse(status, body, id);
  };
  const deliver = ({ subscription: id, result }: Notification): void => {
    if (!hasEnded && id === subscription) events.notified(result);
  };
  const end = (): boolean => {
    if (hasEnded) return false;
    hasEnded = true;
    stopListening();
    return true;
  };
  const stopListening = link.listen({
    notified: (body) => {
      const notified = read(body);
      if (subscription === undefined) earlyNotifications.push(notified);
      else deliver(notified);
    },
    lost: () => {
      if (end()) events.ended();
    },
  });
  const begin = async (): Promise<void> => {
    checkChain(await request('eth_chainId', '[]'), chainId);
    const response = await request('eth_subscribe', params);
    if (response.kind !== 'result' || hasEnded) throw new Error('eth_subscribe is refused');
    subscription = response.result;
    events.started();
    for (const notified of earlyNotifications) deliver(notified);
    earlyNotifications = [];
  };
  begin().catch(() => {
    if (end()) events.ended();
  });
  return {
    close: () => {
      if (end() && subscription !== undefined) {
        request('eth_unsubscribe', JSON.stringify([subscription])).catch(() => undefined); // it ends with the connection
      }
    },
  };
}

/** Of `{"method":"eth_subscription","params":{"subscription":…,"result":…}}`, the only notification that nodes know. */
function read(body: Buffer): Notification {
  try {
    return (JSON.parse(body.toString()) as { params?: Notification }).params ?? {};
  } catch {
    return {};
  }
}
