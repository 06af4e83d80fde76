import { Contract, JsonRpcProvider, Wallet, type JsonRpcPayload } from 'ethers';
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  http,
  parseAbi,
  type Hex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anvil as anvilChain } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** The third account of every anvil; no other test uses its ether. */
const privateKey: Hex = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
const recipient: Hex = `0x${'1a'.repeat(20)}`;
const signatures = [
  'function number() view returns (uint256)',
  'function set(uint256 to)',
  'function open()',
  'function exit()',
  'function enter()',
  'error NotInvited(address)',
];
const abi = parseAbi(signatures);

let anvil: Anvil;
let gateway: TestGateway;

beforeAll(async () => {
  anvil = await startAnvil();
  gateway = await startGateway({ local: network(1337, [anvil.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

describe('ethers', () => {
  let provider: JsonRpcProvider;
  const methods = new Set<string>();

  beforeAll(async () => {
    provider = new JsonRpcProvider(gateway.url('local'), undefined, { cacheTimeout: -1, pollingInterval: 50 });
    await provider.on('debug', (event: { action: string; payload: JsonRpcPayload | JsonRpcPayload[] }) => {
      if (event.action === 'sendRpcPayload') for (const { method } of [event.payload].flat()) methods.add(method);
    });
  });
  afterAll(() => {
    provider.destroy();
  });

  it('reads blocks, balances, code and nonces', async () => {
    const { caller, counter, blockHash } = anvil.chain;
    const number = await provider.getBlockNumber();
    expect((await provider.getBlock(number))?.number).toBe(number);
    expect((await provider.getBlock('latest', true))?.prefetchedTransactions).toBeDefined();
    expect(await provider.getBlock(number + 1000)).toBeNull();
    expect(await provider.getBalance(caller)).toBeGreaterThan(9n * 10n ** 21n);
    expect(await provider.getBalance(caller, blockHash)).toBeGreaterThan(9n * 10n ** 21n);
    expect(await provider.getCode(counter.address)).toMatch(/^0x60/);
    expect(await provider.getCode(caller)).toBe('0x');
    expect(await provider.getTransactionCount(caller, 'pending')).toBe(4);
  });

  it('reads fees and logs', async () => {
    const { counter, setTransaction } = anvil.chain;
    const fees = await provider.getFeeData();
    expect(fees.gasPrice).toBeGreaterThan(0n);
    expect(fees.maxFeePerGas).toBeGreaterThan(fees.maxPriorityFeePerGas ?? 0n);
    const logs = await provider.getLogs({ address: counter.address, fromBlock: 0, toBlock: 'latest', topics: [null] });
    expect(logs[0]?.transactionHash).toBe(setTransaction);
    expect(await provider.getLogs({ address: [counter.address], blockHash: anvil.chain.blockHash })).toHaveLength(1);
    expect(await provider.getLogs({ address: recipient })).toEqual([]);
  });

  it('calls a contract', async () => {
    const counter = new Contract(anvil.chain.counter.address, signatures, provider);
    expect(await counter.getFunction('number')()).toBe(BigInt(anvil.chain.counter.value));
  });

  it.each([
    ['open', { reason: 'the gate is closed', revert: { name: 'Error', args: ['the gate is closed'] } }],
    ['exit', { reason: 'Panic due to OVERFLOW(17)', revert: { name: 'Panic' } }],
    ['enter', { revert: { name: 'NotInvited' } }],
  ])('decodes the revert of a call of %s()', async (name, decoded) => {
    const gate = new Contract(anvil.chain.gate.address, signatures, provider);
    await expect(gate.getFunction(name).staticCall()).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
      action: 'call',
      ...decoded,
    });
  });

  it('sends a transaction and waits for it', async () => {
    const wallet = new Wallet(privateKey, provider);
    const sent = await wallet.sendTransaction({ to: recipient, value: 5n });
    const receipt = await sent.wait();
    expect(receipt).toMatchObject({ status: 1, hash: sent.hash });
    const counter = new Contract(anvil.chain.counter.address, signatures, wallet);
    const set = (await counter.getFunction('set')(7n)) as Awaited<ReturnType<Wallet['sendTransaction']>>;
    expect((await set.wait())?.logs).toHaveLength(1);
    expect(await counter.getFunction('number')()).toBe(7n);
  });

  it('gets the reason if a transaction is rejected', async () => {
    const poor = Wallet.createRandom().connect(provider);
    const transaction = { to: recipient, value: 1n, gasLimit: 21_000n };
    await expect(poor.sendTransaction(transaction)).rejects.toMatchObject({ code: 'INSUFFICIENT_FUNDS' });
  });

  it('has sent all of these methods', () => {
    expect([...methods].sort()).toEqual([
      ...['eth_blockNumber', 'eth_call', 'eth_chainId', 'eth_estimateGas', 'eth_gasPrice', 'eth_getBalance'],
      ...['eth_getBlockByNumber', 'eth_getCode', 'eth_getLogs', 'eth_getTransactionCount'],
      ...['eth_getTransactionReceipt', 'eth_maxPriorityFeePerGas', 'eth_sendRawTransaction'],
    ]);
  });
});

describe('viem', () => {
  const chain = { ...anvilChain, id: 1337 };
  const methods = new Set<string>();
  const transport = () =>
    http(gateway.url('local'), {
      retryCount: 0,
      onFetchRequest: async (request) => {
        methods.add(((await request.clone().json()) as { method: string }).method);
      },
    });
  const reader = () => createPublicClient({ chain, transport: transport(), pollingInterval: 50 });

  it('reads with all methods', async () => {
    const viem = reader();
    const { caller, counter, blockHash } = anvil.chain;
    const address = counter.address as Hex;
    const blockNumber = await viem.getBlockNumber();
    expect((await viem.getBlock({ blockNumber })).number).toBe(blockNumber);
    expect((await viem.getBlock({ blockTag: 'pending', includeTransactions: true })).transactions).toEqual([]);
    expect(await viem.getBlockTransactionCount({ blockHash: blockHash as Hex })).toBe(3);
    expect(await viem.getBalance({ address: caller as Hex, blockTag: 'safe' })).toBeGreaterThan(0n);
    expect(await viem.getCode({ address: recipient })).toBeUndefined();
    expect(await viem.getTransactionCount({ address: caller as Hex })).toBe(4);
    expect(await viem.getGasPrice()).toBeGreaterThan(0n);
    expect(await viem.getBlobBaseFee()).toBe(1n);
    expect((await viem.estimateFeesPerGas()).maxFeePerGas).toBeGreaterThan(0n);
    const history = await viem.getFeeHistory({ blockCount: 2, rewardPercentiles: [25, 75.5] });
    expect(history.reward).toHaveLength(2);
    expect(await viem.getLogs({ address, fromBlock: 0n, toBlock: 'latest' })).not.toEqual([]);
    const transaction = await viem.getTransaction({ blockHash: blockHash as Hex, index: 1 });
    expect(transaction.blockHash).toBe(blockHash);
    expect(
      (await viem.getTransaction({ blockTag: 'earliest', index: 0 }).catch((error: unknown) => error)) as Error,
    ).toMatchObject({ name: 'TransactionNotFoundError' });
    expect((await viem.getProof({ address, storageKeys: [`0x${'0'.repeat(64)}`] })).storageProof).toHaveLength(1);
    expect(
      (await viem.createAccessList({ account: caller as Hex, to: address, data: counter.calls.set as Hex })).accessList,
    ).toMatchObject([{ address }]);
    expect(await viem.request({ method: 'eth_syncing' } as never)).toBe(false);
  });

  it('calls contracts, with overrides and without', async () => {
    const viem = reader();
    const address = anvil.chain.counter.address as Hex;
    const number = await viem.readContract({ abi, address, functionName: 'number' });
    expect(number).toBeGreaterThan(0n);
    const slot: Hex = `0x${'0'.repeat(64)}`;
    const stateDiff = [{ slot, value: `0x${'0'.repeat(63)}9` as const }];
    const pretended = viem.readContract({
      abi,
      address,
      functionName: 'number',
      stateOverride: [{ address, stateDiff }],
    });
    expect(await pretended).toBe(9n);
    // A contract that exists only by override, whose result is the block's time.
    const stateOverride = [{ address: recipient, code: '0x425f5260205ff3' as Hex }];
    const { data } = await viem.call({ to: recipient, stateOverride, blockOverrides: { time: 5n } });
    expect(data).toBe(`0x${'5'.padStart(64, '0')}`);
  });

  it.each([
    ['open', { reason: 'the gate is closed' }],
    ['exit', { data: { errorName: 'Panic', args: [17n] } }],
    ['enter', { data: { errorName: 'NotInvited' } }],
  ] as const)('decodes the revert of a call of %s()', async (functionName, decoded) => {
    const error: unknown = await reader()
      .simulateContract({ abi, address: anvil.chain.gate.address as Hex, functionName })
      .catch((thrown: unknown) => thrown);
    const revert =
      error instanceof BaseError ? error.walk((each) => each instanceof ContractFunctionRevertedError) : error;
    expect(revert).toBeInstanceOf(ContractFunctionRevertedError);
    expect(revert).toMatchObject(decoded);
  });

  it('signs, sends and waits for a receipt', async () => {
    const account = privateKeyToAccount(privateKey);
    const wallet = createWalletClient({ account, chain, transport: transport() });
    const hash = await wallet.sendTransaction({ to: recipient, value: 5n });
    const receipt = await reader().waitForTransactionReceipt({ hash, timeout: 5_000 });
    expect(receipt).toMatchObject({ status: 'success', transactionHash: hash, to: recipient });
  });

  it('has sent all of these methods', () => {
    expect([...methods].sort()).toEqual(
      [
        ...['eth_blobBaseFee', 'eth_blockNumber', 'eth_call', 'eth_createAccessList'],
        'eth_fillTransaction',
        ...['eth_feeHistory', 'eth_gasPrice', 'eth_getBalance', 'eth_getBlockByNumber'],
        ...['eth_getBlockTransactionCountByHash', 'eth_getCode', 'eth_getLogs', 'eth_getProof'],
        ...['eth_getTransactionByBlockHashAndIndex', 'eth_getTransactionByBlockNumberAndIndex'],
        ...['eth_getTransactionCount', 'eth_getTransactionReceipt', 'eth_maxPriorityFeePerGas'],
        ...['eth_sendRawTransaction', 'eth_syncing'],
      ].sort(),
    );
  });
});
