import { describe, expect, it } from 'vitest';
import { simulatedNodes, type Json } from './simulated-nodes.ts';

describe('a transaction of a block', () => {
  it.each([
    ['pending', { blockHash: null, blockNumber: null, transactionIndex: null }],
    ['of an unknown block without a number', { blockHash: `0x${'de'.repeat(32)}`, blockNumber: null }],
    ['of no block, with a number', { blockHash: null }],
    ['without an index', { transactionIndex: null }],
  ])('that an upstream returns as %s is not proven', async (_, place) => {
    const method = 'eth_getTransactionByHash';
    for (const verify of ['require', 'enforce']) {
      const nodes = await simulatedNodes(2, { verify, cache: 'off' });
      await nodes.send('eth_blockNumber');
      nodes.lie(0, method, (transaction: Json) => ({ ...transaction, ...place }));
      const { result } = await nodes.send(method, nodes.hashes[0]);
      if (verify === 'require') expect(result).toMatchObject(nodes.truth(method, nodes.hashes[0]) as object);
      else expect(await nodes.proven(method, 'no')).toBe(1);
    }
  });

  it('is an error with `require` as long as it is pending at all upstreams', async () => {
    const method = 'eth_getTransactionByHash';
    const nodes = await simulatedNodes(2, { verify: { level: { 'eth_*': 'require' } }, cache: 'off' });
    await nodes.send('eth_blockNumber');
    const pending = { blockHash: null, blockNumber: null, transactionIndex: null };
    for (const node of [0, 1]) nodes.lie(node, method, (transaction: Json) => ({ ...transaction, ...pending }));
    expect((await nodes.send(method, nodes.hashes[0])).error).toMatchObject({ code: -32603 });
    for (const node of [0, 1]) nodes.lie(node, method, undefined);
    expect((await nodes.send(method, nodes.hashes[0])).error).toBeUndefined();
  });
});

describe('with `enforce`, a result that nothing proves', () => {
  it('is not cached: once there is evidence, the result is proven', async () => {
    const method = 'eth_getTransactionReceipt';
    const nodes = await simulatedNodes(2, { verify: 'enforce' });
    const [hash] = nodes.hashes;
    await nodes.send('eth_blockNumber');
    nodes.lie(0, method, (receipt: Json) => ({ ...receipt, status: '0x0' }));
    for (const node of [0, 1]) nodes.lie(node, 'eth_getBlockReceipts', () => []);
    expect((await nodes.send(method, hash)).result).toMatchObject({ status: '0x0' });
    expect(await nodes.proven(method, 'no')).toBe(1);
    for (const node of [0, 1]) nodes.lie(node, 'eth_getBlockReceipts', undefined);
    await nodes.advance(1_000);
    expect((await nodes.send(method, hash)).result).toMatchObject({ status: '0x1' });
    expect(await nodes.proven(method, 'root')).toBe(1);
  });
});
