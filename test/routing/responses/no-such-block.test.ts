import { describe, expect, it } from 'vitest';
import { status } from '../../support/behaviours.ts';
import { rpcError, type RpcResponse } from '../../support/fake-node.ts';
import { shiftClock, storageParams, untilHeadsPolled, withNodes, word, type WithNodes } from '../with-nodes.ts';

const address = storageParams[0];
const call = { to: address };
const hash = word(77);
const future = '0x5000';
const gethNone = rpcError(-32_000, 'header not found');

/** Nodes with these heads, all of which have been polled. */
async function withHeads(...heads: string[]): Promise<WithNodes> {
  // With a stopped clock, the gateway does not poll again.
  shiftClock();
  const all = await withNodes(heads.length, {}, { methods: ['eth', 'debug_traceCall'] });
  all.nodes.forEach((node, index) => {
    const block = { number: heads[index], gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] };
    node.response('eth_getBlockByNumber', block);
  });
  await all.request();
  await untilHeadsPolled(all);
  for (const node of all.nodes) node.calls.length = 0;
  return all;
}

function setResponse({ nodes }: WithNodes, method: string, response: RpcResponse): void {
  for (const node of nodes) node.response(method, response);
}

describe('a block above the newest known head', () => {
  it.each<[string, readonly unknown[], number, string]>([
    ['eth_getBalance', [address, future], -32_000, 'header not found'],
    ['eth_call', [call, future], -32_000, 'header not found'],
    ['eth_estimateGas', [call, future], -32_000, 'header not found'],
    [
      'eth_getStorageAt',
      [address, '0x0', future],
      -32_602,
      'BlockOutOfRangeError: block height is 16 but requested was 1',
    ],
    ['eth_getLogs', [{ fromBlock: future, toBlock: future }], -32_602, 'block range extends beyond current head block'],
    ['eth_getProof', [address, [], future], -39_001, 'Unknown block'],
  ])('does not exist, with the message and code of one upstream at the head: %s', async (method, params, ...error) => {
    const all = await withHeads('0x10', '0x10');
    const [code, message] = error;
    all.nodes[0]?.response(method, rpcError(code, message));
    expect(await all.send(method, params)).toMatchObject({ status: 200, response: { error: { code, message } } });
    expect(all.requestCounts()).toEqual([1, 0]);
  });

  it('is requested from another upstream if the first is behind the head', async () => {
    const all = await withHeads('0x10', '0x11');
    all.nodes[0]?.response('eth_getBalance', gethNone);
    all.nodes[1]?.response('eth_getBalance', '0x7');
    expect((await all.send('eth_getBalance', [address, future])).response.result).toBe('0x7');
    expect(all.requestCounts()).toEqual([1, 1]);
  });

  it('is null for an uncle, whatever the error of the upstreams', async () => {
    const method = 'eth_getUncleByBlockNumberAndIndex';
    const all = await withHeads('0x10', '0x10');
    all.nodes[0]?.response(
      method,
      rpcError(-32_602, 'BlockOutOfRangeError: block height is 16 but requested was 20480'),
    );
    all.nodes[1]?.response(method, gethNone);
    expect(await all.send(method, [future, '0x0'])).toMatchObject({ text: '{"jsonrpc":"2.0","id":1,"result":null}' });
  });
});

describe('an unknown block', () => {
  const at = [address, { blockHash: hash }];

  it.each([
    [-32_000, 'header for hash not found'],
    [-32_001, 'Resource not found'],
  ])('does not exist if all upstreams return that: %i %s', async (code, message) => {
    const all = await withHeads('0x10', '0x10');
    setResponse(all, 'eth_getBalance', rpcError(code, message));
    expect(await all.send('eth_getBalance', at)).toMatchObject({ status: 200, response: { error: { code, message } } });
    expect(all.requestCounts()).toEqual([1, 1]);
  });

  it('is requested from the next upstream if one does not have it', async () => {
    const all = await withHeads('0x10', '0x10');
    all.nodes[0]?.response('eth_getBalance', gethNone);
    all.nodes[1]?.response('eth_getBalance', '0x7');
    expect((await all.send('eth_getBalance', at)).response.result).toBe('0x7');
  });

  it('may exist if another upstream fails: the error is the gateway’s', async () => {
    const all = await withHeads('0x10', '0x10');
    all.nodes[0]?.response('eth_getBalance', gethNone);
    all.nodes[1]?.always(status(503), 'eth_getBalance');
    const error = { code: -32_603, message: 'no upstream could answer: header not found' };
    for (let times = 0; times < 3; times++)
      expect((await all.send('eth_getBalance', at)).response).toMatchObject({ error });
    // Its circuit is open now, and it does not count.
    const own = { code: -32_000, message: 'header not found' };
    expect((await all.send('eth_getBalance', at)).response).toMatchObject({ error: own });
  });

  it('does not exist, with the message of the only upstream', async () => {
    const all = await withNodes(1);
    all.nodes[0]?.response('eth_call', gethNone);
    const error = { code: -32_000, message: 'header not found' };
    expect(await all.send('eth_call', [call, future])).toMatchObject({ status: 200, response: { error } });
    expect(await all.send('eth_call', [call, { blockHash: hash }])).toMatchObject({ response: { error } });
  });
});

it('a lookup in a served block is 503 and not null', async () => {
  const all = await withNodes(1);
  const block = { number: '0x20', hash, gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] };
  all.nodes[0]?.response('eth_getBlockByNumber', block);
  expect((await all.send('eth_getBlockByNumber', ['latest', false])).response.result).toMatchObject({ number: '0x20' });
  all.nodes[0]?.response('eth_getBlockTransactionCountByNumber', gethNone);
  expect(await all.send('eth_getBlockTransactionCountByNumber', ['0x20'])).toMatchObject({ status: 503 });
  expect((await all.send('eth_getBlockTransactionCountByNumber', ['0x21'])).response.result).toBeNull();
});

it.each([
  ['eth_getTransactionReceipt', [hash], 'block not found: leveldb: closed'],
  ['eth_getTransactionReceipt', [hash], 'transaction index height is ahead of latest indexed height'],
  ['eth_getBlockByNumber', ['latest', false], 'header not found'],
  ['eth_getBlockByNumber', ['finalized', false], 'unknown block'],
])('%s of %j is not null for the unanchored error "%s"', async (method, params, message) => {
  const all = await withHeads('0x10', '0x10');
  setResponse(all, method, rpcError(-32_000, message));
  const { response } = await all.send(method, params);
  expect(response).not.toHaveProperty('result');
  expect(response.error?.code).toBe(-32_603);
});

it.each(['0x5000', { blockHash: hash }])(
  'null for the state at a block that Besu lacks is its error: %j',
  async (block) => {
    for (const heads of [['0x10'], ['0x10', '0x10']]) {
      const all = await withHeads(...heads);
      setResponse(all, 'eth_getBalance', null);
      const error = { code: -32_000, message: 'header not found' };
      expect(await all.send('eth_getBalance', [address, block])).toMatchObject({ status: 200, response: { error } });
    }
  },
);

it.each(['safe', 'finalized'])('a lone upstream without a block for %s has its own error', async (tag) => {
  const all = await withHeads('0x10');
  setResponse(all, 'eth_getBalance', rpcError(-32_000, `${tag} block not found`));
  const error = { code: -32_000, message: `${tag} block not found` };
  expect(await all.send('eth_getBalance', [address, tag])).toMatchObject({ status: 200, response: { error } });
  setResponse(all, 'eth_getBlockReceipts', rpcError(-32_000, `${tag} block not found`));
  expect(await all.send('eth_getBlockReceipts', [tag])).toMatchObject({ status: 200, response: { error } });
  setResponse(all, 'eth_getBlockByNumber', rpcError(-32_000, `${tag} block not found`));
  expect(await all.send('eth_getBlockByNumber', [tag, false])).toMatchObject({ status: 200, response: { error } });
});
