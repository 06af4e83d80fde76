import { hashOf, type Block, type ScriptedChain } from './scripted-chain.ts';

const fields = {
  ...{ contractAddress: null, cumulativeGasUsed: '0x5208', effectiveGasPrice: '0x7', gasUsed: '0x5208', logs: [] },
  ...{ logsBloom: `0x${'00'.repeat(256)}`, from: `0x${'11'.repeat(20)}`, to: `0x${'22'.repeat(20)}` },
  ...{ status: '0x1', type: '0x2' },
};

/** Receipts of two transactions of the block with this hash. */
export function receiptsOf(chain: ScriptedChain, hash: string): { readonly transactionHash: string }[] {
  const { header } = chain.canonical.find((block) => block.header.hash === hash) as Block;
  return ['a', 'b'].map((name, index) => ({
    ...fields,
    ...{ blockHash: hash, blockNumber: header.number, transactionIndex: `0x${index.toString(16)}` },
    transactionHash: hashOf(`${name} of ${hash}`),
  }));
}
