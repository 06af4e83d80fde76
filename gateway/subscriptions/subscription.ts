import { randomBytes } from 'node:crypto';
import type { KeyAccess } from '../keys/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Leave, Listener } from './listener.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import type { Wish } from './read-wish.ts';

export interface SubscriptionParts {
  readonly subscriptions: Pick<NetworkSubscriptions, 'meters' | 'usage'>;
  readonly holder: { readonly access: KeyAccess };
  /** Sends each text as a message. */
  readonly send: (texts: readonly string[]) => void;
  readonly end: (reason: 'key-settings' | 'missed-blocks' | 'slow-reader') => void;
}

/** Characters that may wait until the answer to `eth_subscribe` is sent: that takes longer in a batch of slow calls. */
const HELD_MAX = 4_000_000;

/** One subscription. What it is told before the caller knows its id waits. */
export class Subscription implements Listener {
  readonly id = makeId();
  readonly method: MethodSpec;
  readonly wish: Wish;
  leave: Leave = () => undefined;
  readonly #parts: SubscriptionParts;
  /** A notification up to its result. */
  readonly #start: string;
  #held: string[] | undefined = [];
  #heldLength = 0;

  constructor(parts: SubscriptionParts, method: MethodSpec, wish: Wish) {
    this.#parts = parts;
    this.method = method;
    this.wish = wish;
    this.#start = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${this.id}","result":`;
  }

  tell(results: readonly string[]): void {
    if (this.#held === undefined) {
      this.#send(results);
      return;
    }
    for (const { length } of results) this.#heldLength += length;
    if (this.#heldLength > HELD_MAX) this.#parts.end('slow-reader');
    else this.#held.push(...results);
  }

  lose(): void {
    this.#parts.end('missed-blocks');
  }

  /** The caller knows the id. */
  begin(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    if (held.length > 0) this.#send(held);
  }

  #send(results: readonly string[]): void {
    const { send, holder, subscriptions } = this.#parts;
    const texts = results.map((result) => `${this.#start}${result}}}`);
    send(texts);
    subscriptions.meters[this.wish.kind].told(texts.length);
    for (const { length } of texts) subscriptions.usage.add(holder.access.record.id, 0, false, length);
  }
}

/** As geth's (rpc/subscription.go, `NewID`): 16 random bytes, without zeros in front. */
export function makeId(): string {
  return `0x${randomBytes(16)
    .toString('hex')
    .replace(/^0+(?=.)/, '')}`;
}
