import { JsonRpcApiProvider, type JsonRpcPayload, type JsonRpcResult } from 'ethers';
import { createPublicClient, custom } from 'viem';
import { zksync } from 'viem/chains';
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
