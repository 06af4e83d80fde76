import { describe, expect, it } from 'vitest';
import { rpcError } from '../../support/fake-node.ts';
import {
  account,
  balanceCall,
  blockCall,
  blocksTo,
  honest,
  logsCall,
  receiptCall,
  topic,
  withAudits,
} from './with-audits.ts';

const blocks = blocksTo();
const truth = honest(blocks);
const receipt = truth.eth_getTransactionReceipt();
const limit = { timeout: 90_000 };
const calls = [balanceCall, logsCall, receiptCall, blockCall];

describe('upstreams that agree', limit, () => {
  it.each(calls)('about %s', async (...call) => {
    const { count, untilAudited } = await withAudits([blocks, blocks]);
    await untilAudited(call, 'node-1', 'agrees', 3);
    expect(await count('node-0', 'agrees')).toBe(await count('node-1', 'agrees'));
    expect([await count('node-0', 'differs'), await count('node-1', 'differs')]).toEqual([0, 0]);
  });

  it('in other spellings, and without optional members', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks]);
    const upper = `0x${account.slice(2).toUpperCase()}`;
    nodes[1]?.response('eth_getTransactionReceipt', {
      ...{ ...receipt, from: upper, to: upper, gasUsed: '0x05208', effectiveGasPrice: undefined, l1Fee: '0x1' },
    });
    await untilAudited(receiptCall, 'node-1', 'agrees', 2);
    expect(await count('node-1', 'differs')).toBe(0);
  });

  it('at the same block, although the first one has answered for a newer one', async () => {
    // Node 1 is a block behind. The balance is another one in each block.
    const { nodes, count, untilAudited } = await withAudits([blocks, blocksTo(109)]);
    await untilAudited(balanceCall, 'node-1', 'agrees', 2);
    const pinned = nodes[1]?.callsOf('eth_getBalance').map(({ params }) => (params as unknown[])[1]);
    expect(pinned).toContainEqual({ blockHash: blocks[9]?.hash });
    expect(await count('node-1', 'differs')).toBe(0);
    await untilAudited(logsCall, 'node-1', 'agrees', 1);
    expect(await count('node-1', 'differs')).toBe(0);
  });
});

describe('no upstream differs', limit, () => {
  it('after a reorg that one of them has not followed', async () => {
    // From block 101 on, node 1 has other blocks.
    const { count, untilAudited } = await withAudits([blocks, blocksTo(110, 101)]);
    for (const call of [balanceCall, receiptCall, blockCall, logsCall]) {
      const before = await count('node-0', 'cannot-tell');
      await untilAudited(call, 'node-0', 'cannot-tell', before + 1);
    }
    expect([await count('node-0', 'differs'), await count('node-1', 'differs')]).toEqual([0, 0]);
  });

  it('if one returns null or an error', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks]);
    nodes[1]?.response('eth_getTransactionReceipt', null);
    nodes[1]?.response('eth_getBalance', rpcError(-32_000, 'missing trie node'));
    await untilAudited(receiptCall, 'node-1', 'cannot-tell', 2);
    await untilAudited(balanceCall, 'node-1', 'cannot-tell', 4);
    expect([await count('node-0', 'differs'), await count('node-1', 'differs')]).toEqual([0, 0]);
  });

  it('if their gas caps differ, and the result shows them', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks, blocks]);
    for (const [index, cap] of ['0x2faf080', '0x17d7840', '0x1312d00'].entries())
      nodes[index]?.response('eth_call', ([{ gas = cap }]: readonly [{ readonly gas?: string }]) => word(gas));
    await untilAudited(['eth_call', [{ to: account }, 'latest']], 'node-0', 'agrees', 2);
    for (const { hash } of blocks.slice(0, 2))
      await untilAudited(['eth_call', [{ to: account }, { blockHash: hash }]], 'node-0', 'cannot-tell');
    const differs = await Promise.all(['node-0', 'node-1', 'node-2'].map((name) => count(name, 'differs')));
    expect(differs).toEqual([0, 0, 0]);
  });

  it('if one has indexed a block late, and returns the logs when it is asked again', async () => {
    const { nodes, count, untilAudited } = await withAudits([blocks, blocks]);
    let asked = 0;
    nodes[1]?.response('eth_getLogs', (params: never) => (asked++ === 0 ? [] : truth.eth_getLogs(params)));
    await untilAudited(logsCall, 'node-1', 'agrees', 1);
    expect([await count('node-0', 'differs'), await count('node-1', 'differs')]).toEqual([0, 0]);
  });

  it('on a chain that hashes its headers in another way', async () => {
    const other = blocks.map((block) => ({ ...block, stateRoot: topic }));
    const { count, untilAudited } = await withAudits([other, other]);
    await untilAudited(blockCall, 'node-1', 'agrees', 2);
    expect([await count('node-0', 'differs'), await count('node-1', 'differs')]).toEqual([0, 0]);
  });
});

describe('a null', () => {
  it('is not audited: it names no block', async () => {
    const { nodes, send, count } = await withAudits([blocks, blocks]);
    nodes[0]?.response('eth_getTransactionReceipt', null);
    await send(receiptCall);
    expect(await count('node-0', 'cannot-tell')).toBe(0);
    expect(nodes[1]?.callsOf('eth_getTransactionReceipt')).toEqual([]);
  });
});

/** A quantity as 32 bytes. */
function word(quantity: string): string {
  return `0x${quantity.slice(2).padStart(64, '0')}`;
}
