import type { CanonicalChain, ChainChange } from '../../heads/canonical-chain.ts';
import type { Header } from '../../heads/header.ts';
import { normaliseFields } from '../../normalise/results/complete-object.ts';
import type { ObjectShape } from '../../spec/method-spec.ts';
import type { Unsubscribe, ChainListener } from './chain-listener.ts';

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
  #members: readonly string[] = nullInHeaders;
  readonly #listeners = new Set<ChainListener>();
  #stopWatching: Unsubscribe | undefined;

  /** @param shape of a block: headers have the same quantities and addresses */
  constructor(chain: CanonicalChain, shape: ObjectShape | undefined) {
    this.#chain = chain;
    this.#shape = shape;
  }

  join(listener: ChainListener): Unsubscribe {
    this.#listeners.add(listener);
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#changed(change);
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  /** The header with the same members, whether an upstream sent it or the gateway read it from a block. */
  #withAllMembers({ block, isFromBlock }: Header): Record<string, unknown> {
    const header = { ...block };
    if (isFromBlock) for (const name of this.#members) header[name] ??= null;
    else this.#members = Object.keys(block);
    if (this.#shape !== undefined) normaliseFields(header, this.#shape);
    return header;
  }

  /** Where blocks were missed for good we go on: a header tells its number and its parent, so that the gap shows. */
  #changed({ added }: ChainChange): void {
    if (added.length === 0) return;
    const results = added.map((header) => JSON.stringify(this.#withAllMembers(header)));
    for (const listener of this.#listeners) listener.notify(results);
  }
}
