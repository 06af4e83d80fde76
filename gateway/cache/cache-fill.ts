import type { Receiver } from '../upstreams/receiver.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FinalChain } from './final-chain.ts';
import type { CachedResponse, SentTo } from './response-cache.ts';

interface ResultStore {
  /** @returns the result as JSON, if it is cached */
  store(
    params: readonly unknown[],
    text: string,
    response: UpstreamResponse,
    headHash: string | undefined,
  ): string | Buffer | undefined;
}

/** Receives the response to a call, and stores its result in the cache of its method if possible. */
export class CacheFill implements Receiver<UpstreamResponse> {
  readonly sentTo: SentTo = { headHash: undefined };
  readonly #store: ResultStore;
  readonly #final: FinalChain;
  /** The chain's when the call was sent. */
  readonly #generation: number;
  readonly #params: readonly unknown[];
  readonly #text: string;
  readonly #receiver: Receiver<UpstreamResponse | CachedResponse>;

  constructor(
    store: ResultStore,
    final: FinalChain,
    params: readonly unknown[],
    text: string,
    receiver: Receiver<UpstreamResponse | CachedResponse>,
  ) {
    this.#store = store;
    this.#final = final;
    this.#generation = final.generation;
    this.#params = params;
    this.#text = text;
    this.#receiver = receiver;
  }

  succeeded(response: UpstreamResponse): void {
    let result: string | Buffer | undefined;
    try {
      if (this.#generation === this.#final.generation)
        result = this.#store.store(this.#params, this.#text, response, this.sentTo.headHash);
    } catch (error) {
      this.#receiver.failed(error);
      return;
    }
    // The cached JSON is reused, so that the result is serialised once.
    this.#receiver.succeeded(result === undefined ? response : { kind: 'cached', result });
  }

  failed(error: unknown): void {
    this.#receiver.failed(error);
  }
}
