import { clock } from '../clock/clock.ts';
import type { NetworkResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { rangeOf } from '../spec/count-params.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import { readRangeFilter, type RangeFilter } from './range-filter.ts';
import { MAX_PARTS } from './range-limits.ts';
import { requestInParts, type RangedCall, type RangedMethodOptions } from './range-run.ts';
import { SentRange } from './sent-range.ts';

/**
 * Serves one method whose filter has a block range. A call is sent as it is while an upstream allows its range, and in parts
 * otherwise.
 */
export class RangedMethod {
  readonly #options: RangedMethodOptions;

  constructor(options: RangedMethodOptions) {
    this.#options = options;
  }

  /** @throws RpcError, Cancelled (rejects with it) */
  async request(call: RangedCall): Promise<NetworkResponse> {
    const { spec, head, limits } = this.#options;
    const { params, record, sender } = call;
    // The call as a whole is not: its parts may be.
    record?.cached('not-cacheable');
    const filter = readRangeFilter(spec, params);
    if (filter === undefined) return sender.sendWhole(undefined);
    const estimate = rangeOf(params[spec.splits ?? 0], head());
    const range = { from: Number(estimate?.from ?? 0n), to: Number(estimate?.to ?? 0n) };
    this.#checkParts(range, call);
    const first = this.#firstFor(range, filter, call);
    if (first === 'none') return requestInParts(this.#options, call, filter, undefined);
    try {
      return await sender.sendWhole(new SentRange(range, first, limits, filter));
    } catch (error) {
      if (!(error instanceof RpcError) || error.reason !== 'request-too-large') throw error;
      this.#checkParts(range, call);
      return requestInParts(this.#options, call, filter, error);
    }
  }

  /** @throws RpcError if the range has too many parts */
  #checkParts(range: BlockRange, call: RangedCall): void {
    const { limits } = this.#options;
    if (limits.isEmpty || blocksIn(range) <= MAX_PARTS) return;
    const candidates = call.sender.candidatesFor(range.from, range.to);
    if (candidates.length > 0) limits.checkParts(candidates, range, clock.now());
  }

  /** The first upstream that allows the range. Undefined: by the ranking alone; `none`: no upstream allows it. */
  #firstFor(range: BlockRange, filter: RangeFilter, call: RangedCall): Upstream | 'none' | undefined {
    const { limits } = this.#options;
    if (limits.isEmpty || blocksIn(range) < 2) return undefined;
    const candidates = call.sender.candidatesFor(range.from, range.to);
    if (candidates.length === 0) return undefined;
    const now = clock.now();
    return candidates.find((one) => limits.widestFor(one, filter.key, now) >= blocksIn(range)) ?? 'none';
  }
}
