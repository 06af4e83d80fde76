import type { TrueBlock } from './true-chain.ts';

/** The gateway remembers hashes for at least this time. */
const REMEMBERED_MS = 30_000;

interface Read {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Remembers when blocks and transactions were last served, by hash. */
export class ServedObjects {
  readonly #servedAt = new Map<string, number>();
  readonly #deliveredAt = new Map<string, number>();

  /** A block was delivered to a subscriber. */
  addHead({ hash }: TrueBlock, at: number): void {
    this.#deliveredAt.set(hash, at);
  }

  /** A block that was delivered to a subscriber was replaced by another: from now on, it may not exist. */
  removeHead({ hash }: TrueBlock): void {
    this.#deliveredAt.delete(hash);
  }

  /** Adds the hashes of a block, of its transactions, and of an object that was read by its hash. */
  addResult({ method, params: [first] }: Read, result: unknown, at: number): void {
    if (result === null || !/^eth_get(Block|TransactionReceipt)/.test(method)) return;
    if (typeof first === 'string' && first.length === 66) this.#servedAt.set(first, at);
    const { hash, transactions = [] } = result as { readonly hash?: string; readonly transactions?: readonly string[] };
    for (const served of hash === undefined ? [] : [hash, ...transactions]) this.#servedAt.set(served, at);
  }

  /** Whether the gateway must remember that it served the object, at the time of a call. */
  has(hash: string, at: number): boolean {
    return [this.#servedAt.get(hash), this.#deliveredAt.get(hash)].some(
      (servedAt = -Infinity) => servedAt <= at && servedAt > at - REMEMBERED_MS,
    );
  }
}
