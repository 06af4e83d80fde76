import { describe, expect, it } from 'vitest';
import { withNodes } from '../with-nodes.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const address = `0x${'11'.repeat(20)}`;
const transaction = {
  ...{ blockHash: hash('a'), blockNumber: '0x10', hash: hash('b'), from: address, to: address, gas: '0x1' },
  ...{ gasPrice: '0x1', input: '0x', nonce: '0x0', v: '0x1', transactionIndex: '0x0', type: '0x2', value: '0x0' },
};
const short = { r: '0x1f', s: '0x2f' };
const padded = { r: `0x${'1f'.padStart(64, '0')}`, s: `0x${'2f'.padStart(64, '0')}` };
const block = {
  ...{ number: '0x10', hash: hash('a'), parentHash: hash('1'), nonce: '0x0000000000000000', sha3Uncles: hash('2') },
  ...{ logsBloom: `0x${'0'.repeat(512)}`, transactionsRoot: hash('3'), stateRoot: hash('4'), receiptsRoot: hash('5') },
  ...{ miner: address, difficulty: '0x0', totalDifficulty: '0x0', extraData: '0x', size: '0x1', gasLimit: '0x1' },
  ...{ gasUsed: '0x1', timestamp: '0x1', uncles: [], mixHash: hash('6'), transactions: [] as unknown[] },
};
const fee = {
  ...{ gas_limit: '0x1', gas_per_pubdata_limit: '0x2', max_fee_per_gas: '0x3', max_priority_fee_per_gas: '0x0' },
};
const filled = (count: number, signature: object): object => ({
  ...block,
  transactions: Array.from({ length: count }, () => ({ ...transaction, ...signature })),
});

// The gateway parses one transaction. It does not parse 200 if nothing changes in them.
describe.each([1, 200])('a block of %d transactions', (count) => {
  it('with short signatures is unchanged, byte for byte', async () => {
    const { nodes, send } = await withNodes(1);
    const text = JSON.stringify(filled(count, short));
    nodes[0]?.response('eth_getBlockByHash', JSON.parse(text));
    expect((await send('eth_getBlockByHash', [hash('a'), true])).text).toBe(
      `{"jsonrpc":"2.0","id":1,"result":${text}}`,
    );
  });

  it('is returned without the zeros of padded signatures, and with null for empty addresses', async () => {
    const { nodes, send } = await withNodes(1);
    nodes[0]?.response('eth_getBlockByHash', filled(count, { ...padded, to: '0x' }));
    const { response } = await send('eth_getBlockByHash', [hash('a'), true]);
    expect(response.result).toEqual(filled(count, { ...short, to: null }));
  });

  it('is requested from another upstream if its transactions do not match the flag', async () => {
    const { nodes, send, requestCounts } = await withNodes(2);
    const hashes = { ...block, transactions: Array.from({ length: count }, () => hash('b')) };
    nodes[0]?.response('eth_getBlockByHash', ([, isFull]: [string, boolean]) =>
      isFull ? hashes : filled(count, short),
    );
    nodes[1]?.response('eth_getBlockByHash', ([, isFull]: [string, boolean]) =>
      isFull ? filled(count, short) : hashes,
    );
    expect((await send('eth_getBlockByHash', [hash('a'), true])).response.result).toEqual(filled(count, short));
    expect((await send('eth_getBlockByHash', [hash('a'), false])).response.result).toEqual(hashes);
    expect(requestCounts()[1]).toBe(2);
  });

  it('is passed on unchanged while it is pending', async () => {
    const { nodes, send } = await withNodes(1);
    const pending = {
      ...filled(count, { ...padded, blockHash: null }),
      number: null,
      hash: null,
      nonce: null,
      miner: null,
    };
    nodes[0]?.response('eth_getBlockByNumber', pending);
    expect((await send('eth_getBlockByNumber', ['pending', true])).response.result).toEqual(pending);
  });
});

describe('zks_estimateFee', () => {
  const params = [{ from: address, to: address }];

  it.each(['lots', '0x'])('is requested from another upstream if a member is no quantity: %s', async (member) => {
    const { nodes, send, requestCounts } = await withNodes(2);
    nodes[0]?.response('zks_estimateFee', { ...fee, max_fee_per_gas: member });
    nodes[1]?.response('zks_estimateFee', fee);
    expect((await send('zks_estimateFee', params)).response.result).toEqual(fee);
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('is an error if no upstream returns four quantities', async () => {
    const { nodes, send } = await withNodes(1);
    nodes[0]?.response('zks_estimateFee', { gas_limit: '0x1', gas_per_pubdata_limit: '0x2' });
    const { response } = await send('zks_estimateFee', params);
    expect(response).toMatchObject({ error: { code: -32_603 } });
    expect(response).not.toHaveProperty('result');
  });
});

describe('eth_feeHistory', () => {
  it('of no blocks is passed on byte for byte, and a count may be decimal', async () => {
    const { nodes, send } = await withNodes(1);
    const none = { oldestBlock: '0x0', gasUsedRatio: null };
    nodes[0]?.response('eth_feeHistory', none);
    for (const count of ['0x0', '0', 0, '2']) {
      const { text } = await send('eth_feeHistory', [count, 'latest', []]);
      expect(text).toBe(`{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(none)}}`);
    }
    expect(nodes[0]?.callsOf('eth_feeHistory').map(({ params }) => (params as unknown[])[0])).toEqual([
      '0x0',
      '0',
      0,
      '2',
    ]);
  });
});

it('a receipt with root 0x has a status, or is requested from another upstream', async () => {
  const { nodes, send } = await withNodes(2);
  const receipt = {
    ...{ blockHash: hash('a'), blockNumber: '0x10', contractAddress: null, cumulativeGasUsed: '0x1', to: null },
    ...{ effectiveGasPrice: '0x1', from: address, gasUsed: '0x1', logs: [], logsBloom: block.logsBloom, type: '0x0' },
    ...{ transactionHash: hash('b'), transactionIndex: '0x0' },
  };
  nodes[0]?.response('eth_getTransactionReceipt', { ...receipt, root: '0x', status: '0x1' });
  nodes[1]?.response('eth_getTransactionReceipt', { ...receipt, status: '0x0' });
  const of = async (): Promise<unknown> => (await send('eth_getTransactionReceipt', [hash('b')])).response.result;
  expect(await of()).toEqual({ ...receipt, status: '0x1' });
  nodes[0]?.response('eth_getTransactionReceipt', { ...receipt, root: '0x' });
  expect(await of()).toEqual({ ...receipt, status: '0x0' });
});

// zksync-era PR 706.
it.each([{ blockNumber: null }, { blockHash: '' }, { blockHash: '0x' }])(
  'a receipt with %j is that of a transaction without a block: null',
  async (more) => {
    const { nodes, send } = await withNodes(1);
    const receipt = { blockHash: hash('a'), blockNumber: '0x10', transactionHash: hash('b'), status: '0x1', ...more };
    nodes[0]?.response('eth_getTransactionReceipt', receipt);
    expect((await send('eth_getTransactionReceipt', [hash('b')])).response.result).toBeNull();
  },
);
