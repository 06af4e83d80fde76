import { expect } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { ResponseCache, type CachedResponse } from '../../gateway/cache/response-cache.ts';
import { FinalChain } from '../../gateway/cache/final-chain.ts';
import { SharedChain } from '../../gateway/cache/shared-chain.ts';
import { MethodCache } from '../../gateway/cache/method-cache.ts';
import type { DurableCache } from '../../gateway/cache/durable-cache.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { recordServed } from '../../gateway/call/record-served.ts';
import type { UpstreamResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import { ScriptedChain, type ScriptedBlock } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { withHeads } from '../chain/with-heads.ts';

/** Place to which a request was sent, which the sender writes. */
export interface SentTo {
  headHash: string | undefined;
}

export const account = `0x${'12'.repeat(20)}`;
export const latest = [account, 'latest'];

/** The cache of a network that follows the heads of a scripted node. */
export async function followCache({
  finalized = -1,
  maxBytes = 1_000_000,
  durable = undefined as DurableCache | undefined,
  chain = new ScriptedChain({ from: 100 }),
} = {}) {
  const { poller, watch, nodes, upstreams } = await withHeads([chain]);
  const unwatch = await watch();
  const [upstream] = upstreams;
  if (upstream === undefined) throw new Error('there is no upstream');
  const responses = new ResponseCache(maxBytes);
  let finalBlock = chain.byNumber(quantity(finalized));
  const final = new FinalChain(
    poller,
    (block) => Promise.resolve(block === 'finalized' ? finalBlock : (nodes[0]?.chain.byNumber(block) ?? null)),
    (id) => durable && new SharedChain(durable, 'test:7', id),
  );
  let refreshes = 0;
  /** Makes the node report this block as final, and refreshes. @returns whether it is final then */
  const finalise = async (block: ScriptedBlock | null): Promise<boolean> => {
    finalBlock = block;
    // Refreshes are at least 30 s apart.
    refreshes++;
    final.includes(2n ** 60n, clock.now() + refreshes * 60_000);
    await new Promise(setImmediate);
    const isFinal = (): boolean => final.includes(BigInt(block?.number ?? 0), clock.now());
    if (durable !== undefined) await eventually(() => isFinal() && final.sharedId(clock.now()) !== undefined);
    return isFinal();
  };
  if (finalBlock !== null) expect(await finalise(finalBlock)).toBe(true);
  const counted = { hit: 0, disk: 0, redis: 0, miss: 0 };
  const cacheOf = (name: string): MethodCache => {
    const spec = specOf(name);
    const count = (outcome: keyof typeof counted): void => {
      counted[outcome]++;
    };
    return new MethodCache({
      network: 'test:7',
      spec,
      cache: responses,
      durable,
      chain: poller,
      final,
      count,
    });
  };
  return {
    chain,
    nodes,
    poller,
    upstream,
    unwatch,
    responses,
    counted,
    final,
    finalise,
    cacheOf,
    /** Serves a result of the upstream, stores it and finds it again. */
    store: (method: string, params: readonly unknown[], result: unknown, headHash = poller.view.head?.hash) => {
      const cache = cacheOf(method);
      const key = cache.keyOf(JSON.stringify(params));
      const response = responseOf(result);
      const call = {
        method: specOf(method),
        params,
        blocks: undefined,
        pinned: undefined,
        sentAt: -Infinity,
      };
      recordServed(poller, upstream, call, response, clock.now());
      cache.store(params, key, response, headHash, { generation: final.generation, isRequestedAgain: true });
      const find = (): string | undefined => cache.find(key)?.result.toString();
      return { find, first: find() };
    },
    waitForHead: (block: ScriptedBlock) =>
      // Many blocks are fetched one by one.
      eventually(() => poller.view.head?.hash === block.hash),
  };
}

function specOf(name: string): MethodSpec {
  const spec = methods.find((method) => method.name === name);
  if (spec === undefined) throw new Error(`no method ${name}`);
  return spec;
}

export function responseOf(result: unknown): UpstreamResponse {
  return Buffer.isBuffer(result)
    ? { kind: 'large', parts: [result], parse: () => ({ kind: 'result', result: JSON.parse(result.toString()) }) }
    : { kind: 'result', result };
}

export function receiptIn({ hash: blockHash, number: blockNumber }: ScriptedBlock) {
  return { transactionHash: `0x${'ab'.repeat(32)}`, blockHash, blockNumber, status: '0x1' };
}

function quantity(number: number): string {
  return `0x${number.toString(16)}`;
}

/** Finds a result in memory or Redis, or else requests and stores it, as the call path does. */
export async function callThroughCache(
  cache: MethodCache,
  params: readonly unknown[],
  request: (sentTo: SentTo) => Promise<UpstreamResponse>,
): Promise<UpstreamResponse | CachedResponse> {
  const key = cache.keyOf(JSON.stringify(params));
  const found = cache.find(key)?.result ?? (await cache.findDurable(params, key));
  if (found !== undefined) return { kind: 'cached', result: found };
  const missed = cache.missed(key);
  const sentTo: SentTo = { headHash: undefined };
  const response = await request(sentTo);
  const result = cache.store(params, key, response, sentTo.headHash, missed);
  return result === undefined ? response : { kind: 'cached', result };
}
