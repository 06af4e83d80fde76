import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply } from '../upstream/reply.ts';
import type { AnswerCache, Holds, Kept, KeptReply } from './answer-cache.ts';
import { blockInResult, type BlockInResult } from './block-in-result.ts';
import { blockNamed } from './block-named.ts';
import type { FinalizedBlock } from './finalized-block.ts';

/** The head is looked at as often as blocks come, so that it may have moved since: no longer than a wallet would notice. */
const HEAD_AGE_MS = 1_000;

/** As long as the chain is followed after the last call: what happened since nobody knows. */
const CANONICAL_AGE_MS = 120_000;

export interface MethodCacheParts {
  /** The network's slug and chain id. */
  readonly network: string;
  readonly spec: MethodSpec;
  readonly answers: AnswerCache;
  readonly chain: CanonicalChain;
  readonly finalized: FinalizedBlock;
  /** Whether what is true at the head may be kept: not on development chains, where it may change at any moment. */
  readonly keepsAtHead: boolean;
  readonly count: (outcome: 'hit' | 'miss') => void;
}

/**
 * What one method of one network answered, as long as it is true. Nulls, errors and what is pending are not kept. Who may
 * ask was decided before.
 */
export class MethodCache {
  readonly #parts: MethodCacheParts;
  readonly #prefix: string;

  constructor(parts: MethodCacheParts) {
    this.#parts = parts;
    this.#prefix = `${parts.network} ${parts.spec.name} `;
  }

  /**
   * What was kept, or what is said now.
   * @param params as they are sent to upstreams
   * @throws what `ask` rejects with
   */
  async reply(params: readonly unknown[], ask: () => Promise<Reply>): Promise<Reply | KeptReply> {
    const text = JSON.stringify(params);
    const result = this.find(text);
    if (result !== undefined) return { kind: 'kept', result };
    const headHash = this.#parts.chain.head?.hash;
    const reply = await ask();
    this.keep(params, text, reply, headHash);
    return reply;
  }

  /** Whether what is asked may be kept for a while, if the answer allows it. */
  mayKeep(params: readonly unknown[]): boolean {
    const { spec, keepsAtHead } = this.#parts;
    const kind = spec.cache === undefined ? 'none' : blockNamed(spec.cache, params).kind;
    return kind === 'head' ? keepsAtHead : kind !== 'none';
  }

  /** @param text of the parameters, as JSON @returns the result as JSON */
  find(text: string): string | Buffer | undefined {
    const { answers, chain, count } = this.#parts;
    chain.used(performance.now());
    const key = this.#prefix + text;
    const kept = answers.get(key);
    if (kept !== undefined && this.#isTrue(kept.holds)) {
      count('hit');
      return kept.result;
    }
    if (kept !== undefined) answers.delete(key);
    count('miss');
    return undefined;
  }

  /** @param headHash as it was when the upstream was asked */
  keep(params: readonly unknown[], text: string, reply: Reply, headHash: string | undefined): void {
    if (reply.kind === 'error' || (reply.kind === 'result' && isNothing(reply.result))) return;
    const holds = this.#holds(params, reply, headHash);
    if (holds === undefined) return;
    const result = reply.kind === 'large' ? Buffer.concat(reply.parts) : JSON.stringify(reply.result);
    this.#parts.answers.set(this.#prefix + text, { result, holds } satisfies Kept);
  }

  #holds(params: readonly unknown[], reply: Reply, headHash: string | undefined): Holds | undefined {
    const { cache } = this.#parts.spec;
    if (cache === undefined) return undefined;
    const named = blockNamed(cache, params);
    const block = blockInResult(reply);
    switch (named.kind) {
      case 'none':
        return undefined;
      case 'head':
        return this.#atHead(block, reply, headHash);
      case 'in-result':
        return block === undefined ? undefined : this.#atBlock(block.hash, block.number);
      case 'hash':
        // An uncle tells of itself, not of the block that it is in.
        return this.#atBlock(named.hash, block?.hash === named.hash ? block.number : undefined);
      case 'number':
        // Of a number that is not final, only a result that tells its block can be told from another branch's.
        return this.#isFinal(named.number)
          ? { while: 'always' }
          : block?.number === named.number
            ? this.#atBlock(block.hash, block.number)
            : undefined;
    }
  }

  #atBlock(hash: string, number: bigint | undefined): Holds | undefined {
    if (number !== undefined && this.#isFinal(number)) return { while: 'always' };
    if (!this.#parts.chain.has(hash)) return undefined;
    return { while: 'canonical', hash, number, until: performance.now() + CANONICAL_AGE_MS };
  }

  /** A node that is ahead, or behind, tells of another head than ours. */
  #atHead(block: BlockInResult | undefined, reply: Reply, headHash: string | undefined): Holds | undefined {
    const { head } = this.#parts.chain;
    if (!this.#parts.keepsAtHead || head === undefined || head.hash !== headHash) return undefined;
    if (block !== undefined && block.hash !== head.hash) return undefined;
    const isNumber = this.#parts.spec.name === 'eth_blockNumber' && reply.kind === 'result';
    if (isNumber && BigInt(reply.result as string) !== head.number) return undefined;
    return { while: 'head', hash: head.hash, until: performance.now() + HEAD_AGE_MS };
  }

  #isTrue(holds: Holds): boolean {
    const { chain } = this.#parts;
    switch (holds.while) {
      case 'always':
        return true;
      case 'head':
        return chain.head?.hash === holds.hash && performance.now() < holds.until;
      case 'canonical':
        if (holds.number !== undefined && this.#isFinal(holds.number)) return true;
        return chain.has(holds.hash) && performance.now() < holds.until;
    }
  }

  #isFinal(number: bigint): boolean {
    return this.#parts.finalized.includes(number, performance.now());
  }
}

/** An empty list of receipts may be a node that has not come so far. */
function isNothing(result: unknown): boolean {
  return result === null || (Array.isArray(result) && result.length === 0);
}
