import { describe, expect, it, onTestFinished } from 'vitest';
import { bareError, body, statusWithResponse, status, withId } from '../../support/behaviours.ts';
import { rpcError, startFakeNode, type RpcResponse } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { CHAIN_ID, storageParams, withNodes, word } from '../with-nodes.ts';

const hash = word(5);
const call = [{ to: `0x${'22'.repeat(20)}` }];

/** Nodes that return the same response to a method. */
async function withResponse(count: number, method: string, response: RpcResponse) {
  const all = await withNodes(count);
  for (const node of all.nodes) node.response(method, response);
  return all;
}

describe('a method that no upstream supports', () => {
  it('does not exist, with the message that clients recognise', async () => {
    const { send, requestCounts } = await withResponse(2, 'eth_estimateGas', rpcError(-32_601, 'Method not found'));
    const message = 'The method eth_estimateGas does not exist/is not available';
    expect(await send('eth_estimateGas', call)).toMatchObject({
      status: 200,
      response: { error: { code: -32_601, message } },
    });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it.each([
    ['eth_getUncleByBlockHashAndIndex', [hash, '0x0']],
    ['eth_getUncleByBlockNumberAndIndex', ['0x5', '0x0']],
  ])('is null for an uncle, because many nodes do not support uncles: %s', async (method, params) => {
    const { send, requestCounts } = await withNodes(2);
    expect(await send(method, params)).toMatchObject({ status: 200, text: '{"jsonrpc":"2.0","id":1,"result":null}' });
    expect(requestCounts()).toEqual([1, 1]);
  });

  // A block, receipt or transaction may exist although no upstream looks it up.
  it.each([
    ['eth_getBlockByHash', [hash, true]],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_getTransactionByHash', [hash]],
  ])('is -32601 and not null for another lookup: %s', async (method, params) => {
    const { send, requestCounts } = await withNodes(2);
    expect(await send(method, params)).toMatchObject({ status: 200, response: { error: { code: -32_601 } } });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('is sent to an upstream that supports it', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_601, 'the method eth_getStorageAt does not exist'));
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('is not reported as missing if one upstream failed', async () => {
    const { nodes, send, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_getTransactionByHash', rpcError(-32_601, 'Method not found'));
    nodes[1]?.always(status(503));
    expect(await send('eth_getTransactionByHash', [hash])).toMatchObject({
      status: 503,
      response: { error: { code: -32_603 } },
    });
    expect(requestCounts()).toEqual([1, 1]);
  });
});

describe('when the response is too large for every upstream', () => {
  it('the caller gets -32005 and the node’s text', async () => {
    const { send, requestCounts } = await withResponse(
      2,
      'eth_getStorageAt',
      rpcError(-32_003, 'response too large', { max: 1 }),
    );
    expect(await send()).toMatchObject({
      status: 200,
      text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"response too large"}}',
    });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('the caller gets -32005 for HTTP 413, too', async () => {
    const { nodes, send, requestCounts } = await withNodes(2);
    for (const node of nodes) node.always(status(413));
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_005 } } });
    expect(requestCounts()).toEqual([1, 1]);
  });
});

describe('when no upstream has the state that a call needs', () => {
  const missing = 'missing trie node 5ac1 (path 0102) state 0x5ac1 is not available, not found';

  it('the caller gets the node’s text, with HTTP 200', async () => {
    const { send, requestCounts } = await withResponse(2, 'eth_getStorageAt', rpcError(-32_000, missing));
    const error = { code: -32_603, message: `no upstream could answer: ${missing}` };
    expect(await send()).toMatchObject({ status: 200, response: { error } });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('the caller gets that text even if the other upstreams fail', async () => {
    const { nodes, send, requestCounts } = await withNodes(3);
    nodes[0]?.always(status(503));
    nodes[1]?.response('eth_getStorageAt', rpcError(-32_000, missing));
    await nodes[2]?.refuse();
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_603 } } });
    expect(requestCounts()).toEqual([1, 1, 0]);
  });

  it('the call is sent to another upstream, which has it', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_000, missing));
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('a receipt is not null', async () => {
    const indexing = rpcError(-32_000, 'transaction indexing is in progress', 'transaction indexing is in progress');
    const { send, requestCounts } = await withResponse(2, 'eth_getTransactionReceipt', indexing);
    expect((await send('eth_getTransactionReceipt', [hash])).response.error?.code).toBe(-32_603);
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('null is no usable response for a value', async () => {
    const { nodes, request, requestCounts } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', null);
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([1, 1]);
  });
});

it.each(
  ['debug_traceTransaction', 'trace_block', 'erigon_getHeaderByNumber', 'ots_getBlockDetails'].flatMap((method) => [
    [method, 'missing trie node 5ac1 (path 0102) state 0x5ac1 is not available, not found'],
    [method, 'cannot query unfinalized data'],
    [method, 'historical state 5ac1 is not available'],
    [method, 'transaction indexing is in progress'],
    [method, 'block #16 not found'],
  ]),
)('%s, which has no schema, is sent on if an upstream has the error: %s', async (method, text) => {
  const { nodes, send } = await withNodes(3, {}, { methods: ['eth', 'debug_*', 'trace_*', 'erigon_*', 'ots_*'] });
  for (const node of nodes.slice(0, 2)) node.response(method, rpcError(-32_000, text));
  nodes[2]?.response(method, { of: 'the third' });
  expect((await send(method, ['0x10'])).response.result).toEqual({ of: 'the third' });
});

it('eth_getBlockReceipts is sent the hash alone, which every node takes', async () => {
  const { nodes, send } = await withNodes(1);
  nodes[0]?.response('eth_getBlockReceipts', []);
  await send('eth_getBlockReceipts', [{ blockHash: hash }]);
  expect(nodes[0]?.callsOf('eth_getBlockReceipts').map(({ params }) => params)).toEqual([[hash]]);
});

describe('an error that matches no rule', () => {
  const unknownError = rpcError(-32_099, 'the moon is in the wrong phase', '0xdead');

  it('is retried once at another upstream, and then passed on unchanged', async () => {
    const { send, requestCounts } = await withResponse(4, 'eth_getStorageAt', unknownError);
    const error = { code: -32_099, message: 'the moon is in the wrong phase', data: '0xdead' };
    const { status: http, response } = await send();
    expect([http, response]).toEqual([200, { jsonrpc: '2.0', id: 1, error }]);
    expect(requestCounts()).toEqual([1, 1, 0, 0]);
  });

  it('is dropped if the next upstream has a result', async () => {
    const { nodes, request, requestCounts } = await withNodes(3);
    nodes[0]?.response('eth_getStorageAt', unknownError);
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([1, 1, 0]);
  });

  it('of the only upstream is passed on at once, and does not open the circuit', async () => {
    const { send, requestCounts } = await withResponse(1, 'eth_getStorageAt', unknownError);
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_099 } } });
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_099 } } });
    expect(requestCounts()).toEqual([2]);
  });

  it('with code 3, which is reserved for reverts, becomes -32000', async () => {
    const { send, requestCounts } = await withResponse(
      1,
      'eth_estimateGas',
      rpcError(3, 'something about a transaction', '0x'),
    );
    const { response } = await send('eth_estimateGas', call);
    expect(response.error).toEqual({ code: -32_000, message: 'something about a transaction' });
    expect(requestCounts()).toEqual([1]);
  });

  it('may be a plain text', async () => {
    const { nodes, send, requestCounts } = await withNodes(1);
    nodes[0]?.always(body('{"error":"the moon"}'));
    expect((await send()).response.error).toEqual({ code: -32_000, message: 'the moon' });
    expect(requestCounts()).toEqual([1]);
  });

  it('is passed on when it has no envelope and no known code', async () => {
    const { nodes, send, requestCounts } = await withNodes(1);
    nodes[0]?.always(bareError(-32_098, 'no such plan'));
    expect((await send()).response.error).toEqual({ code: -32_098, message: 'no such plan' });
    expect(requestCounts()).toEqual([1]);
  });
});

describe('an error that every upstream would return is passed on without a retry', () => {
  it.each([
    ['eth_estimateGas', call, -32_000, 'insufficient funds for gas * price + value: address 0xaa have 0 want 1'],
    ['eth_estimateGas', call, -32_000, 'gas required exceeds allowance (30000000)'],
    ['eth_estimateGas', call, -32_603, 'EVM error InvalidFEOpcode'],
  ])('%s: %j gives %i %s', async (method, params, code, message) => {
    const { send, requestCounts } = await withResponse(2, method, rpcError(code, message));
    expect(await send(method, params)).toMatchObject({ status: 200, response: { error: { code, message } } });
    expect(requestCounts()).toEqual([1, 0]);
  });

  it('a revert', async () => {
    const { send, requestCounts } = await withResponse(2, 'eth_estimateGas', rpcError(3, 'execution reverted', '0x'));
    const { response } = await send('eth_estimateGas', call);
    expect(response.error).toEqual({ code: 3, message: 'execution reverted', data: '0x' });
    expect(requestCounts()).toEqual([1, 0]);
  });
});

describe('parameters that the gateway has accepted, and one node rejects', () => {
  const rejected = rpcError(-32_602, 'invalid type: null, expected a sequence');

  // anvil rejects what geth serves, and others what graph-node sends.
  it.each<[string, readonly unknown[], unknown]>([
    ['eth_feeHistory', ['0x1', 'latest', null], { oldestBlock: '0x10', baseFeePerGas: ['0x1'], gasUsedRatio: [0] }],
    ['eth_getBalance', [storageParams[0], { blockNumber: '0x10' }], '0x1'],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x2', topics: [null] }], []],
    ['eth_getBlockByNumber', ['0x1', false], null],
    ['eth_call', [call[0], 'latest', {}], '0x01'],
    ['eth_estimateGas', [call[0], 'latest', {}], '0x5208'],
  ])('%s %j is sent to one more upstream', async (method, params, result) => {
    const { nodes, send } = await withNodes(3);
    nodes[0]?.response(method, rejected);
    nodes[1]?.response(method, result);
    expect((await send(method, params)).response.result).toEqual(result);
  });

  it('have the error of the second one as their response', async () => {
    const { send, requestCounts } = await withResponse(4, 'eth_feeHistory', rejected);
    const error = { code: -32_602, message: 'invalid type: null, expected a sequence' };
    expect(await send('eth_feeHistory', ['0x1', 'latest', null])).toMatchObject({ status: 200, response: { error } });
    expect(requestCounts()).toEqual([1, 1, 0, 0]);
  });

  it('with any HTTP status and id', async () => {
    const { nodes, send, requestCounts } = await withResponse(
      2,
      'eth_getStorageAt',
      rpcError(-32_602, 'invalid argument 1'),
    );
    nodes[0]?.next(statusWithResponse(400));
    nodes[0]?.next(withId(null));
    nodes[0]?.next(body('{"code":-32602,"message":"invalid argument 1"}'));
    for (let times = 0; times < 3; times++) {
      expect(await send()).toMatchObject({ status: 200, response: { id: 1, error: { code: -32_602 } } });
    }
    expect(requestCounts()).toEqual([3, 3]);
  });

  it('are sent in the form that all nodes accept, if there is one', async () => {
    const { nodes, send } = await withNodes(1);
    nodes[0]?.response('eth_getBlockReceipts', null);
    const forms = [{ blockHash: hash }, { blockHash: hash, requireCanonical: false }, { blockNumber: '0x5' }, '0x6'];
    const canonical = { blockHash: hash, requireCanonical: true };
    for (const form of [...forms, canonical]) await send('eth_getBlockReceipts', [form]);
    const sent = nodes[0]?.callsOf('eth_getBlockReceipts').map(({ params }) => (params as unknown[])[0]);
    expect([...new Set(sent)]).toEqual([hash, '0x5', '0x6', canonical]);
  });
});

it('an object other than the requested one is no usable response: the next upstream is tried', async () => {
  const { nodes, send, requestCounts } = await withNodes(2);
  nodes[0]?.response('eth_getBlockByHash', { hash: word(6), number: '0x1' });
  nodes[1]?.response('eth_getBlockByHash', { hash, number: '0x2' });
  expect((await send('eth_getBlockByHash', [hash, false])).response.result).toMatchObject({ hash, number: '0x2' });
  expect(requestCounts()).toEqual([1, 1]);
});

describe('the text of a node’s error', () => {
  it('is cleaned of the upstream’s host and URL', async () => {
    const { nodes, send, requestCounts } = await withNodes(1);
    const url = nodes[0]?.url ?? '';
    const { host, hostname } = new URL(url);
    const message = `Post "${url}/v1": dial tcp ${host}: lookup ${hostname}: refused`;
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_000, message));
    const { text, response } = await send();
    expect(response.error?.message).toBe('Post "<url>": dial tcp <address>: lookup <address>: refused');
    expect(text).not.toContain(hostname);
    expect(requestCounts()).toEqual([1]);
  });

  it('is cleaned of internal hosts, in every part of the error', async () => {
    const { nodes, send, requestCounts } = await withNodes(1);
    const inner = 'Post "http://geth-internal-7:8545/abc": dial tcp 10.1.2.3:8545: connection refused';
    const wrapped = { code: -32_603, message: 'Internal error', data: { code: -32_000, message: inner } };
    for (const error of [rpcError(-32_099, inner), rpcError(wrapped.code, wrapped.message, wrapped.data)]) {
      nodes[0]?.response('eth_getStorageAt', error);
      const { text } = await send();
      expect(text).toContain('connection refused');
      expect(text).not.toMatch(/geth-internal|10\.1\.2\.3|8545/);
    }
    expect(requestCounts()).toEqual([2]);
  });

  it('is cleaned of provider keys, in every part of the error', async () => {
    const key = 'SECRETKEY1234567';
    const node = await startFakeNode({ chainId: CHAIN_ID });
    const gateway = await startGateway({ test: network(CHAIN_ID, [`${node.url}/v2/${key}`]) });
    onTestFinished(async () => {
      await gateway.stop();
      await node.close();
    });
    const text = `the token ${key.toLowerCase()} at /v2/${key} is odd`;
    for (const data of [undefined, { code: -32_000, message: text }, JSON.stringify({ error: { message: text } })]) {
      node.response('eth_getStorageAt', rpcError(-32_099, data === undefined ? text : 'Internal error', data));
      const response = await gateway.call('test', 'eth_getStorageAt', storageParams);
      expect(JSON.stringify(response)).not.toMatch(new RegExp(key, 'i'));
    }
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(3);
  });

  it.each([{ reason: 'objects' }, ['arrays'], 'plain text', '0xabc', 7, true, null])(
    'has hexadecimal data or none: %j is dropped',
    async (data) => {
      const { send, requestCounts } = await withResponse(1, 'eth_getStorageAt', rpcError(-32_099, 'no', data));
      expect((await send()).response.error).toEqual({ code: -32_099, message: 'no' });
      expect(requestCounts()).toEqual([1]);
    },
  );
});
