import type { CanonicalChain, ChainChange } from '../../heads/canonical-chain.ts';
import type { Header } from '../../heads/header.ts';
import { normaliseFields } from '../../normalise/results/complete-object.ts';
import type { ObjectShape } from '../../spec/method-spec.ts';
import type { Unsubscribe, Subscriber } from './subscriber.ts';

/**
 * Members that geth's newHeads has in every header, null where a fork has not brought them yet; blocks leave them out
 * then (geth 1.17.5, core/types/gen_header_json.go and internal/ethapi/api.go, `RPCMarshalHeader`).
 */
const nullInHeaders = [
  ...['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
  ...['blockAccessListHash', 'slotNumber'],
];

/** Tells each header that the chain goes on with; after a reorganisation, those of the new branch. */
export class HeadsFeed {
  readonly #chain: CanonicalChain;
  readonly #shape: ObjectShape | undefined;
  /** Of the last header that an upstream sent by newHeads. */
  #notificationMembers: readonly string[] = nullInHeaders;
  readonly #subscribers = new Set<Subscriber>();
  #stopWatching: Unsubscribe | undefined;

  /** @param shape of a block: headers have the same quantities and addresses */
  constructor(chain: CanonicalChain, shape: ObjectShape | undefined) {
    this.#chain = chain;
    this.#shape = shape;
  }

  join(listener: Subscriber): Unsubscribe {
    this.#subscribers.add(listener);
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#deliverHeaders(change);
    });
    return () => {
      this.#subscribers.delete(listener);
      if (this.#subscribers.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  /** The header with the same members, whether an upstream sent it or the gateway read it from a block. */
  #withAllMembers({ block, isFromBlock }: Header): Record<string, unknown> {
    const header = { ...block };
    if (isFromBlock) for (const name of this.#notificationMembers) header[name] ??= null;
    else this.#notificationMembers = Object.keys(block);
    if (this.#shape !== undefined) normaliseFields(header, this.#shape);
    return header;
  }

  /** Where blocks were missed for good we go on: a header tells its number and its parent, so that the gap shows. */
  #deliverHeaders({ added }: ChainChange): void {
    if (added.length === 0) return;
    const results = added.map((header) => JSON.stringify(this.#withAllMembers(header)));
    for (const listener of this.#subscribers) listener.deliver(results);
  }
}
