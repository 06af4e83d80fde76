import { WebSocketProvider } from 'ethers';
import { createPublicClient, webSocket, type Hex } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { startAnvil, type Anvil } from '../../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { socketUrl } from './caller.ts';

const unknown: Hex = `0x${'ab'.repeat(32)}`;
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

describe('ethers’ WebSocketProvider', () => {
  let provider: WebSocketProvider;
  beforeAll(() => {
    provider = new WebSocketProvider(socketUrl(gateway, 'local'), undefined, { cacheTimeout: -1 });
  });
  afterAll(() => provider.destroy());

  it('reads the chain, storage, a block, a receipt, and null results, all at once', async () => {
    const { counter, blockHash, setTransaction } = anvil.chain;
    const [chain, word, block, receipt, none] = await Promise.all([
      provider.getNetwork(),
      provider.getStorage(counter.address, counter.setByPosition),
      provider.getBlock(blockHash, true),
      provider.getTransactionReceipt(setTransaction),
      provider.getTransaction(unknown),
    ]);
    expect(chain.chainId).toBe(1337n);
    expect(BigInt(word)).toBe(BigInt(counter.value));
    expect(block?.prefetchedTransactions).toHaveLength(3);
    expect(receipt?.logs).toHaveLength(1);
    expect(none).toBeNull();
  });

  it('estimates gas, and decodes a revert', async () => {
    const { caller, counter, gate } = anvil.chain;
    const call = { from: caller, to: counter.address, data: counter.calls.set };
    expect(await provider.estimateGas(call)).toBeGreaterThan(21_000n);
    await expect(provider.estimateGas({ from: caller, to: gate.address, data: gate.calls.open })).rejects.toMatchObject(
      {
        code: 'CALL_EXCEPTION',
        reason: 'the gate is closed',
      },
    );
  });

  it('gets a thousand responses to a thousand calls', async () => {
    const { counter } = anvil.chain;
    const calls = Array.from({ length: 1000 }, () => provider.getStorage(counter.address, counter.numberPosition));
    const words = await Promise.all(calls);
    expect(words.every((word) => BigInt(word) === BigInt(counter.value))).toBe(true);
  });
});

describe('viem’s webSocket transport', () => {
  it('reads and estimates, and gets a response to its keep-alive, which has the id null', async () => {
    // At the pace of viem's own tests; its default is 30 s.
    const transport = webSocket(socketUrl(gateway, 'local'), {
      keepAlive: { interval: 50 },
      retryCount: 0,
      reconnect: false,
    });
    const viem = createPublicClient({ transport });
    const { counter, caller, blockHash } = anvil.chain;
    const [chainId, word, block, uncle] = await Promise.all([
      viem.getChainId(),
      viem.getStorageAt({ address: counter.address as Hex, slot: counter.setByPosition as Hex }),
      viem.getBlock({ blockHash: blockHash as Hex }),
      viem.request({ method: 'eth_getUncleByBlockHashAndIndex', params: [blockHash as Hex, '0x0'] }),
    ]);
    expect([chainId, BigInt(word ?? -1), block.hash, uncle]).toEqual([1337, BigInt(counter.value), blockHash, null]);
    const call = { account: caller as Hex, to: counter.address as Hex, data: counter.calls.set as Hex };
    expect(await viem.estimateGas(call)).toBeGreaterThan(21_000n);
    const cached = async (): Promise<number> =>
      (await readMetrics(gateway.address)).value('gatehouse_calls_total', {
        method: 'net_version',
        outcome: 'result',
      }) ?? 0;
    await expect.poll(cached).toBeGreaterThan(3);
    expect(await viem.getChainId()).toBe(1337);
    const { socket } = await (
      viem.transport as unknown as { getRpcClient(): Promise<{ socket: WebSocket }> }
    ).getRpcClient();
    socket.close();
  });
});
