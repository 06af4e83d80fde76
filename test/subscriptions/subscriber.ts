import { openCaller, socketUrl, type Caller } from '../server/websocket/caller.ts';
import type { TestGateway } from '../support/gateway.ts';

export interface Notification {
  readonly subscription: string;
  readonly result: unknown;
}

/** A client that records the notifications of each subscription. */
export interface Subscriber {
  readonly caller: Caller;
  /** @returns the results of its notifications, oldest first; the array grows */
  subscribe(kind: string, ...filter: unknown[]): Promise<unknown[]>;
  /** Sends a call and returns the response. */
  call(method: string, params: readonly unknown[]): Promise<{ result?: unknown; error?: unknown }>;
  /** Results by subscription id. */
  readonly notifications: ReadonlyMap<string, unknown[]>;
}

export async function openSubscriber(gateway: TestGateway, slug: string, key?: string): Promise<Subscriber> {
  return subscriberOver(await openCaller(socketUrl(gateway, slug, key)));
}

export function subscriberOver(caller: Caller): Subscriber {
  const notifications = new Map<string, unknown[]>();
  const waiting = new Map<number, (response: { result?: unknown; error?: unknown }) => void>();
  let nextId = 1;
  caller.socket.removeAllListeners('message');
  caller.socket.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString()) as { id?: number; params: Notification; method?: string };
    if (message.id !== undefined) {
      waiting.get(message.id)?.(message as { result?: unknown });
      return;
    }
    const { subscription, result } = message.params;
    if (message.method !== 'eth_subscription') throw new Error(`${message.method} is no notification`);
    const own = notifications.get(subscription);
    // The response to eth_subscribe comes first.
    if (own === undefined) throw new Error(`${subscription} has a notification before its response`);
    own.push(result);
  });
  const call: Subscriber['call'] = (method, params) =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(id, (response) => {
        // Synchronously, because a notification may follow immediately.
        if (method === 'eth_subscribe' && typeof response.result === 'string') notifications.set(response.result, []);
        resolve(response);
      });
      caller.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  return {
    caller,
    notifications,
    call,
    async subscribe(kind, ...filter) {
      const { result, error } = await call('eth_subscribe', [kind, ...filter]);
      if (error !== undefined) throw new Error(JSON.stringify(error));
      return notifications.get(String(result)) ?? [];
    },
  };
}
