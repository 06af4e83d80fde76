import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { shiftClock, withNodes } from '../routing/with-nodes.ts';

const hash = `0x${'a'.repeat(64)}`;
const root = hash;
const blockSinceTheMerge = {
  ...{ number: '0x10', hash, parentHash: hash, nonce: '0x0000000000000000', sha3Uncles: hash, mixHash: hash },
  ...{ logsBloom: `0x${'0'.repeat(512)}`, transactionsRoot: root, stateRoot: root, receiptsRoot: root },
  ...{ miner: `0x${'1'.repeat(40)}`, difficulty: '0x0', extraData: '0x', size: '0x1', gasLimit: '0x1', gasUsed: '0x0' },
  ...{ timestamp: '0x1', uncles: [], transactions: [], baseFeePerGas: '0x7', withdrawals: [] },
};
const name = 'gatehouse_upstream_result_deviations_total';

describe('a result that deviates from the spec', () => {
  it('is passed on, and counted', async () => {
    const clock = shiftClock();
    const { nodes, gateway, send, requestCounts } = await withNodes(1);
    const counted = async (method: string): Promise<number | undefined> =>
      (await readMetrics(gateway.address)).value(name, { upstream: 'node-0', method });
    nodes[0]?.response('eth_gasPrice', '0x1');
    expect(await send('eth_gasPrice', [])).toMatchObject({ response: { result: '0x1' } });
    expect(await counted('eth_gasPrice')).toBeUndefined();

    nodes[0]?.response('eth_feeHistory', { oldestBlock: 'no quantity', baseFeePerGas: [], gasUsedRatio: [] });
    const fees = ['0x1', 'latest', []];
    expect(await send('eth_feeHistory', fees)).toMatchObject({
      status: 200,
      response: { result: { baseFeePerGas: [] } },
    });
    expect(await counted('eth_feeHistory')).toBe(1);
    // At most one check per second.
    await send('eth_feeHistory', fees);
    expect(await counted('eth_feeHistory')).toBe(1);
    clock.forward(1_100);
    await send('eth_feeHistory', fees);
    expect(await counted('eth_feeHistory')).toBe(2);
    expect(requestCounts()).toEqual([4]);
  });

  it('is counted in large results too, but not for nulls that the gateway adds', async () => {
    const { nodes, gateway, send, requestCounts } = await withNodes(1);
    const log = {
      ...{ address: `0x${'1'.repeat(40)}`, topics: [hash], data: '0x', blockNumber: '0x10', transactionHash: hash },
      ...{ transactionIndex: '0x1', blockHash: hash, logIndex: '0x0', removed: false },
    };
    const logs = Array.from({ length: 100 }, (_, index) => ({ ...log, logIndex: `0x${index.toString(16)}` }));
    nodes[0]?.response('eth_getLogs', [...logs, { ...log, logIndex: '0x100', data: 'x' }]);
    await send('eth_getLogs', [{}]);
    // Since the merge, blocks have no total difficulty.
    nodes[0]?.response('eth_getBlockByHash', blockSinceTheMerge);
    expect(await send('eth_getBlockByHash', [hash, false])).toMatchObject({
      response: { result: { hash, totalDifficulty: null } },
    });
    const { value } = await readMetrics(gateway.address);
    expect(value(name, { method: 'eth_getLogs' })).toBe(1);
    expect(value(name, { method: 'eth_getBlockByHash' })).toBeUndefined();
    expect(requestCounts()).toEqual([2]);
  });
});
