import { createWalletClient, http, keccak256, parseGwei, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAnvil } from '../../support/anvil.ts';
import { cutInBody, hang, slow, status, type Behaviour } from '../../support/behaviours.ts';
import { rpcError, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { CHAIN_ID, shiftClock, withNodes, word } from '../../routing/with-nodes.ts';

const send = 'eth_sendRawTransaction';
const account = privateKeyToAccount(toHex(0xa11cen, { size: 32 }));
const raw = await account.signTransaction({
  type: 'eip1559',
  chainId: CHAIN_ID,
  nonce: 3,
  to: `0x${'22'.repeat(20)}`,
  gas: 21_000n,
  maxFeePerGas: parseGwei('2'),
});
const hash = keccak256(raw);
/** zkSync Era's type: its hash is not that of its bytes. */
const unknownType = '0x71c30102c0';

/** Fake nodes that accept transactions, unless a test changes their responses. */
/** @param keys of each upstream in the network file */
async function startNodes(count: number, keys: readonly object[] = []) {
  const { nodes, send: call, gateway } = await withNodes(count, {}, {}, keys);
  for (const node of nodes) {
    node.response(send, (params: unknown) => keccak256((params as Hex[])[0] as Hex));
    node.response('eth_getTransactionByHash', null);
    node.response('eth_getTransactionReceipt', null);
    node.response('eth_getTransactionCount', '0x0');
  }
  return {
    nodes: nodes as [FakeNode, FakeNode, ...FakeNode[]],
    gateway,
    call,
    sendRaw: (transaction: string = raw) => call(send, [transaction]),
    sent: () => nodes.map((node) => node.callsOf(send).length),
  };
}

/** The node has the transaction in its pool. */
const accepted = { transaction: { hash, nonce: '0x3', blockHash: null } };

describe('a transaction', () => {
  it('is sent to one upstream only, unchanged', async () => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 0]);
    expect(nodes[0].callsOf(send)[0]?.params).toEqual([raw]);
  });

  it('is sent if it is in a notification, too', async () => {
    const { gateway, sent } = await startNodes(2);
    await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', method: send, params: [raw] }));
    expect(sent()).toEqual([1, 0]);
  });

  it('has the hash that the node returns, even if it is an unusual one', async () => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, word(5));
    expect((await sendRaw()).response.result).toBe(word(5));
    expect((await sendRaw(unknownType)).response.result).toBe(word(5));
    expect(sent()).toEqual([2, 0]);
  });
});

describe('a transaction that an upstream may have accepted', () => {
  const lost: [string, Behaviour][] = [
    ['no response arrives', hang],
    ['the response is incomplete', cutInBody],
    ['a proxy responds with 502', status(502)],
  ];
  /** Options of the first upstream only: the other one may be slow on a loaded machine. */
  const keys = [{ failsafe: { [send]: { timeoutMs: 150 } } }];

  it.each(lost)('is sent to the next upstream when %s', async (_, behaviour) => {
    const { nodes, sendRaw, sent } = await startNodes(2, keys);
    nodes[0].next(behaviour, send);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1]);
    expect(nodes[1].callsOf(send)[0]?.params).toEqual([raw]);
  });

  it.each(lost)('is successful when %s and the next upstream has it in its pool', async (_, behaviour) => {
    const { nodes, sendRaw, sent } = await startNodes(2, keys);
    nodes[0].next(behaviour, send);
    nodes[1].response(send, rpcError(-32_000, 'already known'));
    expect((await sendRaw()).response).toEqual({ jsonrpc: '2.0', id: 1, result: hash });
    expect(sent()).toEqual([1, 1]);
  });

  it.each(lost)('is successful when %s and the next upstream has it in a block', async (_, behaviour) => {
    const { nodes, sendRaw, sent } = await startNodes(2, keys);
    nodes[0].next(behaviour, send);
    nodes[1].response(send, rpcError(-32_000, 'nonce too low: next nonce 4, tx nonce 3'));
    nodes[1].response('eth_getTransactionByHash', accepted.transaction);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(nodes[1].callsOf('eth_getTransactionByHash')[0]?.params).toEqual([hash]);
    expect(sent()).toEqual([1, 1]);
  });

  it('is sent once more to the only upstream after a stale connection', async () => {
    const { nodes, call, sendRaw, sent } = await startNodes(1);
    await call();
    nodes[0].next(({ response }) => void response.socket?.destroy(), send);
    nodes[0].response(send, rpcError(-32_000, 'already known'));
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([2]);
  });
});

describe('“already known” is success', () => {
  it.each([
    [-32_000, 'already known', 'geth, reth'],
    [-32_000, 'ALREADY_EXISTS: already known', 'erigon'],
    [-32_000, 'INTERNAL_ERROR: existing tx with same hash', 'erigon'],
    [-32_000, 'Known transaction', 'besu'],
    [-32_010, 'AlreadyKnown', 'nethermind'],
    [-32_010, 'Transaction with the same hash was already imported.', 'OpenEthereum'],
    [-32_003, 'transaction already imported', 'anvil'],
    [-32_000, `known transaction: ${hash.slice(2)}`, 'geth 1.9'],
    [-32_000, `Known transaction: ${hash}`, 'Hardhat'],
    [3, `known transaction. transaction with hash ${hash} is already in the system`, 'zkSync Era'],
    [-32_000, 'tx already exists in cache', 'Sei'],
    [-32_000, "failed to forward tx to sequencer, please try again. Error message: 'already known'", 'Mantle'],
  ])('%i %s (%s)', async (code, message) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(code, message));
    expect(await sendRaw()).toMatchObject({ status: 200, response: { result: hash } });
    expect(sent()).toEqual([1, 0]);
  });

  it('but not for a type whose hash is unknown', async () => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(-32_000, 'already known'));
    expect((await sendRaw(unknownType)).response.error).toEqual({ code: -32_000, message: 'already known' });
    expect(sent()).toEqual([1, 0]);
  });

  it.each([
    ['replacement transaction underpriced'],
    ['block already known'],
    ['revert: already known'],
    ['unknown transaction'],
  ])('but not for %s', async (message) => {
    const { nodes, sendRaw } = await startNodes(1);
    nodes[0].response(send, rpcError(-32_000, message));
    expect((await sendRaw()).response.error).toEqual({ code: -32_000, message });
  });
});

describe('a nonce that is too low', () => {
  const texts = [
    [-32_000, 'nonce too low'],
    [-32_000, 'nonce too low: next nonce 4, tx nonce 3'],
    [-32_001, 'Nonce too low'],
    [-32_000, 'INTERNAL_ERROR: nonce too low'],
    [-32_010, 'OldNonce, Current nonce: 4, nonce of rejected tx: 3'],
    [-32_010, 'Transaction nonce is too low. Try incrementing the nonce.'],
    [-32_000, "the tx doesn't have the correct nonce. account has nonce of: 4 tx has nonce of: 3"],
    [-32_000, 'transaction rejected: nonce too low'],
  ] as const;

  it.each(texts)('is success if the node has the transaction: %i %s', async (code, message) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(code, message));
    nodes[0].response('eth_getTransactionByHash', accepted.transaction);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 0]);
  });

  it('is success if the node has the transaction, and its response is large', async () => {
    const { nodes, sendRaw } = await startNodes(2);
    nodes[0].response(send, rpcError(-32_000, 'nonce too low'));
    nodes[0].response('eth_getTransactionByHash', { ...accepted.transaction, input: `0x${'ab'.repeat(10_000)}` });
    expect((await sendRaw()).response.result).toBe(hash);
  });

  it.each(texts)('is the node’s error if it does not have the transaction: %i %s', async (code, message) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(code, message));
    expect((await sendRaw()).response.error).toEqual({ code, message });
    expect(nodes[0].callsOf('eth_getTransactionByHash')).toHaveLength(1);
    expect(sent()).toEqual([1, 0]);
  });

  it('is the node’s error if the lookup returns another transaction, or fails', async () => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(-32_000, 'nonce too low'));
    nodes[0].response('eth_getTransactionByHash', { ...accepted.transaction, hash: word(9) });
    expect((await sendRaw()).response.error?.message).toBe('nonce too low');
    nodes[0].response('eth_getTransactionByHash', { ...accepted.transaction, hash: { toString: 1 } });
    expect((await sendRaw()).response.error?.message).toBe('nonce too low');
    nodes[0].always(status(500), 'eth_getTransactionByHash');
    expect((await sendRaw()).response.error?.message).toBe('nonce too low');
    expect(sent()).toEqual([3, 0]);
  });
});

describe('an error about a transaction', () => {
  it.each([
    [-32_000, 'VM Exception while processing transaction: revert rate limit exceeded', 'ganache, which has mined it'],
    [-32_603, "Error: VM Exception while processing transaction: reverted with reason string 'no'", 'Hardhat, too'],
    [-32_000, 'insufficient funds for gas * price + value', 'geth'],
    [-32_000, 'transaction underpriced', 'geth'],
    [-32_017, 'sender is over rate limit', 'proxyd, about the sender'],
  ])('is final: %i %s (%s)', async (code, message) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(code, message));
    expect((await sendRaw()).response.error).toEqual({ code, message });
    expect(sent()).toEqual([1, 0]);
  });

  it('is final with HTTP 429 too, as proxyd sends it', async () => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    const error = { code: -32_017, message: 'sender is over rate limit' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error });
    nodes[0].next(status(429, body, 'application/json'), send);
    expect((await sendRaw()).response.error).toEqual(error);
    expect(sent()).toEqual([1, 0]);
  });

  it.each([
    [-32_005, 'daily request count exceeded'],
    [-32_601, 'the method does not exist'],
    [429, 'Too Many Requests'],
  ])('sends it to the next upstream if it concerns the node only: %i %s', async (code, message) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(code, message));
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1]);
  });

  it.each([401, 403, 429])('sends it to the next upstream with HTTP %i, too', async (code) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].next(status(code), send);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1]);
  });
});

describe('after a transaction, the upstream that accepted it is selected first', () => {
  const sender = account.address;
  const reads: [string, unknown[]][] = [
    ['eth_getTransactionByHash', [hash]],
    ['eth_getTransactionByHash', [hash.toUpperCase().replace('X', 'x')]],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_getTransactionCount', [sender, 'pending']],
    ['eth_getTransactionCount', [sender.toLowerCase(), 'pending']],
  ];

  /** Node 1 accepted it, because node 0 was rate limited. */
  async function sendToSecond() {
    const parts = await startNodes(2);
    parts.nodes[0].response(send, rpcError(-32_005, 'slow down'));
    expect((await parts.sendRaw()).response.result).toBe(hash);
    parts.nodes[1].response('eth_getTransactionCount', '0x4');
    parts.nodes[1].response('eth_getTransactionByHash', accepted.transaction);
    return { ...parts, callCounts: (method: string) => parts.nodes.map((node) => node.callsOf(method).length) };
  }

  it.each(reads)('for %s %j', async (method, params) => {
    const clock = shiftClock();
    const { call, callCounts } = await sendToSecond();
    clock.forward(60_000); // the cooldown of the first upstream is over
    await call(method, params);
    expect(callCounts(method)[1]).toBe(1);
    clock.forward(600_000);
    await call(method, params);
    expect(callCounts(method)[0]).toBeGreaterThanOrEqual(1);
  });

  it('even if it is slow, because the other upstream does not have the transaction', async () => {
    const { nodes, call, callCounts } = await sendToSecond();
    nodes[1].next(slow(1_200));
    const { response } = await call('eth_getTransactionCount', [sender, 'pending']);
    expect(response.result).toBe('0x4');
    expect(callCounts('eth_getTransactionCount')).toEqual([0, 1]);
  });

  it.each([
    ['eth_getTransactionCount', [sender, 'latest']],
    ['eth_getTransactionCount', [`0x${'77'.repeat(20)}`, 'pending']],
    ['eth_getTransactionReceipt', [word(9)]],
    ['eth_getStorageAt', [sender, '0x0', 'latest']],
  ])('but not for %s %j', async (method, params) => {
    const clock = shiftClock();
    const { call, callCounts } = await sendToSecond();
    clock.forward(60_000);
    await call(method, params);
    expect(callCounts(method)[0]).toBe(1);
  });

  it('unless it is down: then the others are selected', async () => {
    const clock = shiftClock();
    const { nodes, call } = await sendToSecond();
    clock.forward(60_000);
    nodes[1].always(status(503));
    for (let times = 0; times < 6; times++) {
      expect((await call('eth_getTransactionCount', [sender, 'pending'])).response.result).toBe('0x0');
    }
    expect(nodes[1].callsOf('eth_getTransactionCount')).toHaveLength(3);
  });

  it('also if it responded that it has the transaction already', async () => {
    const clock = shiftClock();
    const { nodes, call, sendRaw, sent } = await startNodes(2);
    nodes[0].next(status(502), send);
    nodes[1].response(send, rpcError(-32_000, 'already known'));
    nodes[1].response('eth_getTransactionCount', '0x4');
    await sendRaw();
    clock.forward(60_000);
    expect((await call('eth_getTransactionCount', [sender, 'pending'])).response.result).toBe('0x4');
    expect(sent()).toEqual([1, 1]);
    expect(nodes.map((node) => node.callsOf('eth_getTransactionCount').length)).toEqual([0, 1]);
  });
});

describe('with anvil as the upstream', () => {
  it('a transaction whose response was lost is mined once, and sending it again is successful', async () => {
    const anvil = await startAnvil({ chainId: foundry.id });
    const front = await startFakeNode({ chainId: foundry.id });
    onTestFinished(async () => {
      await anvil.stop();
      await front.close();
    });
    // Passes the transaction to anvil, and then closes the connection.
    front.always(async ({ response }) => {
      const { body } = front.callsOf(send).at(-1) ?? {};
      await fetch(anvil.url, { method: 'POST', body: body ?? '', headers: { 'content-type': 'application/json' } });
      response.socket?.destroy();
    }, send);
    const gateway = await startGateway({ test: network(foundry.id, [front.url, anvil.url]) });
    onTestFinished(() => gateway.stop());

    const dev = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
    const client = createWalletClient({ account: dev, chain: foundry, transport: http(gateway.url('test')) });
    const direct = createWalletClient({ account: dev, chain: foundry, transport: http(anvil.url) });
    const request = await direct.prepareTransactionRequest({ to: `0x${'33'.repeat(20)}`, value: 1n });
    const signed = await dev.signTransaction(request as Parameters<typeof dev.signTransaction>[0]);
    expect(await client.sendRawTransaction({ serializedTransaction: signed })).toBe(keccak256(signed));
    expect(await client.sendRawTransaction({ serializedTransaction: signed })).toBe(keccak256(signed));
    const receipt = await gateway.call('test', 'eth_getTransactionReceipt', [keccak256(signed)]);
    expect(receipt.result).toMatchObject({ status: '0x1', from: dev.address.toLowerCase() });
  });
});

// nethermind 4148, dcrdex PR 3498.
describe('an unrecorded text by which a node may have the transaction', () => {
  const texts = ['existed in pool', 'Transaction is already in the local pool', 'TX ALREADY IMPORTED', 'duplicate tx'];

  it.each(texts)('is success if a lookup finds it, with one upstream, too: %s', async (text) => {
    for (const count of [1, 2]) {
      const { nodes, sendRaw, sent } = await startNodes(count);
      nodes[0].response(send, rpcError(-32_000, text));
      nodes[0].response('eth_getTransactionByHash', accepted.transaction);
      expect((await sendRaw()).response).toMatchObject({ result: hash });
      expect(sent()).toEqual([1, 0].slice(0, count));
    }
  });

  it.each(texts)('is an unknown error if the node does not have it: %s', async (text) => {
    const { nodes, sendRaw, sent } = await startNodes(2);
    nodes[0].response(send, rpcError(-32_000, text));
    expect((await sendRaw()).response).toMatchObject({ result: hash });
    expect(sent()).toEqual([1, 1]);
    for (const node of nodes) node.response(send, rpcError(-32_000, text));
    expect((await sendRaw()).response).toMatchObject({ error: { code: -32_000, message: text } });
  });
});
