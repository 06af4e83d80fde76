import type { MethodSpec } from '../spec/method-spec.ts';
import type { Asking } from './asking.ts';
import type { Heads, Tag } from './blocks-held.ts';
import type { Reply } from './reply.ts';

/** What follows the heads, and hears of what callers were told. */
export type ServedHeads<U> = Heads<U> & {
  /** The newest block that subscribers were told of. */
  readonly told: bigint | undefined;
  saw(upstream: U, number: bigint, now: number): void;
};

/** The number of the block that a reply is, or is in; made elsewhere (`cache/`). */
export type NumberIn = (reply: Reply) => bigint | undefined;

/** A caller was told of a block of this number. */
export type OnTold = (number: bigint, now: number) => void;

/** An upstream that told of an older safe or finalized block may have come on by then: nobody looks at it meanwhile. */
const BEHIND_MS = 12_000;

/** Types of results that tell a caller how far the chain is. */
const telling: ReadonlySet<string | undefined> = new Set(['Block', 'Transaction', 'Receipt']);

/**
 * How far callers of a network have seen its chain, by what its upstreams told them. None is taken back while there is an
 * upstream that knows better. `latest` goes back where the upstreams agree on a lower head (`NetworkHeads`); `safe` and
 * `finalized` where all that are up were asked for it and said less.
 */
export class ServedBlocks<U extends object> {
  readonly #heads: ServedHeads<U>;
  readonly #numberIn: NumberIn;
  readonly #onTold: OnTold;
  readonly #older = { safe: new Mark<U>(), finalized: new Mark<U>() };
  #latest = 0n;

  constructor(heads: ServedHeads<U>, numberIn: NumberIn, onTold: OnTold) {
    this.#heads = heads;
    this.#numberIn = numberIn;
    this.#onTold = onTold;
  }

  /** The number of the newest block that callers may know of. */
  get latest(): bigint {
    const { number, told } = this.#heads;
    if (told !== undefined && told > this.#latest) this.#latest = told;
    // One told an absurd number, or the chain went back.
    if (number !== undefined && number < this.#latest) this.#latest = number;
    return this.#latest;
  }

  /** Whether an upstream would take back what callers have seen of a tag, as far as is known. */
  isBehind(upstream: U, tag: Tag, now: number): boolean {
    if (tag !== 'latest' && this.#older[tag].isBehind(upstream, now)) return true;
    const { latest } = this;
    return latest > 0n && !this.#heads.hasBlock(upstream, latest);
  }

  /** Whether an upstream is behind the network's head, or behind what callers know of. */
  lags(upstream: U): boolean {
    return this.#heads.lagOf(upstream) > 0 || this.isBehind(upstream, 'latest', 0);
  }

  /** An upstream gave a caller this. */
  gave(upstream: U, { method, params, blocks }: Asking, reply: Reply, now: number): void {
    const isHead = method.name === 'eth_blockNumber';
    const isLogs = method.name === 'eth_getLogs';
    if (!isHead && !isLogs && !telling.has(method.shape?.type)) return;
    // Its number is one that no block has yet.
    if (params[0] === 'pending' || reply.kind === 'error') return;
    const number = isHead ? quantityIn(reply) : isLogs ? newestLogIn(reply) : this.#numberIn(reply);
    if (number === undefined) return;
    const tag = blocks?.tag;
    if (tag !== undefined && tag !== 'latest') this.#older[tag].told(upstream, number, now);
    this.#heads.saw(upstream, number, now);
    if (number > this.#latest) this.#latest = number;
    this.#onTold(number, now);
  }

  /** Whether a block by its tag is older than what callers have seen of that tag. */
  isOlder({ method, params, blocks }: Asking, reply: Reply): boolean {
    const tag = blocks?.tag;
    if (tag === undefined || method.shape?.type !== 'Block' || params[0] === 'pending') return false;
    const number = this.#numberIn(reply);
    return number !== undefined && number < (tag === 'latest' ? this.latest : this.#older[tag].number);
  }

  /** Of two replies, of which the first is too old, or null. */
  better(one: Reply, other: Reply): Reply {
    const number = this.#numberIn(one);
    if (number === undefined) return other;
    return (this.#numberIn(other) ?? -1n) > number ? other : one;
  }

  /** All were asked, and this is the best of it. */
  agreed({ blocks }: Asking, reply: Reply): Reply {
    const tag = blocks?.tag;
    const number = this.#numberIn(reply);
    if (tag !== undefined && tag !== 'latest' && number !== undefined) this.#older[tag].number = number;
    return reply;
  }

  /** The head's number as it is told: another upstream told more, and the heads show whether that is still so. */
  notBelow({ name }: MethodSpec, reply: Reply): Reply {
    if (name !== 'eth_blockNumber') return reply;
    const { latest } = this;
    const number = quantityIn(reply);
    return number === undefined || number >= latest ? reply : { kind: 'result', result: `0x${latest.toString(16)}` };
  }

  /** Whether callers know that the block of a call is there, so that a null would be wrong. */
  knows({ method, params, blocks }: Asking): boolean {
    if (!isOfBlock(method)) return false;
    if (blocks !== undefined) return blocks.highest >= 0 && blocks.highest <= Number(this.latest);
    return typeof params[0] === 'string' && this.#heads.has(params[0]);
  }
}

/** How far callers have seen one tag. */
class Mark<U extends object> {
  number = -1n;
  readonly #behindUntil = new WeakMap<U, number>();

  told(upstream: U, number: bigint, now: number): void {
    if (number < this.number) this.#behindUntil.set(upstream, now + BEHIND_MS);
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
function isOfBlock({ name, shape }: MethodSpec): boolean {
  return shape?.type === 'Block' || name === 'eth_getBlockReceipts';
}

function quantityIn(reply: Reply): bigint | undefined {
  return reply.kind === 'result' ? quantityOf(reply.result) : undefined;
}

/** The number of the block of the last log: they come in the order of the chain. */
function newestLogIn(reply: Reply): bigint | undefined {
  if (reply.kind === 'large') return quantityAtEnd(reply.parts[reply.parts.length - 1] ?? reply.parts[0]);
  const logs = reply.kind === 'result' && Array.isArray(reply.result) ? (reply.result as unknown[]) : [];
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
