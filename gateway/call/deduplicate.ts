import type { NetworkResponse } from '../cache/response-cache.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';

type CachedOrPending = Promise<NetworkResponse> | NetworkResponse;

interface BatchedCall {
  readonly name: string;
  /** The parameters as JSON. */
  readonly text: string;
  readonly served: { readonly isCoalescable: boolean } | undefined;
}

/** Sends identical calls of one batch to upstreams once. Each call still gets a response under its own id. */
export class DeduplicatedCalls {
  readonly #responses: Map<string, CachedOrPending | undefined>;

  private constructor(responses: Map<string, CachedOrPending | undefined>) {
    this.#responses = responses;
  }

  /** @returns undefined if the batch has no duplicates */
  static async among(items: readonly (BatchedCall | { rejection: unknown })[]): Promise<DeduplicatedCalls | undefined> {
    if (items.length < 2) return undefined;
    const seen = new Set<string>();
    const duplicates = new Map<string, undefined>();
    for (const item of items) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      if ('rejection' in item || item.served?.isCoalescable !== true) continue;
      const key = item.name + item.text;
      if (seen.has(key)) duplicates.set(key, undefined);
      else seen.add(key);
    }
    return duplicates.size === 0 ? undefined : new DeduplicatedCalls(duplicates);
  }

  /** Returns the response to a call that can be coalesced. Duplicates get the response to the first identical call. */
  response({ name, text }: BatchedCall, request: () => CachedOrPending): CachedOrPending {
    const key = name + text;
    const existing = this.#responses.get(key);
    if (existing !== undefined || !this.#responses.has(key)) return existing ?? request();
    const response = request();
    this.#responses.set(key, response);
    return response;
  }
}
