import type { CachedResponse } from '../cache/response-cache.ts';
import { textOf, type Call, type InvalidItem } from '../jsonrpc/envelope.ts';
import type { NetworkMethod, Network } from '../networks/network.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

type CachedOrPending = Promise<UpstreamResponse | CachedResponse> | CachedResponse;

/** Sends identical calls of one batch to upstreams once. Each call still gets a response under its own id. */
export class DeduplicatedCalls {
  readonly #responses: Map<string, CachedOrPending | undefined>;

  private constructor(responses: Map<string, CachedOrPending | undefined>) {
    this.#responses = responses;
  }

  /** @returns undefined if the batch has no duplicates */
  static async among(
    items: readonly (Call | InvalidItem)[],
    { methods }: Pick<Network, 'methods'>,
  ): Promise<DeduplicatedCalls | undefined> {
    if (items.length < 2) return undefined;
    const seen = new Set<string>();
    const duplicates = new Map<string, undefined>();
    for (const item of items) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      const method = 'rejection' in item ? undefined : methods.get(item.method);
      if (method?.isCoalescable !== true) continue;
      const key = deduplicationKey(method, item as Call);
      if (seen.has(key)) duplicates.set(key, undefined);
      else seen.add(key);
    }
    return duplicates.size === 0 ? undefined : new DeduplicatedCalls(duplicates);
  }

  /** Returns the response to a call. Duplicates get the response to the first identical call. */
  response(method: NetworkMethod, call: Call, request: () => CachedOrPending): CachedOrPending {
    if (!method.isCoalescable) return request();
    const key = deduplicationKey(method, call);
    const existing = this.#responses.get(key);
    if (existing !== undefined || !this.#responses.has(key)) return existing ?? request();
    const response = request();
    this.#responses.set(key, response);
    return response;
  }
}

function deduplicationKey({ spec: { name } }: NetworkMethod, call: Call): string {
  return name + textOf(call);
}
