import { hash } from 'node:crypto';
import { clock } from '../clock/clock.ts';
import type { ChainPoller } from '../chain/poller.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { CachedResponse, ResponseCache, Validity } from './response-cache.ts';
import { blockInResult, isEmptyResult, type BlockInResult } from './block-in-result.ts';
import { requestedBlockOf, type RequestedBlock } from './requested-block.ts';
import type { FinalChain } from './final-chain.ts';
import { resultPrefixOf, type DurableCache } from './durable-cache.ts';

/** The head may change between two polls, so an entry for the head is valid for one second at most. */
const HEAD_VALIDITY_MS = 1_000;

/** Maximum age of the head, which calls poll at least every 15 s. After a pause, reorgs may have been missed. */
const MAX_CHAIN_AGE_MS = 30_000;

/** A block's uncles are at most six blocks older than the block (Ethereum Yellow Paper, 11.1). */
const MAX_UNCLE_AGE_BLOCKS = 6n;

/** A call that is sent to upstreams. */
export interface MissedCall {
  /** Generation of the final chain when the call was sent. */
  readonly generation: number;
  /** The call was requested before, so that its result is worth its memory even if it is large, or valid for a second. */
  readonly isRequestedAgain: boolean;
}

export interface MethodCacheOptions {
  /** The network's slug and chain id. */
  readonly network: string;
  readonly spec: MethodSpec;
  readonly cache: ResponseCache;
  readonly durable: DurableCache | undefined;
  readonly chain: ChainPoller;
  readonly final: FinalChain;
  readonly count: (outcome: 'hit' | DurableCache['kind'] | 'miss') => void;
}

/**
 * Caches the results of one method of one network while they are valid. Nulls, errors and pending objects are not cached.
 * Permissions are checked before this cache is read.
 */
export class MethodCache {
  readonly #options: MethodCacheOptions;
  readonly #prefix: string;
  readonly #durablePrefix: string;

  constructor(options: MethodCacheOptions) {
    this.#options = options;
    this.#prefix = `${options.network}:${options.spec.name}:`;
    this.#durablePrefix = resultPrefixOf(options.network);
  }

  /** Whether the result for these parameters can be cached, if the result itself allows it. */
  isCacheable(params: readonly unknown[]): boolean {
    const { cache } = this.#options.spec;
    return cache !== undefined && requestedBlockOf(cache, params).kind !== 'none';
  }

  /** The key of a call in memory, for the functions below. @param text of the parameters, as JSON */
  keyOf(text: string): string {
    return this.#prefix + text;
  }

  /** The result, if memory has a valid one. */
  find(key: string): CachedResponse | undefined {
    const { cache, chain, final, count } = this.#options;
    const entry = cache.get(key);
    if (entry === undefined) return undefined;
    const now = clock.now();
    // Calls that reach an upstream mark the chain as used; a hit must do it here.
    chain.markUsed(now);
    const isChecked = final.isChecked(now); // may drop all entries
    const { validity, result, generation, proof } = entry;
    if (generation !== final.generation || !this.#isValid(validity, now)) {
      cache.delete(key);
      return undefined;
    }
    if (!isChecked) return undefined;
    const isFinal =
      validity.while === 'canonical' && validity.finalizesAt !== undefined && final.includes(validity.finalizesAt, now);
    if (isFinal) this.#storePermanently(key, result, proof);
    count('hit');
    return { kind: 'cached', result, proof };
  }

  /**
   * Counts a call that is sent to upstreams, because neither memory nor the shared cache has its result.
   * @returns for `store`
   */
  missed(key: string): MissedCall {
    const { cache, final, count } = this.#options;
    count('miss');
    return { generation: final.generation, isRequestedAgain: cache.isRequestedAgain(key) };
  }

  /**
   * Stores the response to a call, unless all entries were dropped since it was sent. At the head, calls that are requested once
   * are not stored: with calls that do not repeat, storing took 9 % of the CPU of `eth_call` and 28 % of batches (2026-11-29).
   * @param headHash of the network's head, if each upstream that got the call is known to have had it before
   * @returns the result as JSON, if it is cached
   */
  store(
    params: readonly unknown[],
    key: string,
    response: UpstreamResponse,
    headHash: string | undefined,
    { generation, isRequestedAgain }: MissedCall,
  ): string | Buffer | undefined {
    if (generation !== this.#options.final.generation) return undefined;
    if (response.kind === 'error' || (response.kind === 'result' && isEmptyResult(response.result))) return undefined;
    const validity = this.#validityOf(params, response, headHash, isRequestedAgain);
    if (validity === undefined) return undefined;
    const result = response.kind === 'large' ? Buffer.concat(response.parts) : toShared(response);
    const { proof } = response;
    if (validity.while === 'always') this.#storePermanently(key, result, proof);
    // What was forgotten meanwhile stays so.
    else this.#storeInMemory(key, result, validity, proof, generation);
    return result;
  }

  #storeInMemory(
    key: string,
    result: string | Buffer,
    validity: Validity,
    proof: Proof | undefined,
    generation = this.#options.final.generation,
  ): void {
    this.#options.cache.set(key, { result, validity, generation, proof });
  }

  /** The durable cache has no proofs, so that verified results are in memory only. */
  #storePermanently(key: string, result: string | Buffer, proof: Proof | undefined): void {
    const { durable } = this.#options;
    this.#storeInMemory(key, result, { while: 'always' }, proof);
    if (proof !== undefined || durable === undefined) return;
    const durableKey = this.#durableKey(key);
    if (durableKey !== undefined) durable.set(durableKey, result);
  }

  /** @returns the result as JSON, if the durable cache has it; undefined: it can have no result of these parameters */
  findDurable(params: readonly unknown[], key: string): Promise<string | Buffer | undefined> | undefined {
    const { durable, chain, spec } = this.#options;
    if (durable === undefined) return undefined;
    const requested = requestedBlockOf(spec.cache ?? 'head', params);
    if (requested.kind === 'head' || requested.kind === 'none') return undefined;
    // After a pause, the chain is checked first.
    chain.markUsed(clock.now());
    return this.#readDurable(durable, requested, key);
  }

  async #readDurable(
    durable: DurableCache,
    requested: RequestedBlock,
    key: string,
  ): Promise<string | Buffer | undefined> {
    const { final, count } = this.#options;
    if (durable.kind === 'disk') await final.opening();
    if (requested.kind === 'number' && !this.#isFinal(requested.number)) return undefined;
    const durableKey = this.#durableKey(key);
    if (durableKey === undefined) return undefined;
    const { generation } = final;
    const result = await durable.get(durableKey);
    if (result === undefined || generation !== final.generation || this.#isOnOtherBranch(result)) return undefined;
    this.#storeInMemory(key, result, { while: 'always' }, undefined);
    count(durable.kind);
    return result;
  }

  /** Whether the canonical chain has another block with this number. */
  #isOnOtherBranch(result: string | Buffer): boolean {
    // An uncle always differs from the canonical block of its number.
    if (this.#options.spec.resultIs === 'uncle') return false;
    const block = blockInResult(jsonResponse(result));
    const canonical = block && this.#options.chain.view.at(block.number);
    return canonical !== undefined && canonical.hash !== block?.hash;
  }

  /** The parameters are hashed, because they may be long and private. Undefined: shared entries are not used now. */
  #durableKey(key: string): string | undefined {
    const { final, spec } = this.#options;
    const id = final.sharedId(clock.now());
    const text = key.slice(this.#prefix.length);
    return id && `${this.#durablePrefix}${id}:${spec.name}:${hash('sha256', text, 'base64url')}`;
  }

  #validityOf(
    params: readonly unknown[],
    response: UpstreamResponse,
    headHash: string | undefined,
    isRequestedAgain: boolean,
  ): Validity | undefined {
    const { spec } = this.#options;
    if (spec.cache === undefined) return undefined;
    const requested = requestedBlockOf(spec.cache, params);
    if (requested.kind === 'none' || (requested.kind === 'head' && !isRequestedAgain)) return undefined;
    const block = blockInResult(response);
    switch (requested.kind) {
      case 'head':
        return this.#validityAtHead(block, response, headHash);
      case 'in-result':
        return block === undefined ? undefined : this.#validityAtBlock(block.hash, block.number);
      case 'hash':
        // An uncle has its own hash and number, not those of the block that includes it.
        return this.#validityAtBlock(
          requested.hash,
          block && (block.hash === requested.hash ? block.number : block.number + MAX_UNCLE_AGE_BLOCKS),
        );
      case 'number':
        // The hash shows whether the block is canonical: the upstream may be on another branch.
        if (block?.number === requested.number) return this.#validityAtBlock(block.hash, block.number);
        // Without a block hash in the result, only a final number identifies the block.
        return this.#isFinal(requested.number) ? { while: 'always' } : undefined;
    }
  }

  /** @param finalizesAt the result is permanently valid once this block is final */
  #validityAtBlock(blockHash: string, finalizesAt: bigint | undefined): Validity | undefined {
    const { view } = this.#options.chain;
    if (view.has(blockHash)) {
      return finalizesAt !== undefined && this.#isFinal(finalizesAt)
        ? { while: 'always' }
        : { while: 'canonical', hash: blockHash, finalizesAt };
    }
    // The block is older than the known chain, or on another branch.
    if (finalizesAt === undefined || !this.#isFinal(finalizesAt) || view.at(finalizesAt) !== undefined)
      return undefined;
    return { while: 'always' };
  }

  /** Validity; undefined if the upstream may not have had the network's head at the request, or a newer block was served. */
  #validityAtHead(
    block: BlockInResult | undefined,
    response: UpstreamResponse,
    headHash: string | undefined,
  ): Validity | undefined {
    const { chain, spec } = this.#options;
    const { head, newestServed, epoch } = chain.view;
    if (head === undefined) return undefined;
    const isNumber = spec.resultIs === 'head-number' && response.kind === 'result';
    const number = isNumber ? BigInt(response.result as string) : head.number;
    if (number !== head.number || head.hash !== headHash || newestServed > head.number) return undefined;
    if (block !== undefined && block.hash !== head.hash) return undefined;
    return { while: 'head', epoch, deadline: clock.now() + HEAD_VALIDITY_MS };
  }

  #isValid(validity: Validity, now: number): boolean {
    const { view } = this.#options.chain;
    if (view.branch === 'uncertain' && validity.while !== 'always') return false;
    switch (validity.while) {
      case 'always':
        return true;
      case 'head':
        return validity.epoch === view.epoch && now < validity.deadline;
      case 'canonical':
        return view.has(validity.hash) && now - view.seenAt < MAX_CHAIN_AGE_MS;
    }
  }

  #isFinal(number: bigint): boolean {
    return this.#options.final.includes(number, clock.now());
  }
}

/** A longer result is cached in bytes: all responses with the result share the bytes, but each would copy a string. */
const MAX_STRING_CHARS = 32_768;

function toShared({ text, result }: Extract<UpstreamResponse, { readonly kind: 'result' }>): string | Buffer {
  const json = text ?? JSON.stringify(result);
  return json.length > MAX_STRING_CHARS ? Buffer.from(json) : json;
}
