import { expect, it } from 'vitest';
import { simulatedNodes, type Json } from './simulated-nodes.ts';

const later = '0x7fffffff';
const receipt = 'eth_getTransactionReceipt';

it.each<[what: string, method: string, changes: Json, isDisproved: boolean]>([
  ['no bloom filter', receipt, { logsBloom: null }, false],
  ['no gas', receipt, { gasUsed: null }, false],
  ['a state root in place of its status', receipt, { status: undefined, root: `0x${'99'.repeat(32)}` }, false],
  ['another time', receipt, { blockTimestamp: later }, true],
  ['another time', 'eth_getTransactionByHash', { blockTimestamp: later }, true],
  ['no root of withdrawals', 'eth_getBlockByHash', { withdrawalsRoot: undefined }, false],
  ['another root of withdrawals', 'eth_getBlockByHash', { withdrawalsRoot: `0x${'99'.repeat(32)}` }, true],
])(
  'an object with %s is not proven (%s); only a wrong member disproves it',
  async (_, method, changes, isDisproved) => {
    const nodes = await simulatedNodes(3, { verify: 'require', cache: 'off' });
    const params = method === 'eth_getBlockByHash' ? [nodes.blockHash, false] : [nodes.hashes[0]];
    await nodes.send('eth_blockNumber');
    nodes.lie(0, method, (result: Json) => ({ ...result, ...changes }));
    const { error, result } = await nodes.send(method, ...params);
    expect(error).toBeUndefined();
    expect(result).toMatchObject(nodes.truth(method, ...params) as object);
    expect(await nodes.disproved(0)).toBe(isDisproved ? 1 : 0);
  },
);
