import { hash } from 'node:crypto';
import { version } from '../config/package.ts';
import type { CanonicalChain } from '../heads/canonical-chain.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { ResponseCache, Validity, CacheEntry, CachedResponse } from './response-cache.ts';
import { blockInResult, type BlockInResult } from './block-in-result.ts';
import { requestedBlockOf } from './requested-block.ts';
import type { FinalizedBlock } from './finalized-block.ts';
import type { RedisCache } from './redis-cache.ts';
import type { NewestServedBlock } from './newest-served-block.ts';

/** The head is looked at as often as blocks come, so that it may have moved since: no longer than a wallet would notice. */
const HEAD_VALIDITY_MS = 1_000;

/** While there are calls the head is looked at every 15 s at least. After a rest, what happened meanwhile nobody knows. */
const MAX_CHAIN_AGE_MS = 30_000;

/** A block's uncles are at most six blocks older (Ethereum Yellow Paper, 11.1). */
const MAX_UNCLE_AGE_BLOCKS = 6n;

export interface MethodCacheOptions {
  /** The network's slug and chain id. */
  readonly network: string;
  readonly spec: MethodSpec;
  readonly cache: ResponseCache;
  readonly redisCache: RedisCache | undefined;
  readonly chain: CanonicalChain;
  readonly finalized: FinalizedBlock;
  /** The network's. */
  readonly newestServed: NewestServedBlock;
  readonly count: (outcome: 'hit' | 'redis' | 'miss') => void;
}

/**
 * What one method of one network answered, as long as it is true. Nulls, errors and what is pending are not kept. Who may
 * ask was decided before.
 */
export class MethodCache {
  readonly #parts: MethodCacheOptions;
  readonly #prefix: string;
  /** Another version may make other answers of the same replies. */
  readonly #redisPrefix: string;

  constructor(parts: MethodCacheOptions) {
    this.#parts = parts;
    this.#prefix = `${parts.network}:${parts.spec.name}:`;
    this.#redisPrefix = `gatehouse:answer:${version}:${this.#prefix}`;
  }

  /**
   * What another gateway kept, or what is said now; kept where it may be.
   * @param params as they are sent to upstreams
   * @param text the same as JSON, which `find` has not found
   * @throws what `ask` rejects with
   */
  async fetch(
    params: readonly unknown[],
    text: string,
    ask: () => Promise<UpstreamResponse>,
  ): Promise<UpstreamResponse | CachedResponse> {
    const { chain, redisCache, count } = this.#parts;
    const result = redisCache === undefined ? undefined : await this.#findInRedis(redisCache, params, text);
    if (result !== undefined) return { kind: 'cached', result };
    count('miss');
    const headHash = chain.head?.hash;
    const response = await ask();
    const entry = this.store(params, text, response, headHash);
    // JSON is made of it once.
    return entry === undefined ? response : { kind: 'cached', result: entry };
  }

  /** Whether what is asked may be kept for a while, if the answer allows it. */
  isCacheable(params: readonly unknown[]): boolean {
    const { cache } = this.#parts.spec;
    return cache !== undefined && requestedBlockOf(cache, params).kind !== 'none';
  }

  /** @param text of the parameters, as JSON @returns the result as JSON, where it is kept in memory */
  find(text: string): string | Buffer | undefined {
    const { cache, chain, finalized, count } = this.#parts;
    const now = performance.now();
    const key = this.#prefix + text;
    const entry = cache.get(key);
    if (entry === undefined) return undefined;
    // Upstreams that are asked tell of it themselves.
    chain.markUsed(now);
    const { validity, result } = entry;
    if (!this.#isValid(validity, now)) {
      cache.delete(key);
      return undefined;
    }
    const isFinal =
      validity.while === 'canonical' && validity.final !== undefined && finalized.includes(validity.final, now);
    if (isFinal) this.#storePermanently(text, result);
    count('hit');
    return result;
  }

  /** @param headHash as it was when the upstream was asked @returns the result as JSON, if it is kept */
  store(
    params: readonly unknown[],
    text: string,
    response: UpstreamResponse,
    headHash: string | undefined,
  ): string | Buffer | undefined {
    if (response.kind === 'error' || (response.kind === 'result' && isEmptyResult(response.result))) return undefined;
    const validity = this.#validityOf(params, response, headHash);
    if (validity === undefined) return undefined;
    const result =
      response.kind === 'large' ? Buffer.concat(response.parts) : (response.text ?? JSON.stringify(response.result));
    if (validity.while === 'always') this.#storePermanently(text, result);
    else this.#parts.cache.set(this.#prefix + text, { result, validity } satisfies CacheEntry);
    return result;
  }

  #storePermanently(text: string, result: string | Buffer): void {
    const { cache, redisCache } = this.#parts;
    cache.set(this.#prefix + text, { result, validity: { while: 'always' } });
    redisCache?.set(this.#redisKey(text), result);
  }

  /** What the other gateways were told, where it may be true for good. */
  async #findInRedis(
    redisCache: RedisCache,
    params: readonly unknown[],
    text: string,
  ): Promise<string | Buffer | undefined> {
    const namedBlock = requestedBlockOf(this.#parts.spec.cache ?? 'head', params);
    if (namedBlock.kind === 'head' || namedBlock.kind === 'none') return undefined;
    if (namedBlock.kind === 'number' && !this.#isFinal(namedBlock.number)) return undefined;
    const result = await redisCache.get(this.#redisKey(text));
    if (result === undefined || this.#isOnOtherBranch(result)) return undefined;
    this.#parts.cache.set(this.#prefix + text, { result, validity: { while: 'always' } });
    this.#parts.count('redis');
    return result;
  }

  /** Whether the chain is known to have another block of that number. */
  #isOnOtherBranch(result: string | Buffer): boolean {
    // An uncle is.
    if (this.#parts.spec.name.startsWith('eth_getUncle')) return false;
    const block = blockInResult(jsonResponse(result));
    const canonical = block && this.#parts.chain.at(block.number);
    return canonical !== undefined && canonical.hash !== block?.hash;
  }

  /** Parameters may be long, and are nobody's business. */
  #redisKey(text: string): string {
    return this.#redisPrefix + hash('sha256', text, 'base64url');
  }

  #validityOf(
    params: readonly unknown[],
    response: UpstreamResponse,
    headHash: string | undefined,
  ): Validity | undefined {
    const { spec, chain, newestServed } = this.#parts;
    if (spec.cache === undefined) return undefined;
    const namedBlock = requestedBlockOf(spec.cache, params);
    const block = blockInResult(response);
    if (block !== undefined && chain.head !== undefined)
      newestServed.record(block.number, chain.head.number, performance.now());
    switch (namedBlock.kind) {
      case 'none':
        return undefined;
      case 'head':
        return this.#validityAtHead(block, response, headHash);
      case 'in-result':
        return block === undefined ? undefined : this.#validityAtBlock(block.hash, block.number);
      case 'hash':
        // An uncle tells of itself, not of the block that it is in.
        return this.#validityAtBlock(
          namedBlock.hash,
          block && (block.hash === namedBlock.hash ? block.number : block.number + MAX_UNCLE_AGE_BLOCKS),
        );
      case 'number':
        // A node that is on a branch of its own tells another block under that number.
        if (block?.number === namedBlock.number) return this.#validityAtBlock(block.hash, block.number);
        // Of a number that is not final, only a result that tells its block can be told from another branch's.
        return this.#isFinal(namedBlock.number) ? { while: 'always' } : undefined;
    }
  }

  /** @param final the answer is true for good once this block is final */
  #validityAtBlock(blockHash: string, final: bigint | undefined): Validity | undefined {
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
  #validityAtHead(
    block: BlockInResult | undefined,
    response: UpstreamResponse,
    headHash: string | undefined,
  ): Validity | undefined {
    const { chain, spec, newestServed } = this.#parts;
    const { head } = chain;
    if (head === undefined) return undefined;
    const now = performance.now();
    const isNumber = spec.name === 'eth_blockNumber' && response.kind === 'result';
    const number = isNumber ? BigInt(response.result as string) : head.number;
    newestServed.record(number, head.number, now);
    if (number !== head.number || head.hash !== headHash || newestServed.isAbove(head.number, now)) return undefined;
    if (block !== undefined && block.hash !== head.hash) return undefined;
    return { while: 'head', hash: head.hash, deadline: now + HEAD_VALIDITY_MS };
  }

  #isValid(validity: Validity, now: number): boolean {
    const { chain, newestServed } = this.#parts;
    const { head } = chain;
    switch (validity.while) {
      case 'always':
        return true;
      case 'head':
        return head?.hash === validity.hash && now < validity.deadline && !newestServed.isAbove(head.number, now);
      case 'canonical':
        return chain.has(validity.hash) && now - chain.seenAt < MAX_CHAIN_AGE_MS;
    }
  }

  #isFinal(number: bigint): boolean {
    return this.#parts.finalized.includes(number, performance.now());
  }
}

/** An empty list of receipts may be a node that has not come so far. */
function isEmptyResult(result: unknown): boolean {
  return result === null || (Array.isArray(result) && result.length === 0);
}
