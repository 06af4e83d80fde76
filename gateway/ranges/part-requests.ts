import { clock } from '../clock/clock.ts';
import type { CallerShare } from '../admission/key-share.ts';
import type { CompleteResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Shortage } from '../limits/limit-state.ts';
import type { CallRecord } from '../observability/call-record.ts';
import { Cancelled, type Cancellation } from '../upstreams/transport/cancellation.ts';
import { bytesOf, elementsIn } from './list-bytes.ts';
import { mergeLogs } from '../normalise/results/merge-logs.ts';
import { failedPart } from './part-failure.ts';
import type { RangeFilter } from './range-filter.ts';
import { MAX_PARTS, TOO_MANY_PARTS } from './range-limits.ts';
import type { ReceivedParts } from './received-parts.ts';
import type { SentRange } from './sent-range.ts';

/** Charges the key for the calls of parts. */
export interface PartCharges {
  /** @param params of the call of a part @returns the limit of the key that does not allow it now */
  charge(params: readonly unknown[]): Promise<Shortage | undefined>;
  /** The call was refused as too large: what it cost is for later ones. */
  refund(params: readonly unknown[]): void;
}

export interface PartRequestsOptions {
  readonly filter: RangeFilter;
  readonly received: ReceivedParts;
  readonly share: CallerShare;
  readonly deadline: number;
  readonly cancellation: Cancellation;
  readonly charges: PartCharges;
  /** Sends the call for a part. @throws RpcError, Cancelled (rejects with it) */
  readonly send: (
    params: readonly unknown[],
    part: SentRange,
    record: CallRecord | undefined,
  ) => Promise<CompleteResponse>;
}

/** The caller may disconnect during the wait. */
const MAX_WAIT_MS = 500;

/** Sends the calls of parts: one for each part, or one after the other for groups of addresses. */
export class PartRequests {
  readonly #options: PartRequestsOptions;
  readonly #inProgress = new Set<Promise<unknown>>();
  #sent = 0;

  constructor(options: PartRequestsOptions) {
    this.#options = options;
  }

  /** The elements of the list of a part. @throws RpcError, FailedPart, Cancelled (rejects with it) */
  async elementsOf(part: SentRange, addressesPerCall: number, record: CallRecord | undefined): Promise<Buffer> {
    const { addresses } = this.#options.filter;
    const elements =
      addresses.length <= addressesPerCall
        ? elementsIn(bytesOf(await this.#send(part, undefined, record)))
        : await this.#merged(part, addressesPerCall, record);
    if (elements === undefined) throw new RpcError('no-upstream', 'an upstream returned a result that is not a list');
    return elements;
  }

  /** One group at a time: the part has one slot of the key. */
  async #merged(part: SentRange, perCall: number, record: CallRecord | undefined): Promise<Buffer | undefined> {
    const { received, filter, share } = this.#options;
    const lists: Buffer[] = [];
    try {
      for (let at = 0; at < filter.addresses.length; at += perCall) {
        const list = bytesOf(await this.#send(part, filter.addresses.slice(at, at + perCall), record));
        received.take(list.length);
        lists.push(list);
      }
      return await mergeLogs(lists, share.name);
    } finally {
      for (const { length } of lists) received.giveBack(length);
    }
  }

  async #send(
    part: SentRange,
    addresses: readonly string[] | undefined,
    record: CallRecord | undefined,
  ): Promise<CompleteResponse> {
    const { filter, received, charges, send } = this.#options;
    if (++this.#sent > MAX_PARTS) throw received.beyond(TOO_MANY_PARTS);
    const params = filter.paramsOf(part.range, addresses);
    await this.#charge(params);
    const request = send(params, part, record);
    this.#inProgress.add(request);
    try {
      const response = await request;
      if (response.kind === 'error') throw failedPart(response, part.range);
      return response;
    } catch (error) {
      if (error instanceof RpcError && error.reason === 'request-too-large') charges.refund(params);
      throw error;
    } finally {
      this.#inProgress.delete(request);
    }
  }

  /** Waits until the rate limit of the key allows the call. @throws RpcError if it does not before the deadline */
  async #charge(params: readonly unknown[]): Promise<void> {
    const { charges, received, deadline, cancellation } = this.#options;
    for (;;) {
      const shortage = await charges.charge(params);
      if (cancellation.isCancelled) throw new Cancelled();
      if (shortage === undefined) return;
      const { reason, waitS = Infinity } = shortage;
      if (clock.now() + 1_000 * waitS >= deadline) {
        // The rejection names the range that has arrived.
        await Promise.allSettled(this.#inProgress);
        await clock.sleep(0);
        throw received.beyond(new RpcError(reason).message);
      }
      await clock.sleep(Math.min(1_000 * waitS, MAX_WAIT_MS));
    }
  }
}
