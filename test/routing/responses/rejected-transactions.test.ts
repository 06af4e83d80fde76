import { keccak256, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { status } from '../../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { CHAIN_ID, withNodes } from '../with-nodes.ts';

const send = 'eth_sendRawTransaction';
const account = privateKeyToAccount(toHex(0xa11cen, { size: 32 }));

function sign(chainId: number): Promise<Hex> {
  return account.signTransaction({
    type: 'eip1559',
    chainId,
    nonce: 3,
    to: `0x${'22'.repeat(20)}`,
    gas: 21_000n,
    maxFeePerGas: 2_000_000_000n,
  });
}

const raw = await sign(CHAIN_ID);
const hash = keccak256(raw);

/** Three upstreams that accept transactions by default. */
async function senders() {
  const { nodes, send: call } = await withNodes(3);
  for (const node of nodes) {
    node.response(send, hash);
    node.response('eth_getTransactionByHash', null);
  }
  return {
    nodes: nodes as [FakeNode, FakeNode, FakeNode],
    sendRaw: () => call(send, [raw]),
    sent: () => nodes.map((node) => node.callsOf(send).length),
  };
}

describe('a rejection that is not about the transaction', () => {
  it.each([
    [-32_000, 'txpool is full'],
    [-32_002, 'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).'],
    [-32_000, 'failed to forward tx to sequencer: dial tcp: connection refused'],
    [-32_602, 'Your plan does not include this method'],
    [-32_602, 'Invalid params'],
    [-32_000, 'invalid API key'],
    [-32_000, 'no backends available'],
    [-32_000, '404 page not found'],
    [-32_077, 'unknown error text'],
  ])('causes one retry at another upstream: %i %s', async (code, message) => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].response(send, rpcError(code, message));
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1, 0]);
  });

  it('is the response if the second upstream returns the same error; a third is not tried', async () => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].response(send, rpcError(-32_000, 'txpool is full'));
    nodes[1].response(send, rpcError(-32_000, 'txpool is full'));
    expect((await sendRaw()).response.error).toEqual({ code: -32_000, message: 'txpool is full' });
    expect(sent()).toEqual([1, 1, 0]);
  });

  it('is replaced by the error of the second upstream about the transaction', async () => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].response(send, rpcError(-32_000, 'txpool is full'));
    nodes[1].response(send, rpcError(-32_000, 'intrinsic gas too low'));
    expect((await sendRaw()).response.error).toEqual({ code: -32_000, message: 'intrinsic gas too low' });
    expect(sent()).toEqual([1, 1, 0]);
  });

  it('is success if the second upstream already has the transaction', async () => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].response(send, rpcError(-32_603, 'Internal error'));
    nodes[1].response(send, rpcError(-32_000, 'already known'));
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1, 0]);
  });

  it('is the response if there is no other upstream', async () => {
    const { nodes, send: call } = await withNodes(1);
    nodes[0]?.response(send, rpcError(-32_000, 'txpool is full'));
    expect((await call(send, [raw])).response.error).toEqual({ code: -32_000, message: 'txpool is full' });
    expect(nodes[0]?.callsOf(send)).toHaveLength(1);
  });

  it('may be HTTP 404 with any body', async () => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].always(status(404), send);
    expect((await sendRaw()).response.result).toBe(hash);
    expect(sent()).toEqual([1, 1, 0]);
  });
});

describe('an error about the transaction', () => {
  it.each([
    [-32_000, 'invalid sender'],
    [-32_000, 'transaction gas price below minimum: gas tip cap 0, minimum needed 1'],
    [-32_602, 'Invalid transaction type'],
    [-32_000, 'INVALID: oversized data'],
    [-32_000, `[${hash}]: transaction overdraws from account, balance: 0, cost: 1`],
  ])('is final: %i %s', async (code, message) => {
    const { nodes, sendRaw, sent } = await senders();
    nodes[0].response(send, rpcError(code, message));
    expect((await sendRaw()).response.error).toEqual({ code, message });
    expect(sent()).toEqual([1, 0, 0]);
  });
});

describe('on a development chain', () => {
  it.each([1337, 31_337])('an unknown error is final, because the transaction may be mined (%i)', async (chainId) => {
    const nodes = await Promise.all([startFakeNode({ chainId }), startFakeNode({ chainId })]);
    const gateway = await startGateway({
      test: network(
        chainId,
        nodes.map(({ url }) => url),
      ),
    });
    onTestFinished(async () => {
      await gateway.stop();
      await Promise.all(nodes.map((node) => node.close()));
    });
    const error = { code: -32_603, message: 'an error of a development node about a mined transaction' };
    nodes[0].response(send, rpcError(error.code, error.message));
    expect((await gateway.call('test', send, [await sign(chainId)])).error).toEqual(error);
    expect(nodes.map((node) => node.callsOf(send).length)).toEqual([1, 0]);
  });
});
