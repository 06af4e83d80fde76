import { JsonRpcProvider, type JsonRpcApiProvider } from 'ethers';
import {
  BaseError,
  BlockNotFoundError,
  ContractFunctionRevertedError,
  createPublicClient,
  http,
  MethodNotFoundRpcError,
  parseAbi,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  type Hex,
} from 'viem';
import { publicActionsL2, zksync } from 'viem/zksync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const unknown: Hex = `0x${'ab'.repeat(32)}`;
const fee = {
  gas_limit: '0x1ea9a9',
  max_fee_per_gas: '0x17d7840',
  max_priority_fee_per_gas: '0x0',
  gas_per_pubdata_limit: '0x5340',
};
const gateAbi = parseAbi([
  'function open()',
  'function exit()',
  'function enter()',
  'function push()',
  'error NotInvited(address)',
]);

let anvil: Anvil;
let zksyncNode: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  [anvil, zksyncNode] = await Promise.all([
    startAnvil(),
    startFakeNode({ chainId: zksync.id, responses: { zks_estimateFee: fee } }),
  ]);
  gateway = await startGateway({
    local: network(1337, [anvil.url]),
    zksync: network(zksync.id, [zksyncNode.url], { methods: ['eth', 'net', 'web3', 'zks'] }),
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([anvil.stop(), zksyncNode.close()]);
});

describe('ethers, which batches calls and detects the chain,', () => {
  let provider: JsonRpcProvider;
  /** The number of calls in each of its requests. */
  const sizes: number[] = [];

  beforeAll(async () => {
    // Without its cache, with which it would not send all calls.
    provider = new JsonRpcProvider(gateway.url('local'), undefined, { cacheTimeout: -1 });
    await provider.on('debug', (event: { action: string; payload: unknown }) => {
      if (event.action === 'sendRpcPayload') sizes.push([event.payload].flat().length);
    });
  });
  afterAll(() => {
    provider.destroy();
  });

  it('detects the chain', async () => {
    expect((await provider.getNetwork()).chainId).toBe(1337n);
  });

  it('reads storage, by slot and by the hash of a mapping’s key', async () => {
    const { address, numberPosition, setByPosition, value } = anvil.chain.counter;
    expect(BigInt(await provider.getStorage(address, numberPosition))).toBe(BigInt(value));
    expect(BigInt(await provider.getStorage(address, setByPosition))).toBe(BigInt(value));
  });

  it('reads a block with its transactions', async () => {
    const block = await provider.getBlock(anvil.chain.blockHash, true);
    expect(block?.hash).toBe(anvil.chain.blockHash);
    expect(block?.prefetchedTransactions).toHaveLength(3);
    expect(block?.prefetchedTransactions.map(({ hash }) => hash)).toContain(anvil.chain.transferTransaction);
  });

  it('reads a receipt with its log', async () => {
    const receipt = await provider.getTransactionReceipt(anvil.chain.setTransaction);
    expect(receipt).toMatchObject({ status: 1, blockHash: anvil.chain.blockHash });
    expect(receipt?.logs).toHaveLength(1);
  });

  it('reads a transaction', async () => {
    const transaction = await provider.getTransaction(anvil.chain.transferTransaction);
    expect(transaction).toMatchObject({ value: 10n ** 18n, chainId: 1337n, blockHash: anvil.chain.blockHash });
    expect(transaction?.from.toLowerCase()).toBe(anvil.chain.caller);
  });

  it('estimates gas', async () => {
    const { caller, counter } = anvil.chain;
    const gas = await provider.estimateGas({ from: caller, to: counter.address, data: counter.calls.set });
    expect(gas).toBeGreaterThan(21_000n);
  });

  it.each([
    ['open', { reason: 'the gate is closed', revert: { name: 'Error', args: ['the gate is closed'] } }],
    ['exit', { reason: 'Panic due to OVERFLOW(17)', revert: { name: 'Panic' } }],
    ['enter', { reason: null, data: expect.stringMatching(/^0xd3c6b2b7/) as string }],
    ['push', { reason: 'require(false)', data: '0x' }],
  ] as const)('decodes the revert of %s()', async (name, decoded) => {
    const { caller, gate } = anvil.chain;
    await expect(
      provider.estimateGas({ from: caller, to: gate.address, data: gate.calls[name] }),
    ).rejects.toMatchObject({ code: 'CALL_EXCEPTION', action: 'estimateGas', ...decoded });
  });

  it('finds no uncle, and nothing under an unknown hash', async () => {
    expect(await uncleBy(provider, anvil.chain.blockHash)).toBeNull();
    expect(await uncleBy(provider, unknown)).toBeNull();
    expect(await provider.getBlock(unknown)).toBeNull();
    expect(await provider.getTransaction(unknown)).toBeNull();
    expect(await provider.getTransactionReceipt(unknown)).toBeNull();
  });

  it('matches each response of a batch to its call', async () => {
    sizes.length = 0;
    const { counter, setTransaction, transferTransaction, blockHash } = anvil.chain;
    const [word, none, receipt, transaction, block] = await Promise.all([
      provider.getStorage(counter.address, 0),
      provider.getTransaction(unknown),
      provider.getTransactionReceipt(setTransaction),
      provider.getTransaction(transferTransaction),
      provider.getBlock(blockHash),
    ]);
    expect(BigInt(word)).toBe(BigInt(counter.value));
    expect([none, receipt?.hash, transaction?.hash, block?.hash]).toEqual([
      null,
      setTransaction,
      transferTransaction,
      blockHash,
    ]);
    // The five calls, and eth_chainId, by which ethers checks that the chain is the same.
    expect(sizes).toEqual([6]);
  });
});

describe('viem with batches', () => {
  const client = () => createPublicClient({ transport: http(gateway.url('local'), { batch: true, retryCount: 0 }) });

  it('reads with all methods, in one batch', async () => {
    const { counter, blockHash, setTransaction, transferTransaction } = anvil.chain;
    const viem = client();
    const [chainId, word, block, receipt, transaction, uncle] = await Promise.all([
      viem.getChainId(),
      viem.getStorageAt({ address: counter.address as Hex, slot: counter.setByPosition as Hex }),
      viem.getBlock({ blockHash: blockHash as Hex, includeTransactions: true }),
      viem.getTransactionReceipt({ hash: setTransaction as Hex }),
      viem.getTransaction({ hash: transferTransaction as Hex }),
      viem.request({ method: 'eth_getUncleByBlockHashAndIndex', params: [blockHash as Hex, '0x0'] }),
    ]);
    expect(chainId).toBe(1337);
    expect(BigInt(word ?? -1)).toBe(BigInt(counter.value));
    expect(block.transactions.map(({ hash }) => hash)).toContain(setTransaction);
    expect(receipt).toMatchObject({ status: 'success', transactionHash: setTransaction });
    expect(receipt.logs).toHaveLength(1);
    expect(transaction).toMatchObject({ value: 10n ** 18n, type: 'eip1559', chainId: 1337 });
    expect(uncle).toBeNull();
  });

  it('estimates gas', async () => {
    const { caller, counter } = anvil.chain;
    const call = { account: caller as Hex, to: counter.address as Hex, data: counter.calls.set as Hex };
    expect(await client().estimateGas(call)).toBeGreaterThan(21_000n);
    expect(await client().estimateGas({ ...call, gas: 2n ** 200n })).toBeGreaterThan(21_000n);
  });

  it.each([
    ['open', { reason: 'the gate is closed' }],
    ['exit', { data: { errorName: 'Panic', args: [17n] } }],
    ['enter', { data: { errorName: 'NotInvited' } }],
    ['push', { reason: 'execution reverted', data: undefined }],
  ] as const)('decodes the revert of %s()', async (functionName, decoded) => {
    const { caller, gate } = anvil.chain;
    const call = { abi: gateAbi, address: gate.address as Hex, account: caller as Hex, functionName };
    const error: unknown = await client()
      .estimateContractGas(call)
      .catch((thrown: unknown) => thrown);
    const revert =
      error instanceof BaseError ? error.walk((each) => each instanceof ContractFunctionRevertedError) : error;
    expect(revert).toBeInstanceOf(ContractFunctionRevertedError);
    expect(revert).toMatchObject(decoded);
  });

  it('finds nothing under an unknown hash', async () => {
    const viem = client();
    await expect(viem.getBlock({ blockHash: unknown })).rejects.toThrow(BlockNotFoundError);
    await expect(viem.getTransaction({ hash: unknown })).rejects.toThrow(TransactionNotFoundError);
    await expect(viem.getTransactionReceipt({ hash: unknown })).rejects.toThrow(TransactionReceiptNotFoundError);
  });
});

describe('viem’s zkSync client', () => {
  const account: Hex = `0x${'1a'.repeat(20)}`;
  const client = (slug: string) =>
    createPublicClient({ chain: zksync, transport: http(gateway.url(slug), { retryCount: 0 }) }).extend(
      publicActionsL2(),
    );

  it('estimates a fee', async () => {
    expect(await client('zksync').estimateFee({ account, to: account, value: 1n })).toEqual({
      gasLimit: 0x1ea9a9n,
      gasPerPubdataLimit: 0x5340n,
      maxFeePerGas: 0x17d7840n,
      maxPriorityFeePerGas: 0n,
    });
    expect(zksyncNode.callsOf('zks_estimateFee')[0]?.params).toMatchObject([{ from: account, to: account }]);
  });

  it('recognises a revert', async () => {
    zksyncNode.response('zks_estimateFee', rpcError(3, 'execution reverted', '0x'));
    await expect(client('zksync').estimateFee({ account, to: account })).rejects.toMatchObject({
      code: 3,
      details: 'execution reverted',
    });
  });

  it('gets an error if the network does not have the method', async () => {
    await expect(client('local').estimateFee({ account, to: account })).rejects.toThrow(MethodNotFoundRpcError);
  });
});

function uncleBy(provider: JsonRpcApiProvider, blockHash: string): Promise<unknown> {
  return provider.send('eth_getUncleByBlockHashAndIndex', [blockHash, '0x0']) as Promise<unknown>;
}
