import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lie } from '../verify/lying-node.ts';
import { withVerification } from '../verify/with-verification.ts';
import { findGeth, GETH_VERSION } from './find-geth.ts';
import { importSuiteChain, type Geth, type SuiteChain } from './geth.ts';
import { suiteFolder } from './suite/conversations.ts';

interface Block {
  readonly hash: string;
  readonly miner: string;
  readonly uncles: readonly string[];
  readonly transactions: readonly { readonly hash: string; readonly from: string; readonly to: string | null }[];
}

interface Receipt {
  readonly logs: readonly { readonly address: string }[];
}

let chain: SuiteChain;
let geth: Geth;

beforeAll(async () => {
  chain = importSuiteChain(findGeth(), suiteFolder());
  geth = await chain.start();
});
afterAll(async () => {
  await geth.stop();
  chain.delete();
});

const hex = (number: number): string => `0x${number.toString(16)}`;

/** The path of the proofs is that of geth's archive, so that the state of each block can be proven. */
describe(`the chain of execution-apis, with all forks, on geth ${GETH_VERSION}`, () => {
  // Block 2 has 21 MB of receipts, which are requested again for each of its 59 transactions.
  const limit = { timeout: 900_000 };

  it('is proven: each block, transaction, receipt, log list and account, without a false alarm', limit, async () => {
    const { send, count } = await withVerification(chain.chainId, [geth.url, geth.url], {
      verify: 'require',
      balance: 'round-robin',
    });
    const head = Number((await send('eth_blockNumber', [])).result);
    const unproven: string[] = [];
    const proofs: Record<string, number> = {};
    let calls = 0;
    const read = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
      const { result, error, verified } = await send(method, params);
      calls++;
      if (verified === null) unproven.push(`${method} ${JSON.stringify(params)}: ${error?.message ?? 'null'}`);
      else proofs[verified] = (proofs[verified] ?? 0) + 1;
      return result;
    };
    for (let number = 0; number <= head; number++) {
      const block = (await read('eth_getBlockByNumber', hex(number), true)) as Block;
      await read('eth_getBlockByHash', block.hash, false);
      const receipts = (await read('eth_getBlockReceipts', hex(number))) as readonly Receipt[] | undefined;
      for (const [index, { hash, from, to }] of block.transactions.entries()) {
        await read('eth_getTransactionByHash', hash);
        await read('eth_getTransactionByBlockNumberAndIndex', hex(number), hex(index));
        await read('eth_getTransactionReceipt', hash);
        if (index > 0) continue;
        await read('eth_getBalance', from, hex(number));
        await read('eth_getTransactionCount', from, hex(number));
        await read('eth_getCode', to ?? from, hex(number));
        await read('eth_getStorageAt', to ?? from, '0x0', hex(number));
      }
      await read('eth_getUncleCountByBlockHash', block.hash);
      for (const [index] of block.uncles.entries())
        await read('eth_getUncleByBlockHashAndIndex', block.hash, hex(index));
      await read('eth_getBlockTransactionCountByHash', block.hash);
      const address = receipts?.find(({ logs }) => logs.length > 0)?.logs[0]?.address;
      if (address !== undefined) await read('eth_getLogs', { blockHash: block.hash, address });
    }
    await read('eth_getLogs', { fromBlock: '0x0', toBlock: hex(head) });
    console.log(JSON.stringify({ calls, proofs, head }));
    expect(unproven).toEqual([]);
    for (const upstream of ['node-0', 'node-1']) expect(await count(upstream, 'differs')).toBe(0);
  });

  it('shows each lie about headers of all forks', async () => {
    const { send, nodes, count } = await withVerification(chain.chainId, [geth.url, geth.url, geth.url]);
    const head = Number((await send('eth_blockNumber', [])).result);
    const altered: Lie = (block: object) => ({ ...block, stateRoot: `0x${'77'.repeat(32)}` });
    nodes[0]?.lie('eth_getBlockByHash', altered);
    nodes[0]?.lie('eth_getBlockByNumber', (block: Block, [number], ask) =>
      number === 'latest' ? block : (altered as (...given: unknown[]) => unknown)(block, [number], ask),
    );
    for (let number = 0; number <= head; number++) {
      const { result } = await send('eth_getBlockByNumber', [hex(number), false]);
      expect(JSON.stringify(result)).not.toMatch(/7777/);
    }
    expect(await count('node-0', 'differs')).toBeGreaterThan(0);
  });
});
