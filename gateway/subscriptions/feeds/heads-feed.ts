import type { ChainChange } from '../../chain/header-ring.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Header } from '../../chain/header.ts';
import { normaliseFields } from '../../normalise/results/complete-object.ts';
import type { ObjectShape } from '../../spec/method-spec.ts';
import { fanOut } from './fan-out.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';

/**
 * Members that geth's newHeads has in every header, as null before the fork that adds them. Blocks omit them before the
 * fork (geth 1.17.5, core/types/gen_header_json.go and internal/ethapi/api.go, `RPCMarshalHeader`).
 */
const nullInHeaders = [
  ...['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
  ...['blockAccessListHash', 'slotNumber'],
];

/** Delivers the header of each new block of the chain; after a reorg, the headers of the new branch. */
export class HeadsFeed {
  readonly #chain: Pick<WatchedChain, 'watch'>;
  readonly #shape: ObjectShape | undefined;
  /** Member names of the last header that an upstream sent as a newHeads notification. */
  #notificationMembers: readonly string[] = nullInHeaders;
  readonly #subscribers = new Set<Subscriber>();
  #stopWatching: Unsubscribe | undefined;

  /** @param shape of a block; headers have the same quantities and addresses */
  constructor(chain: Pick<WatchedChain, 'watch'>, shape: ObjectShape | undefined) {
    this.#chain = chain;
    this.#shape = shape;
  }

  join(subscriber: Subscriber): Unsubscribe {
    this.#subscribers.add(subscriber);
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#deliverHeaders(change);
    });
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  /** Gives headers from blocks the same members as headers from notifications. */
  #withAllMembers({ block, isFromBlock }: Header): Record<string, unknown> {
    const header = { ...block };
    if (isFromBlock) for (const name of this.#notificationMembers) header[name] ??= null;
    else this.#notificationMembers = Object.keys(block);
    if (this.#shape !== undefined) normaliseFields(header, this.#shape);
    return header;
  }

  #deliverHeaders({ added, hasGap, isOtherChain }: ChainChange): void {
    if (hasGap === true) {
      for (const subscriber of this.#subscribers)
        subscriber.markGap(isOtherChain === true ? 'other-chain' : 'missed-blocks');
      return;
    }
    if (added.length === 0) return;
    const results = added.map((header) => JSON.stringify(this.#withAllMembers(header)));
    for (const subscriber of this.#subscribers) fanOut.deliver(subscriber, results);
  }
}
