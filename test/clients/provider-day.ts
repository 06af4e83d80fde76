import type { LocalAccount } from 'viem';
import type { CallObject, OpenClient, Stop } from './client.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** `request` of EIP-1193. */
export type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** The operations of a client that only forwards calls. Its users create and poll filters. */
export function providerDay(request: Request, account: LocalAccount, close: () => Promise<void>): OpenClient {
  const number = async (method: string, ...params: unknown[]): Promise<number> => Number(await request(method, params));
  return {
    chainId: () => number('eth_chainId'),
    blockNumber: () => number('eth_blockNumber'),
    balance: async (address) => BigInt((await request('eth_getBalance', [address, 'latest'])) as string),
    storage: async (address, position) => (await request('eth_getStorageAt', [address, position, 'latest'])) as string,
    transactionsIn: async (hash) =>
      ((await request('eth_getBlockByHash', [hash, false])) as { transactions: string[] }).transactions,
    countLogs: async (address) => ((await request('eth_getLogs', [{ address, fromBlock: '0x0' }])) as object[]).length,
    call: async (call) => (await request('eth_call', [rpcCall(call), 'latest'])) as string,
    estimate: async (call) => BigInt((await request('eth_estimateGas', [rpcCall(call)])) as string),
    async send(call) {
      const [chainId, nonce, gas, price] = await Promise.all([
        number('eth_chainId'),
        number('eth_getTransactionCount', account.address, 'pending'),
        request('eth_estimateGas', [rpcCall(call)]),
        request('eth_gasPrice', []),
      ]);
      const to = call.to as `0x${string}`;
      const raw = await account.signTransaction({
        ...{ chainId, nonce, to, value: call.value ?? 0n, data: (call.data ?? '0x') as `0x${string}` },
        ...{ gas: BigInt(gas as string), gasPrice: 2n * BigInt(price as string), type: 'legacy' },
      });
      const hash = await request('eth_sendRawTransaction', [raw]);
      for (;;) {
        const receipt = (await request('eth_getTransactionReceipt', [hash])) as Record<string, string> | null;
        if (receipt !== null)
          return { hasSucceeded: receipt['status'] === '0x1', block: Number(receipt['blockNumber']) };
        await scenarioPause(50);
      }
    },
    watchBlocks: (seen) =>
      watch('eth_newBlockFilter', [], async (hash) => {
        seen(Number(((await request('eth_getBlockByHash', [hash, false])) as { number: string }).number));
      }),
    watchLogs: (address, seen) =>
      watch('eth_newFilter', [{ address }], (log) => {
        seen(Number((log as { blockNumber: string }).blockNumber));
      }),
    close,
  };

  async function watch(kind: string, params: unknown[], onChange: (change: unknown) => unknown): Promise<Stop> {
    const id = await request(kind, params);
    let isStopped = false;
    const poll = async (): Promise<void> => {
      while (!isStopped) {
        for (const change of (await request('eth_getFilterChanges', [id])) as unknown[]) await onChange(change);
        await scenarioPause(100);
      }
      await request('eth_uninstallFilter', [id]);
    };
    const polling = poll();
    return () => {
      isStopped = true;
      return polling;
    };
  }
}

function rpcCall({ from, to, data, value }: CallObject): object {
  return { from, to, data, ...(value !== undefined && { value: `0x${value.toString(16)}` }) };
}
