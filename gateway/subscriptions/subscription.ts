import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { OtherUnits } from '../network-files/options/units-option.ts';
import { NOTIFICATION_METHOD } from '../spec/handlers.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Unsubscribe, Subscriber } from './feeds/subscriber.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import type { SubscriptionParams } from './subscription-params.ts';

/**
 * Sends each result as a message.
 * @param start the JSON text of the message before the result; `}}` follows the result
 */
export type SendNotifications = (start: string, results: readonly Buffer[]) => void;

export interface SubscriptionOptions {
  readonly subscriptions: Pick<NetworkSubscriptions, 'metrics' | 'usage'>;
  readonly keySessions: { readonly access: KeyAccess; drain(reason: 'quota-used-up'): void };
  readonly limiter: Limiter;
  /** The socket, which a reload may move to another version of its network. */
  readonly session: {
    readonly network: { readonly otherUnits: OtherUnits };
  };
  readonly send: SendNotifications;
  readonly end: (reason: 'key-settings' | 'missed-blocks' | 'other-chain' | 'slow-reader') => void;
}

const noMethods: ReadonlyMap<string, number> = new Map();

/** Limit of characters buffered until the response to `eth_subscribe` is sent. A batch with slow calls delays it. */
const MAX_PENDING_CHARS = 4_000_000;

/** Sends the notifications of one subscription. Until the client has the subscription's id, results are buffered. */
export class Subscription implements Subscriber {
  readonly id = makeId();
  readonly method: MethodSpec;
  readonly params: SubscriptionParams;
  readonly owner: string;
  isClosed = false;
  /** Releases what was accounted for it. */
  release: () => void = () => undefined;
  unsubscribe: Unsubscribe = () => undefined;
  readonly #parts: SubscriptionOptions;
  /** The JSON text of a notification before its result. */
  readonly #messageStart: string;
  #pending: [results: readonly string[], block: number | undefined][] | undefined = [];
  #pendingChars = 0;
  /** The block or second of the last charge. */
  #chargedFor: number | undefined;

  constructor(parts: SubscriptionOptions, method: MethodSpec, params: SubscriptionParams) {
    this.#parts = parts;
    this.owner = parts.keySessions.access.account.payer.name;
    this.method = method;
    this.params = params;
    this.#messageStart = `{"jsonrpc":"2.0","method":"${NOTIFICATION_METHOD}","params":{"subscription":"${this.id}","result":`;
  }

  deliver(results: readonly string[], block?: number): void {
    if (this.#pending === undefined) {
      this.#send(results, block);
      return;
    }
    for (const { length } of results) this.#pendingChars += length;
    if (this.#pendingChars > MAX_PENDING_CHARS) this.#parts.end('slow-reader');
    else this.#pending.push([results, block]);
  }

  markGap(reason: 'missed-blocks' | 'other-chain' = 'missed-blocks'): void {
    this.#parts.end(reason);
  }

  /** Sends the buffered results. Call it after the response with the id is sent. */
  startNotifications(): void {
    const pending = this.#pending ?? [];
    this.#pending = undefined;
    for (const [results, block] of pending) this.#send(results, block);
  }

  #send(results: readonly string[], block: number | undefined): void {
    const { send, keySessions, subscriptions } = this.#parts;
    const start = this.#messageStart;
    const shared = bytesOf(results);
    send(start, shared);
    subscriptions.metrics[this.params.kind].notified(shared.length);
    const { record, token } = keySessions.access;
    let units = this.#unitsOf(results, block);
    if (units > 0) void this.#charge(units);
    for (const { length } of shared) {
      subscriptions.usage.add(record.id, units, undefined, start.length + length + 2, token !== undefined);
      units = 0;
    }
  }

  /** Each head costs, the logs of a block together, and the pending transactions of a second together. */
  #unitsOf({ length }: readonly string[], block: number | undefined): number {
    const { otherUnits } = this.#parts.session.network;
    const { kind } = this.params;
    const units = otherUnits[kind];
    const chargedFor = kind === 'newPendingTransactions' ? Math.floor(clock.now() / 1_000) : block;
    if (units === 0 || chargedFor === undefined) return units * length;
    if (chargedFor === this.#chargedFor) return 0;
    this.#chargedFor = chargedFor;
    return units;
  }

  /** A rate holds no notification back. A quota that is used up closes the sockets of the key, because none may be lost unnoticed. */
  async #charge(units: number): Promise<void> {
    const { keySessions, limiter } = this.#parts;
    const { limits } = keySessions.access;
    if (limits?.isCharged !== true) return;
    const { shortage } = await limiter.charge(limits, { units, byMethod: noMethods });
    if (shortage?.reason.endsWith('-quota') === true) keySessions.drain('quota-used-up');
  }
}

/** The bytes of results that are being delivered: the subscribers of a kind get the same list. */
const bytesOfResults = new WeakMap<readonly string[], readonly Buffer[]>();

function bytesOf(results: readonly string[]): readonly Buffer[] {
  let bytes = bytesOfResults.get(results);
  if (bytes === undefined) bytesOfResults.set(results, (bytes = results.map((result) => Buffer.from(result))));
  return bytes;
}

/** Id in the format of geth's ids (rpc/subscription.go, `NewID`): 16 random bytes without leading zeros. */
export function makeId(): string {
  return `0x${random
    .bytes(16)
    .toString('hex')
    .replace(/^0+(?=.)/, '')}`;
}
