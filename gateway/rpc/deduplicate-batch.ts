import type { CachedResponse } from '../cache/response-cache.ts';
import { textOf, type Call, type InvalidItem } from '../jsonrpc/envelope.ts';
import type { NetworkMethod, Network } from '../networks/network.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

type CachedOrPending = Promise<UpstreamResponse | CachedResponse> | CachedResponse;

/** Calls that stand in a batch more than once: upstreams are asked once, and each is answered under its own id. */
export class DeduplicatedCalls {
  readonly #responses: Map<string, CachedOrPending | undefined>;

  private constructor(responses: Map<string, CachedOrPending | undefined>) {
    this.#responses = responses;
  }

  /** Undefined: there are none. */
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
      const name = deduplicationKey(method, item as Call);
      if (seen.has(name)) duplicates.set(name, undefined);
      else seen.add(name);
    }
    return duplicates.size === 0 ? undefined : new DeduplicatedCalls(duplicates);
  }

  /** The reply to a call: that to the first of its kind. */
  response(method: NetworkMethod, call: Call, request: () => CachedOrPending): CachedOrPending {
    if (!method.isCoalescable) return request();
    const name = deduplicationKey(method, call);
    const existing = this.#responses.get(name);
    if (existing !== undefined || !this.#responses.has(name)) return existing ?? request();
    const response = request();
    this.#responses.set(name, response);
    return response;
  }
}

function deduplicationKey({ spec: { name } }: NetworkMethod, call: Call): string {
  return name + textOf(call);
}
