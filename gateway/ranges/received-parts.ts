import { RpcError } from '../jsonrpc/errors.ts';
import type { Reservation } from '../memory/reservation.ts';
import { blocksFrom } from '../spec/bounds.ts';
import type { LargeResponse } from '../upstreams/transport/upstream-response.ts';
import { joinLists } from './list-bytes.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';

interface Part extends BlockRange {
  readonly elements: Buffer;
  /** The blocks of the part were final when it was requested. */
  readonly isFinal: boolean;
}

export interface PartBounds {
  /** Takes the bytes from the share of the key; undefined: they are not accounted. */
  readonly reservation: Reservation | undefined;
  /** Maximum bytes of the response; undefined: any. */
  readonly maxResponseBytes: number | undefined;
}

/** Bytes of the response around the list. */
const ENVELOPE_BYTES = 200;
/** Share of the blocks that the results so far suggest, because results are not spread evenly. */
const SAFE_SHARE = 0.8;

/** Holds the lists of the parts of one request, within the bounds of the key, until all have arrived. */
export class ReceivedParts {
  readonly #range: BlockRange;
  readonly #bounds: PartBounds;
  #parts: Part[] = [];
  #bytes = 0;
  #blocks = 0;
  /** Bytes from the share of the key. */
  #taken = 0;

  /** @param range of the request */
  constructor(range: BlockRange, bounds: PartBounds) {
    this.#range = range;
    this.#bounds = bounds;
  }

  /** @throws RpcError beyond-bound, overloaded */
  add(part: Part): void {
    const { maxResponseBytes: max } = this.#bounds;
    const bytes = part.elements.length + 1;
    this.#parts.push(part);
    this.#bytes += bytes;
    this.#blocks += blocksIn(part);
    if (max !== undefined && this.#bytes > max - ENVELOPE_BYTES)
      throw this.beyond(`maxResponseBytes is ${max}: the response has more bytes`, max - ENVELOPE_BYTES);
    this.take(bytes);
  }

  /** Takes bytes that are needed for a part. @throws RpcError beyond-bound, overloaded */
  take(bytes: number): void {
    try {
      this.#bounds.reservation?.take(bytes);
      this.#taken += bytes;
    } catch (error) {
      throw this.memoryError(error);
    }
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    this.#bounds.reservation?.giveBack(bytes);
  }

  /** The rejection with a range that would fit, if the error is about the key's share of the memory. */
  memoryError(error: unknown): unknown {
    if (!(error instanceof RpcError) || error.reason !== 'memory-share') return error;
    return this.beyond('the response has more bytes than this project id may buffer', this.#taken);
  }

  /** @param maxBytes that the results of a range that fits may have; undefined: any number */
  beyond(problem: string, maxBytes = Infinity): RpcError {
    const { from } = this.#range;
    return new RpcError(
      'beyond-bound',
      `${problem}; ${blocksFrom(BigInt(from), this.#fittingBlocks(maxBytes))} would fit`,
    );
  }

  /** Removes the parts that a reorg may have changed. @returns their ranges */
  removeUnfinal(): BlockRange[] {
    const removed = this.#parts.filter(({ isFinal }) => !isFinal);
    this.#parts = this.#parts.filter(({ isFinal }) => isFinal);
    let bytes = 0;
    for (const part of removed) {
      bytes += part.elements.length + 1;
      this.#blocks -= blocksIn(part);
    }
    this.#bytes -= bytes;
    this.giveBack(bytes);
    return removed;
  }

  /** Gives back all bytes after a failure. */
  clear(): void {
    this.#parts = [];
    this.giveBack(this.#taken);
  }

  /** The response, which consists of the parts: their bytes stay taken. */
  join(): LargeResponse {
    return { ...joinLists(this.#inOrder().map(({ elements }) => elements)), isReserved: true };
  }

  #inOrder(): Part[] {
    return this.#parts.toSorted((one, other) => one.from - other.from);
  }

  /** Blocks from the start of the range whose lists have arrived and fit, or an estimate if the first does not. */
  #fittingBlocks(maxBytes: number): number {
    const { from } = this.#range;
    let next = from;
    let bytes = 0;
    for (const part of this.#inOrder()) {
      bytes += part.elements.length + 1;
      if (part.from !== next || bytes > maxBytes) break;
      next = part.to + 1;
    }
    if (next > from) return next - from;
    const density = this.#blocks === 0 ? 0 : this.#bytes / this.#blocks;
    const half = Math.ceil(blocksIn(this.#range) / 2);
    return density === 0 ? half : Math.max(1, Math.min(half, Math.floor((SAFE_SHARE * maxBytes) / density)));
  }
}
