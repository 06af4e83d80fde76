import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  webSocket,
  type Chain,
  type Hex,
  type PublicClient,
  type TransactionReceipt,
  type Transport,
  type WalletClient,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { CallObject, Client, OpenClient, ConnectionSettings } from './client.ts';

export const viemClient: Client = {
  name: 'viem',
  open(connection) {
    const chain = chainAt(connection);
    const account = privateKeyToAccount(connection.privateKey);
    const over = (transport: Transport) => createPublicClient({ chain, transport, pollingInterval: 100 });
    const wallet = createWalletClient({ account, chain, transport: http(connection.http) });
    return Promise.resolve(viemDay(over(http(connection.http)), wallet, () => over(webSocket(connection.ws))));
  },
};

export function chainAt({ chainId, http: url, ws }: ConnectionSettings): Chain {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  return defineChain({
    id: chainId,
    name: 'Test',
    nativeCurrency,
    rpcUrls: { default: { http: [url], webSocket: [ws] } },
  });
}

/** The operations of a client that is built on viem. */
export function viemDay(reader: PublicClient, wallet: WalletClient, openWatcher: () => PublicClient): OpenClient {
  let watcher: PublicClient | undefined;
  const watching = (): PublicClient => (watcher ??= openWatcher());
  return {
    chainId: () => reader.getChainId(),
    blockNumber: async () => Number(await reader.getBlockNumber({ cacheTime: 0 })),
    balance: (address) => reader.getBalance({ address: address as Hex }),
    storage: async (address, slot) =>
      (await reader.getStorageAt({ address: address as Hex, slot: slot as Hex })) ?? '0x',
    transactionsIn: async (blockHash) => (await reader.getBlock({ blockHash: blockHash as Hex })).transactions,
    countLogs: async (address) => (await reader.getLogs({ address: address as Hex, fromBlock: 0n })).length,
    call: async (call) => (await reader.call(viemCall(call))).data ?? '0x',
    estimate: (call) => reader.estimateGas(viemCall(call)),
    async send(call) {
      const account = wallet.account ?? null;
      const hash = await wallet.sendTransaction({ ...viemCall(call), account, chain: reader.chain ?? null });
      return outcome(await reader.waitForTransactionReceipt({ hash, timeout: 10_000 }));
    },
    watchBlocks: (seen) => {
      const onBlockNumber = (number: bigint): void => {
        seen(Number(number));
      };
      return Promise.resolve(watching().watchBlockNumber({ onBlockNumber }));
    },
    watchLogs: (address, seen) => {
      const onLogs = (logs: readonly { blockNumber: bigint | null }[]): void => {
        for (const { blockNumber } of logs) seen(Number(blockNumber));
      };
      return Promise.resolve(watching().watchEvent({ address: address as Hex, onLogs }));
    },
    async close() {
      if (watcher === undefined) return;
      const transport = watcher.transport as unknown as { getRpcClient(): Promise<{ close(): void }> };
      (await transport.getRpcClient()).close();
    },
  };
}

function viemCall({ from, to, data, value }: CallObject) {
  return {
    account: from as Hex,
    to: to as Hex,
    ...(data !== undefined && { data: data as Hex }),
    ...(value !== undefined && { value }),
  };
}

function outcome({ status, blockNumber }: TransactionReceipt): { hasSucceeded: boolean; block: number } {
  return { hasSucceeded: status === 'success', block: Number(blockNumber) };
}
