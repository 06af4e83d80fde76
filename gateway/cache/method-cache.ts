import { hash } from 'node:crypto';
import { version } from '../config/package.ts';
import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonReply, type Reply } from '../upstream/reply.ts';
import type { AnswerCache, Holds, Kept, KeptReply } from './answer-cache.ts';
import { blockInResult, type BlockInResult } from './block-in-result.ts';
import { blockNamed } from './block-named.ts';
import type { FinalizedBlock } from './finalized-block.ts';
import type { SharedAnswers } from './shared-answers.ts';
import type { ToldBlock } from './told-block.ts';

/** The head is looked at as often as blocks come, so that it may have moved since: no longer than a wallet would notice. */
const HEAD_AGE_MS = 1_000;

/** While there are calls the head is looked at every 15 s at least. After a rest, what happened meanwhile nobody knows. */
const SEEN_AGE_MS = 30_000;

/** A block's uncles are at most six blocks older (Ethereum Yellow Paper, 11.1). */
const UNCLE_AGE = 6n;

export interface MethodCacheParts {
  /** The network's slug and chain id. */
  readonly network: string;
  readonly spec: MethodSpec;
  readonly answers: AnswerCache;
  readonly shared: SharedAnswers | undefined;
  readonly chain: CanonicalChain;
  readonly finalized: FinalizedBlock;
  /** The network's. */
  readonly told: ToldBlock;
  readonly count: (outcome: 'hit' | 'shared' | 'miss') => void;
}

/**
 * What one method of one network answered, as long as it is true. Nulls, errors and what is pending are not kept. Who may
 * ask was decided before.
 */
export class MethodCache {
  readonly #parts: MethodCacheParts;
  readonly #prefix: string;
  /** Another version may make other answers of the same replies. */
  readonly #sharedPrefix: string;

  constructor(parts: MethodCacheParts) {
    this.#parts = parts;
    this.#prefix = `${parts.network}:${parts.spec.name}:`;
    this.#sharedPrefix = `gatehouse:answer:${version}:${this.#prefix}`;
  }

  /**
   * What another gateway kept, or what is said now; kept where it may be.
   * @param params as they are sent to upstreams
   * @param text the same as JSON, which `find` has not found
   * @throws what `ask` rejects with
   */
  async fetch(params: readonly unknown[], text: string, ask: () => Promise<Reply>): Promise<Reply | KeptReply> {
    const { chain, shared, count } = this.#parts;
    const result = shared === undefined ? undefined : await this.#findShared(shared, params, text);
    if (result !== undefined) return { kind: 'kept', result };
    count('miss');
    const headHash = chain.head?.hash;
    const reply = await ask();
    const kept = this.keep(params, text, reply, headHash);
    // JSON is made of it once.
    return kept === undefined ? reply : { kind: 'kept', result: kept };
  }

  /** Whether what is asked may be kept for a while, if the answer allows it. */
  mayKeep(params: readonly unknown[]): boolean {
    const { cache } = this.#parts.spec;
    return cache !== undefined && blockNamed(cache, params).kind !== 'none';
  }

  /** @param text of the parameters, as JSON @returns the result as JSON, where it is kept in memory */
  find(text: string): string | Buffer | undefined {
    const { answers, chain, finalized, count } = this.#parts;
    const now = performance.now();
    const key = this.#prefix + text;
    const kept = answers.get(key);
    if (kept === undefined) return undefined;
    // Upstreams that are asked tell of it themselves.
    chain.used(now);
    const { holds, result } = kept;
    if (!this.#isTrue(holds, now)) {
      answers.delete(key);
      return undefined;
    }
    const isFinal = holds.while === 'canonical' && holds.final !== undefined && finalized.includes(holds.final, now);
    if (isFinal) this.#keepForGood(text, result);
    count('hit');
    return result;
  }

  /** @param headHash as it was when the upstream was asked @returns the result as JSON, if it is kept */
  keep(
    params: readonly unknown[],
    text: string,
    reply: Reply,
    headHash: string | undefined,
  ): string | Buffer | undefined {
    if (reply.kind === 'error' || (reply.kind === 'result' && isNothing(reply.result))) return undefined;
    const holds = this.#holds(params, reply, headHash);
    if (holds === undefined) return undefined;
    const result = reply.kind === 'large' ? Buffer.concat(reply.parts) : (reply.text ?? JSON.stringify(reply.result));
    if (holds.while === 'always') this.#keepForGood(text, result);
    else this.#parts.answers.set(this.#prefix + text, { result, holds } satisfies Kept);
    return result;
  }

  #keepForGood(text: string, result: string | Buffer): void {
    const { answers, shared } = this.#parts;
    answers.set(this.#prefix + text, { result, holds: { while: 'always' } });
    shared?.put(this.#sharedName(text), result);
  }

  /** What the other gateways were told, where it may be true for good. */
  async #findShared(
    shared: SharedAnswers,
    params: readonly unknown[],
    text: string,
  ): Promise<string | Buffer | undefined> {
    const named = blockNamed(this.#parts.spec.cache ?? 'head', params);
    if (named.kind === 'head' || named.kind === 'none') return undefined;
    if (named.kind === 'number' && !this.#isFinal(named.number)) return undefined;
    const result = await shared.find(this.#sharedName(text));
    if (result === undefined || this.#isOfAnotherBranch(result)) return undefined;
    this.#parts.answers.set(this.#prefix + text, { result, holds: { while: 'always' } });
    this.#parts.count('shared');
    return result;
  }

  /** Whether the chain is known to have another block of that number. */
  #isOfAnotherBranch(result: string | Buffer): boolean {
    // An uncle is.
    if (this.#parts.spec.name.startsWith('eth_getUncle')) return false;
    const block = blockInResult(jsonReply(result));
    const ours = block && this.#parts.chain.at(block.number);
    return ours !== undefined && ours.hash !== block?.hash;
  }

  /** Parameters may be long, and are nobody's business. */
  #sharedName(text: string): string {
    return this.#sharedPrefix + hash('sha256', text, 'base64url');
  }

  #holds(params: readonly unknown[], reply: Reply, headHash: string | undefined): Holds | undefined {
    const { spec, chain, told } = this.#parts;
    if (spec.cache === undefined) return undefined;
    const named = blockNamed(spec.cache, params);
    const block = blockInResult(reply);
    if (block !== undefined && chain.head !== undefined) told.tell(block.number, chain.head.number, performance.now());
    switch (named.kind) {
      case 'none':
        return undefined;
      case 'head':
        return this.#atHead(block, reply, headHash);
      case 'in-result':
        return block === undefined ? undefined : this.#atBlock(block.hash, block.number);
      case 'hash':
        // An uncle tells of itself, not of the block that it is in.
        return this.#atBlock(
          named.hash,
          block && (block.hash === named.hash ? block.number : block.number + UNCLE_AGE),
        );
      case 'number':
        // A node that is on a branch of its own tells another block under that number.
        if (block?.number === named.number) return this.#atBlock(block.hash, block.number);
        // Of a number that is not final, only a result that tells its block can be told from another branch's.
        return this.#isFinal(named.number) ? { while: 'always' } : undefined;
    }
  }

  /** @param final the answer is true for good once this block is final */
  #atBlock(blockHash: string, final: bigint | undefined): Holds | undefined {
    const { chain } = this.#parts;
    if (chain.has(blockHash)) {
      return final !== undefined && this.#isFinal(final)
        ? { while: 'always' }
        : { while: 'canonical', hash: blockHash, final };
    }
    // Older than what is known of the chain, or of another branch.
    if (final === undefined || !this.#isFinal(final) || chain.at(final) !== undefined) return undefined;
    return { while: 'always' };
  }

  /** A node that is ahead, or behind, tells of another head than ours. */
  #atHead(block: BlockInResult | undefined, reply: Reply, headHash: string | undefined): Holds | undefined {
    const { chain, spec, told } = this.#parts;
    const { head } = chain;
    if (head === undefined) return undefined;
    const now = performance.now();
    const isNumber = spec.name === 'eth_blockNumber' && reply.kind === 'result';
    const number = isNumber ? BigInt(reply.result as string) : head.number;
    told.tell(number, head.number, now);
    if (number !== head.number || head.hash !== headHash || told.isAbove(head.number, now)) return undefined;
    if (block !== undefined && block.hash !== head.hash) return undefined;
    return { while: 'head', hash: head.hash, until: now + HEAD_AGE_MS };
  }

  #isTrue(holds: Holds, now: number): boolean {
    const { chain, told } = this.#parts;
    const { head } = chain;
    switch (holds.while) {
      case 'always':
        return true;
      case 'head':
        return head?.hash === holds.hash && now < holds.until && !told.isAbove(head.number, now);
      case 'canonical':
        return chain.has(holds.hash) && now - chain.seenAt < SEEN_AGE_MS;
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
