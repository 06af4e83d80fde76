import { randomBytes } from 'node:crypto';
import type { KeyAccess } from '../auth/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Unsubscribe, Subscriber } from './feeds/subscriber.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import type { SubscriptionParams } from './subscription-params.ts';

export interface SubscriptionOptions {
  readonly subscriptions: Pick<NetworkSubscriptions, 'metrics' | 'usage'>;
  readonly keySessions: { readonly access: KeyAccess };
  /** Sends each text as a message. */
  readonly send: (texts: readonly string[]) => void;
  readonly end: (reason: 'key-settings' | 'missed-blocks' | 'slow-reader') => void;
}

/** Characters that may wait until the answer to `eth_subscribe` is sent: that takes longer in a batch of slow calls. */
const MAX_PENDING_CHARS = 4_000_000;

/** One subscription. What it is told before the caller knows its id waits. */
export class Subscription implements Subscriber {
  readonly id = makeId();
  readonly method: MethodSpec;
  readonly params: SubscriptionParams;
  unsubscribe: Unsubscribe = () => undefined;
  readonly #parts: SubscriptionOptions;
  /** A notification up to its result. */
  readonly #messageStart: string;
  #pending: string[] | undefined = [];
  #pendingChars = 0;

  constructor(parts: SubscriptionOptions, method: MethodSpec, params: SubscriptionParams) {
    this.#parts = parts;
    this.method = method;
    this.params = params;
    this.#messageStart = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${this.id}","result":`;
  }

  deliver(results: readonly string[]): void {
    if (this.#pending === undefined) {
      this.#send(results);
      return;
    }
    for (const { length } of results) this.#pendingChars += length;
    if (this.#pendingChars > MAX_PENDING_CHARS) this.#parts.end('slow-reader');
    else this.#pending.push(...results);
  }

  markGap(): void {
    this.#parts.end('missed-blocks');
  }

  /** The caller knows the id. */
  startNotifications(): void {
    const pending = this.#pending ?? [];
    this.#pending = undefined;
    if (pending.length > 0) this.#send(pending);
  }

  #send(results: readonly string[]): void {
    const { send, keySessions, subscriptions } = this.#parts;
    const texts = results.map((result) => `${this.#messageStart}${result}}}`);
    send(texts);
    subscriptions.metrics[this.params.kind].notified(texts.length);
    for (const { length } of texts) subscriptions.usage.add(keySessions.access.record.id, 0, false, length);
  }
}

/** As geth's (rpc/subscription.go, `NewID`): 16 random bytes, without zeros in front. */
export function makeId(): string {
  return `0x${randomBytes(16)
    .toString('hex')
    .replace(/^0+(?=.)/, '')}`;
}
