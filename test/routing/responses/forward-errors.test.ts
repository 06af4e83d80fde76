import { describe, expect, it, onTestFinished } from 'vitest';
import { bareError, body, statusWithResponse, status, withId } from '../../support/behaviours.ts';
import { rpcError, startFakeNode, type RpcResponse } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { CHAIN_ID, storageParams, withNodes, word } from '../with-nodes.ts';

const hash = word(5);
const call = [{ to: `0x${'22'.repeat(20)}` }];

/** What every node says to every call. */
async function allSay(count: number, method: string, response: RpcResponse) {
  const all = await withNodes(count);
  for (const node of all.nodes) node.response(method, response);
  return all;
}

describe('a method that every upstream lacks', () => {
  it('does not exist, in the words that clients know', async () => {
    const { send, asked: requested } = await allSay(2, 'eth_estimateGas', rpcError(-32_601, 'Method not found'));
    const message = 'The method eth_estimateGas does not exist/is not available';
    expect(await send('eth_estimateGas', call)).toMatchObject({
      status: 200,
      response: { error: { code: -32_601, message } },
    });
    expect(requested()).toEqual([1, 1]);
  });

  it.each([
    ['eth_getUncleByBlockHashAndIndex', [hash, '0x0']],
    ['eth_getUncleByBlockNumberAndIndex', ['0x5', '0x0']],
  ])('is null for an uncle, which many clients do not have: %s', async (method, params) => {
    const { send, asked: requested } = await withNodes(2);
    expect(await send(method, params)).toMatchObject({ status: 200, text: '{"jsonrpc":"2.0","id":1,"result":null}' });
    expect(requested()).toEqual([1, 1]);
  });

  // Contract §3: a block, receipt or transaction may exist although no upstream looks it up.
  it.each([
    ['eth_getBlockByHash', [hash, true]],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_getTransactionByHash', [hash]],
  ])('is -32601 and not null for another lookup: %s', async (method, params) => {
    const { send, asked: requested } = await withNodes(2);
    expect(await send(method, params)).toMatchObject({ status: 200, response: { error: { code: -32_601 } } });
    expect(requested()).toEqual([1, 1]);
  });

  it('is asked of one that has it', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_601, 'the method eth_getStorageAt does not exist'));
    expect(await ask()).toMatchObject({ result: word(2) });
    expect(requested()).toEqual([1, 1]);
  });

  it('is not said to be missing while one upstream was not heard', async () => {
    const { nodes, send, asked: requested } = await withNodes(2);
    nodes[0]?.response('eth_getTransactionByHash', rpcError(-32_601, 'Method not found'));
    nodes[1]?.always(status(503));
    expect(await send('eth_getTransactionByHash', [hash])).toMatchObject({
      status: 503,
      response: { error: { code: -32_603 } },
    });
    expect(requested()).toEqual([1, 1]);
  });
});

describe('when the answer would be too large for every upstream', () => {
  it('the caller gets -32005 and the node’s text', async () => {
    const { send, asked: requested } = await allSay(
      2,
      'eth_getStorageAt',
      rpcError(-32_003, 'response too large', { max: 1 }),
    );
    expect(await send()).toMatchObject({
      status: 200,
      text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"response too large"}}',
    });
    expect(requested()).toEqual([1, 1]);
  });

  it('and they say so by HTTP 413, it gets -32005 too', async () => {
    const { nodes, send, asked: requested } = await withNodes(2);
    for (const node of nodes) node.always(status(413));
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_005 } } });
    expect(requested()).toEqual([1, 1]);
  });
});

describe('when no upstream has the state that a call needs', () => {
  const missing = 'missing trie node 5ac1 (path 0102) state 0x5ac1 is not available, not found';

  it('the caller gets the node’s text, under HTTP 200', async () => {
    const { send, asked: requested } = await allSay(2, 'eth_getStorageAt', rpcError(-32_000, missing));
    const error = { code: -32_603, message: `no upstream could answer: ${missing}` };
    expect(await send()).toMatchObject({ status: 200, response: { error } });
    expect(requested()).toEqual([1, 1]);
  });

  it('and the others are away, it gets that text all the same', async () => {
    const { nodes, send, asked: requested } = await withNodes(3);
    nodes[0]?.always(status(503));
    nodes[1]?.response('eth_getStorageAt', rpcError(-32_000, missing));
    await nodes[2]?.refuse();
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_603 } } });
    expect(requested()).toEqual([1, 1, 0]);
  });

  it('it is asked of one that has it', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_000, missing));
    expect(await ask()).toMatchObject({ result: word(2) });
    expect(requested()).toEqual([1, 1]);
  });

  it('a transaction is not said not to exist', async () => {
    const indexing = rpcError(-32_000, 'transaction indexing is in progress', 'transaction indexing is in progress');
    const { send, asked: requested } = await allSay(2, 'eth_getTransactionReceipt', indexing);
    expect((await send('eth_getTransactionReceipt', [hash])).response.error?.code).toBe(-32_603);
    expect(requested()).toEqual([1, 1]);
  });

  it('null in place of a value is no answer', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(2);
    nodes[0]?.response('eth_getStorageAt', null);
    expect(await ask()).toMatchObject({ result: word(2) });
    expect(requested()).toEqual([1, 1]);
  });
});

describe('an error that no rule knows', () => {
  const unheardOf = rpcError(-32_099, 'the moon is in the wrong phase', '0xdead');

  it('gets exactly one more try elsewhere, and is passed on as it came', async () => {
    const { send, asked: requested } = await allSay(4, 'eth_getStorageAt', unheardOf);
    const error = { code: -32_099, message: 'the moon is in the wrong phase', data: '0xdead' };
    const { status: http, response } = await send();
    expect([http, response]).toEqual([200, { jsonrpc: '2.0', id: 1, error }]);
    expect(requested()).toEqual([1, 1, 0, 0]);
  });

  it('is forgotten when the next upstream knows the answer', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(3);
    nodes[0]?.response('eth_getStorageAt', unheardOf);
    expect(await ask()).toMatchObject({ result: word(2) });
    expect(requested()).toEqual([1, 1, 0]);
  });

  it('is passed on at once by the only upstream, and does not make it rest', async () => {
    const { send, asked: requested } = await allSay(1, 'eth_getStorageAt', unheardOf);
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_099 } } });
    expect(await send()).toMatchObject({ status: 200, response: { error: { code: -32_099 } } });
    expect(requested()).toEqual([2]);
  });

  it('under code 3, which is kept for reverts, becomes -32000', async () => {
    const { send, asked: requested } = await allSay(
      1,
      'eth_estimateGas',
      rpcError(3, 'something about a transaction', '0x'),
    );
    const { response } = await send('eth_estimateGas', call);
    expect(response.error).toEqual({ code: -32_000, message: 'something about a transaction' });
    expect(requested()).toEqual([1]);
  });

  it('may be a text by itself', async () => {
    const { nodes, send, asked: requested } = await withNodes(1);
    nodes[0]?.always(body('{"error":"the moon"}'));
    expect((await send()).response.error).toEqual({ code: -32_000, message: 'the moon' });
    expect(requested()).toEqual([1]);
  });

  it('is passed on when it has no envelope and no known code', async () => {
    const { nodes, send, asked: requested } = await withNodes(1);
    nodes[0]?.always(bareError(-32_098, 'no such plan'));
    expect((await send()).response.error).toEqual({ code: -32_098, message: 'no such plan' });
    expect(requested()).toEqual([1]);
  });
});

describe('an error that is the same everywhere is passed on without a second try', () => {
  it.each([
    ['eth_getStorageAt', storageParams, -32_602, 'storage key too long (want at most 32 bytes)'],
    ['eth_estimateGas', call, -32_000, 'insufficient funds for gas * price + value: address 0xaa have 0 want 1'],
    ['eth_estimateGas', call, -32_000, 'gas required exceeds allowance (30000000)'],
    ['eth_estimateGas', call, -32_603, 'EVM error InvalidFEOpcode'],
  ])('%s: %j gives %i %s', async (method, params, code, message) => {
    const { send, asked: requested } = await allSay(2, method, rpcError(code, message));
    expect(await send(method, params)).toMatchObject({ status: 200, response: { error: { code, message } } });
    expect(requested()).toEqual([1, 0]);
  });

  it('a revert', async () => {
    const { send, asked: requested } = await allSay(2, 'eth_estimateGas', rpcError(3, 'execution reverted', '0x'));
    const { response } = await send('eth_estimateGas', call);
    expect(response.error).toEqual({ code: 3, message: 'execution reverted', data: '0x' });
    expect(requested()).toEqual([1, 0]);
  });

  it('whatever the HTTP status and the id that it comes under', async () => {
    const {
      nodes,
      send,
      asked: requested,
    } = await allSay(2, 'eth_getStorageAt', rpcError(-32_602, 'invalid argument 1'));
    nodes[0]?.next(statusWithResponse(400));
    nodes[0]?.next(withId(null));
    nodes[0]?.next(body('{"code":-32602,"message":"invalid argument 1"}'));
    for (let times = 0; times < 3; times++) {
      expect(await send()).toMatchObject({ status: 200, response: { id: 1, error: { code: -32_602 } } });
    }
    expect(requested()).toEqual([3, 0]);
  });
});

it('an object that is not the one asked for is no answer: the next upstream is asked', async () => {
  const { nodes, send, asked: requested } = await withNodes(2);
  nodes[0]?.response('eth_getBlockByHash', { hash: word(6), number: '0x1' });
  nodes[1]?.response('eth_getBlockByHash', { hash, number: '0x2' });
  expect((await send('eth_getBlockByHash', [hash, false])).response.result).toMatchObject({ hash, number: '0x2' });
  expect(requested()).toEqual([1, 1]);
});

describe('what a node’s error says', () => {
  it('is cleaned of the upstream’s host and URL', async () => {
    const { nodes, send, asked: requested } = await withNodes(1);
    const url = nodes[0]?.url ?? '';
    const { host, hostname } = new URL(url);
    const message = `Post "${url}/v1": dial tcp ${host}: lookup ${hostname}: refused`;
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_000, message));
    const { text, response } = await send();
    expect(response.error?.message).toBe('Post "<url>": dial tcp <address>: lookup <address>: refused');
    expect(text).not.toContain(hostname);
    expect(requested()).toEqual([1]);
  });

  it('is cleaned of other hosts behind it, wherever in the error it stands', async () => {
    const { nodes, send, asked: requested } = await withNodes(1);
    const inner = 'Post "http://geth-internal-7:8545/abc": dial tcp 10.1.2.3:8545: connection refused';
    const wrapped = { code: -32_603, message: 'Internal error', data: { code: -32_000, message: inner } };
    for (const error of [rpcError(-32_099, inner), rpcError(wrapped.code, wrapped.message, wrapped.data)]) {
      nodes[0]?.response('eth_getStorageAt', error);
      const { text } = await send();
      expect(text).toContain('connection refused');
      expect(text).not.toMatch(/geth-internal|10\.1\.2\.3|8545/);
    }
    expect(requested()).toEqual([2]);
  });

  it('is cleaned of our keys in it, wherever in the error they stand', async () => {
    const key = 'SECRETKEY1234567';
    const node = await startFakeNode({ chainId: CHAIN_ID });
    const gateway = await startGateway({ test: network(CHAIN_ID, [`${node.url}/v2/${key}`]) });
    onTestFinished(async () => {
      await gateway.stop();
      await node.close();
    });
    const said = `the token ${key.toLowerCase()} at /v2/${key} is odd`;
    for (const data of [undefined, { code: -32_000, message: said }, JSON.stringify({ error: { message: said } })]) {
      node.response('eth_getStorageAt', rpcError(-32_099, data === undefined ? said : 'Internal error', data));
      const response = await gateway.call('test', 'eth_getStorageAt', storageParams);
      expect(JSON.stringify(response)).not.toMatch(new RegExp(key, 'i'));
    }
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(3);
  });

  it.each([{ reason: 'objects' }, ['arrays'], 'plain text', '0xabc', 7, true, null])(
    'has data in hexadecimal or none: %j is dropped',
    async (data) => {
      const { send, asked: requested } = await allSay(1, 'eth_getStorageAt', rpcError(-32_099, 'no', data));
      expect((await send()).response.error).toEqual({ code: -32_099, message: 'no' });
      expect(requested()).toEqual([1]);
    },
  );
});
