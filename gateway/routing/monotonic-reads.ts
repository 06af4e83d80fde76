import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import type { HeadPositions, Tag } from '../upstreams/available-blocks.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** What follows the heads, and hears of what callers were told. */
export type ObservedHeads<U> = HeadPositions<U> & {
  /** The newest block that subscribers were told of. */
  readonly newestDelivered: bigint | undefined;
  observe(upstream: U, number: bigint, now: number): void;
};

/** The number of the block that a reply is, or is in; made elsewhere (`cache/`). */
export type BlockNumberIn = (response: UpstreamResponse) => bigint | undefined;

/** A caller was told of a block of this number. */
export type OnServed = (number: bigint, now: number) => void;

/** An upstream that told of an older safe or finalized block may have come on by then: nobody looks at it meanwhile. */
const BEHIND_TTL_MS = 12_000;

/** Types of results that tell a caller how far the chain is. */
const shapesWithBlock: ReadonlySet<string | undefined> = new Set(['Block', 'Transaction', 'Receipt']);

/**
 * How far callers of a network have seen its chain, by what its upstreams told them. None is taken back while there is an
 * upstream that knows better. `latest` goes back where the upstreams agree on a lower head (`NetworkHeads`); `safe` and
 * `finalized` where all that are up were asked for it and said less.
 */
export class MonotonicReads<U extends object> {
  readonly #heads: ObservedHeads<U>;
  readonly #blockNumberIn: BlockNumberIn;
  readonly #onServed: OnServed;
  readonly #older = { safe: new TagHighWater<U>(), finalized: new TagHighWater<U>() };
  #newest = 0n;

  constructor(heads: ObservedHeads<U>, blockNumberIn: BlockNumberIn, onServed: OnServed) {
    this.#heads = heads;
    this.#blockNumberIn = blockNumberIn;
    this.#onServed = onServed;
  }

  /** The number of the newest block that callers may know of. */
  get newest(): bigint {
    const { number, newestDelivered } = this.#heads;
    if (newestDelivered !== undefined && newestDelivered > this.#newest) this.#newest = newestDelivered;
    // One told an absurd number, or the chain went back.
    if (number !== undefined && number < this.#newest) this.#newest = number;
    return this.#newest;
  }

  /** Whether an upstream would take back what callers have seen of a tag, as far as is known. */
  isBehind(upstream: U, tag: Tag, now: number): boolean {
    if (tag !== 'latest' && this.#older[tag].isBehind(upstream, now)) return true;
    const { newest } = this;
    return newest > 0n && !this.#heads.hasBlock(upstream, newest);
  }

  /** Whether an upstream is behind the network's head, or behind what callers know of. */
  isLagging(upstream: U): boolean {
    return this.#heads.lagOf(upstream) > 0 || this.isBehind(upstream, 'latest', 0);
  }

  /** An upstream gave a caller this. */
  recordServed(upstream: U, { method, params, blocks }: RoutedCall, response: UpstreamResponse, now: number): void {
    const isHead = method.name === 'eth_blockNumber';
    const isLogs = method.name === 'eth_getLogs';
    if (!isHead && !isLogs && !shapesWithBlock.has(method.shape?.type)) return;
    // Its number is one that no block has yet.
    if (params[0] === 'pending' || response.kind === 'error') return;
    const number = isHead ? quantityIn(response) : isLogs ? newestLogIn(response) : this.#blockNumberIn(response);
    if (number === undefined) return;
    const tag = blocks?.tag;
    if (tag !== undefined && tag !== 'latest') this.#older[tag].record(upstream, number, now);
    this.#heads.observe(upstream, number, now);
    if (number > this.#newest) this.#newest = number;
    this.#onServed(number, now);
  }

  /** Whether a block by its tag is older than what callers have seen of that tag. */
  isOlder({ method, params, blocks }: RoutedCall, response: UpstreamResponse): boolean {
    const tag = blocks?.tag;
    if (tag === undefined || method.shape?.type !== 'Block' || params[0] === 'pending') return false;
    const number = this.#blockNumberIn(response);
    return number !== undefined && number < (tag === 'latest' ? this.newest : this.#older[tag].number);
  }

  /** Of two replies, of which the first is too old, or null. */
  newer(one: UpstreamResponse, other: UpstreamResponse): UpstreamResponse {
    const number = this.#blockNumberIn(one);
    if (number === undefined) return other;
    return (this.#blockNumberIn(other) ?? -1n) > number ? other : one;
  }

  /** All were asked, and this is the best of it. */
  acceptOlder({ blocks }: RoutedCall, response: UpstreamResponse): UpstreamResponse {
    const tag = blocks?.tag;
    const number = this.#blockNumberIn(response);
    if (tag !== undefined && tag !== 'latest' && number !== undefined) this.#older[tag].number = number;
    return response;
  }

  /** The head's number as it is told: another upstream told more, and the heads show whether that is still so. */
  raiseToServed({ name }: MethodSpec, response: UpstreamResponse): UpstreamResponse {
    if (name !== 'eth_blockNumber') return response;
    const { newest } = this;
    const number = quantityIn(response);
    return number === undefined || number >= newest ? response : { kind: 'result', result: `0x${newest.toString(16)}` };
  }

  /** Whether callers know that the block of a call is there, so that a null would be wrong. */
  hasServed({ method, params, blocks }: RoutedCall): boolean {
    if (!isBlockLookup(method)) return false;
    if (blocks !== undefined) return blocks.highest >= 0 && blocks.highest <= Number(this.newest);
    return typeof params[0] === 'string' && this.#heads.has(params[0]);
  }
}

/** How far callers have seen one tag. */
class TagHighWater<U extends object> {
  number = -1n;
  readonly #behindUntil = new WeakMap<U, number>();

  record(upstream: U, number: bigint, now: number): void {
    if (number < this.number) this.#behindUntil.set(upstream, now + BEHIND_TTL_MS);
    else {
      this.number = number;
      this.#behindUntil.delete(upstream);
    }
  }

  isBehind(upstream: U, now: number): boolean {
    return now < (this.#behindUntil.get(upstream) ?? -Infinity);
  }
}

/** Methods that are null only where there is no such block. */
function isBlockLookup({ name, shape }: MethodSpec): boolean {
  return shape?.type === 'Block' || name === 'eth_getBlockReceipts';
}

function quantityIn(response: UpstreamResponse): bigint | undefined {
  return response.kind === 'result' ? quantityOf(response.result) : undefined;
}

/** The number of the block of the last log: they come in the order of the chain. */
function newestLogIn(response: UpstreamResponse): bigint | undefined {
  if (response.kind === 'large') return quantityAtEnd(response.parts[response.parts.length - 1] ?? response.parts[0]);
  const logs = response.kind === 'result' && Array.isArray(response.result) ? (response.result as unknown[]) : [];
  const { blockNumber } = (logs.at(-1) ?? {}) as Readonly<Record<string, unknown>>;
  return quantityOf(blockNumber);
}

function quantityAtEnd(bytes: Buffer): bigint | undefined {
  const name = '"blockNumber":"';
  const at = bytes.lastIndexOf(name);
  return at === -1
    ? undefined
    : quantityOf(/^0x[0-9a-f]+/i.exec(bytes.toString('latin1', at + name.length, at + name.length + 18))?.[0]);
}

function quantityOf(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : undefined;
}
