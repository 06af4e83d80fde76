import { expect, vi } from 'vitest';
import { AnswerCache } from '../../gateway/cache/answer-cache.ts';
import { FinalizedBlock } from '../../gateway/cache/finalized-block.ts';
import { MethodCache } from '../../gateway/cache/method-cache.ts';
import type { SharedAnswers } from '../../gateway/cache/shared-answers.ts';
import { ToldBlock } from '../../gateway/cache/told-block.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { Reply } from '../../gateway/upstream/reply.ts';
import { ScriptedChain, type ScriptedBlock } from '../heads/scripted-chain.ts';
import { withHeads } from '../heads/with-heads.ts';

export const account = `0x${'12'.repeat(20)}`;
export const latest = [account, 'latest'];

/** The cache of a network whose heads are followed, at a scripted node. */
export async function followCache({
  finalized = -1,
  maxBytes = 1_000_000,
  shared = undefined as SharedAnswers | undefined,
} = {}) {
  const chain = new ScriptedChain({ from: 100 });
  const { heads, watch, nodes } = await withHeads([chain]);
  await watch();
  const answers = new AnswerCache(maxBytes);
  const told = new ToldBlock();
  let finalBlock = chain.byNumber(quantity(finalized));
  const final = new FinalizedBlock(heads, () => Promise.resolve(finalBlock));
  let looks = 0;
  /** A node says that this block is final, and is asked. */
  const finalise = async (block: ScriptedBlock | null): Promise<boolean> => {
    finalBlock = block;
    // It is asked every half minute.
    looks++;
    final.includes(2n ** 60n, performance.now() + looks * 60_000);
    await new Promise(setImmediate);
    return final.includes(BigInt(block?.number ?? 0), performance.now());
  };
  if (finalBlock !== null) expect(await finalise(finalBlock)).toBe(true);
  const counted = { hit: 0, shared: 0, miss: 0 };
  const cacheOf = (name: string): MethodCache => {
    const spec = methods.find((method) => method.name === name);
    if (spec === undefined) throw new Error(`no method ${name}`);
    const count = (outcome: keyof typeof counted): void => {
      counted[outcome]++;
    };
    return new MethodCache({ network: 'test:7', spec, answers, shared, chain: heads, finalized: final, told, count });
  };
  return {
    chain,
    nodes,
    heads,
    answers,
    counted,
    finalise,
    cacheOf,
    /** Keeps what a node said, and looks for it. */
    keep: (method: string, params: readonly unknown[], result: unknown, headHash = heads.head?.hash) => {
      const cache = cacheOf(method);
      const text = JSON.stringify(params);
      cache.keep(params, text, replyOf(result), headHash);
      const find = (): string | undefined => cache.find(text)?.toString();
      return { find, first: find() };
    },
    moved: (block: ScriptedBlock) =>
      vi.waitFor(() => {
        expect(heads.head?.hash).toBe(block.hash);
      }),
  };
}

export function replyOf(result: unknown): Reply {
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

/** What a call is answered: as it was kept, or anew. */
export function askCache(cache: MethodCache, params: readonly unknown[], ask: () => Promise<Reply>) {
  const text = JSON.stringify(params);
  const result = cache.find(text);
  return result === undefined ? cache.fetch(params, text, ask) : Promise.resolve({ kind: 'kept' as const, result });
}
