import { JsonRpcApiProvider, type JsonRpcPayload, type JsonRpcResult } from 'ethers';
import { createPublicClient, custom } from 'viem';
import { celo, zksync } from 'viem/chains';
import { publicActionsL2 } from 'viem/zksync';
import { expect, test } from 'vitest';
import { compileParamChecks } from '../../gateway/spec/check-params.ts';

const checks = compileParamChecks();
const address = '0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6';
const hash = `0x${'4d'.repeat(32)}` as const;

/** The requests that a client sent, by method, and the results of the parameter checks. */
class Recorder {
  readonly sent = new Map<string, string | undefined>();

  /** The node returns errors only: the test needs the requests. */
  response(method: string, params: readonly unknown[] = []): unknown {
    const check = checks.get(method);
    if (check !== undefined) this.sent.set(method, this.sent.get(method) ?? check(params));
    return method === 'eth_chainId' || method === 'eth_estimateGas' ? '0x1' : null;
  }

  rejections(): unknown[] {
    return [...this.sent].filter(([, rejection]) => rejection !== undefined);
  }
}

class RecordingProvider extends JsonRpcApiProvider {
  readonly recorder: Recorder;

  constructor(recorder: Recorder) {
    super(1);
    this.recorder = recorder;
    this._start();
  }

  override _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    const responses = [payload].flat().map(({ id, method, params }) => ({
      id,
      result: this.recorder.response(method, params as unknown[]),
    }));
    return Promise.resolve(responses as JsonRpcResult[]);
  }
}

test('everything that ethers sends passes', async () => {
  const recorder = new Recorder();
  const provider = new RecordingProvider(recorder);
  await Promise.allSettled([
    provider.send('eth_chainId', []),
    provider.getStorage(address, 0),
    provider.getBlock(hash),
    provider.getTransaction(hash),
    provider.getTransactionReceipt(hash),
    provider.estimateGas({ from: address, to: address, value: 1n, data: '0xabcdef' }),
    provider.estimateGas({ from: address, to: null, data: '0x6000' }),
  ]);
  provider.destroy();
  expect(recorder.rejections()).toEqual([]);
  expect([...recorder.sent.keys()].sort()).toEqual([
    ...['eth_chainId', 'eth_estimateGas', 'eth_getBlockByHash'],
    ...['eth_getStorageAt', 'eth_getTransactionByHash', 'eth_getTransactionReceipt'],
  ]);
});

test('everything that viem sends passes', async () => {
  const recorder = new Recorder();
  const transport = custom({
    request: ({ method, params }: { method: string; params?: unknown[] }) =>
      Promise.resolve(recorder.response(method, params)),
  });
  const client = createPublicClient({ chain: zksync, transport }).extend(publicActionsL2());
  await Promise.allSettled([
    client.getChainId(),
    client.getStorageAt({ address, slot: '0x0' }),
    client.getStorageAt({ address, slot: hash, blockNumber: 5n }),
    client.getBlock({ blockHash: hash, includeTransactions: true }),
    client.getTransaction({ hash }),
    client.getTransactionReceipt({ hash }),
    client.estimateGas({ account: address, to: address, stateOverride: [{ address, balance: 1n }] }),
    client.estimateGas({ account: address, data: '0x6000' }),
    client.estimateFee({ account: address, to: address, value: 1n }),
  ]);
  expect(recorder.rejections()).toEqual([]);
  expect([...recorder.sent.keys()].sort()).toEqual([
    ...['eth_chainId', 'eth_estimateGas', 'eth_getBlockByHash', 'eth_getStorageAt'],
    ...['eth_getTransactionByHash', 'eth_getTransactionReceipt', 'zks_estimateFee'],
  ]);
});

test('every zks_ method that viem sends passes', async () => {
  const recorder = new Recorder();
  const transport = custom({
    request: ({ method, params }: { method: string; params?: unknown[] }) =>
      Promise.resolve(recorder.response(method, asJson(params))),
  });
  const client = createPublicClient({ chain: zksync, transport }).extend(publicActionsL2());
  await Promise.allSettled([
    client.estimateFee({ account: address, to: address, value: 1n }),
    client.estimateGasL1ToL2({ account: address, to: address, data: '0xabcdef' }),
    client.getAllBalances({ account: address }),
    client.getBaseTokenL1Address(),
    client.getBlockDetails({ number: 5 }),
    client.getBridgehubContractAddress(),
    client.getDefaultBridgeAddresses(),
    client.getGasPerPubdata(),
    client.getL1BatchBlockRange({ l1BatchNumber: 5 }),
    client.getL1BatchDetails({ number: 5 }),
    client.getL1BatchNumber(),
    client.getL1ChainId(),
    client.getLogProof({ txHash: hash }),
    client.getLogProof({ txHash: hash, index: 0 }),
    client.getMainContractAddress(),
    client.getRawBlockTransaction({ number: 5 }),
    client.getTestnetPaymasterAddress(),
    client.getTransactionDetails({ txHash: hash }),
  ]);
  expect(recorder.rejections()).toEqual([]);
  expect([...recorder.sent.keys()].filter((method) => method.startsWith('zks_'))).toHaveLength(17);
});

/** What `Provider` of zksync-ethers 6.21.1 sends (src/provider.ts), with the fewest and the most arguments. */
test.each<[string, unknown[]]>([
  ['zks_L1BatchNumber', []],
  ['zks_L1ChainId', []],
  [
    'zks_estimateFee',
    [{ from: address, to: address, data: '0x', type: '0x71', eip712Meta: { gasPerPubdata: '0xc350' } }],
  ],
  ['zks_estimateGasL1ToL2', [{ from: address, to: address, value: '0x1', eip712Meta: { factoryDeps: [] } }]],
  ['zks_gasPerPubdata', []],
  ['zks_getAllAccountBalances', [address]],
  ['zks_getBaseTokenL1Address', []],
  ['zks_getBlockDetails', [5]],
  ['zks_getBridgeContracts', []],
  ['zks_getBridgehubContract', []],
  ['zks_getBytecodeByHash', [hash]],
  ['zks_getConfirmedTokens', [0, 255]],
  ['zks_getFeeParams', []],
  ['zks_getL1BatchBlockRange', [5]],
  ['zks_getL1BatchDetails', [5]],
  ['zks_getL2ToL1LogProof', [hash, undefined, undefined]],
  ['zks_getL2ToL1LogProof', [hash, 0, undefined]],
  ['zks_getL2ToL1LogProof', [hash, 0, 'proof_based_gw']],
  ['zks_getMainContract', []],
  ['zks_getProof', [address, [hash], 5]],
  ['zks_getProtocolVersion', [undefined]],
  ['zks_getProtocolVersion', [24]],
  ['zks_getRawBlockTransactions', [5]],
  ['zks_getTestnetPaymaster', []],
  ['zks_getTransactionDetails', [hash]],
  ['zks_sendRawTransactionWithDetailedOutput', ['0x71f8']],
])('%s passes as zksync-ethers sends it: %j', (method, params) => {
  expect(checks.get(method)?.(asJson(params))).toBeUndefined();
});

test('the fees in a fee currency that viem requests for Celo pass', async () => {
  const sent: [string, unknown[]][] = [];
  const transport = custom({
    request: ({ method, params = [] }: { method: string; params?: unknown[] }) => {
      sent.push([method, params]);
      return Promise.resolve('0x7');
    },
  });
  const client = createPublicClient({ chain: celo, transport });
  const request = { feeCurrency: address, to: address } as const;
  const { estimateFeesPerGas } = celo.fees as { estimateFeesPerGas: (parameters: object) => Promise<unknown> };
  await estimateFeesPerGas({ client, request, type: 'eip1559', multiply: (fee: bigint) => fee });
  expect(sent).toEqual([
    ['eth_gasPrice', [address]],
    ['eth_maxPriorityFeePerGas', [address]],
  ]);
  for (const [method, params] of sent) expect(checks.get(method)?.(params)).toBeUndefined();
});

/** Clients write undefined as null. */
function asJson(params: readonly unknown[] = []): unknown[] {
  return JSON.parse(JSON.stringify(params)) as unknown[];
}
