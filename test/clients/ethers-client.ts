import { setTimeout as sleep } from 'node:timers/promises';
import { JsonRpcProvider, Wallet, WebSocketProvider, type JsonRpcApiProvider, type Log } from 'ethers';
import type { CallObject, Client, OpenClient } from './client.ts';

export const ethersClient: Client = {
  name: 'ethers',
  open({ http, ws, chainId, privateKey }) {
    const provider = new JsonRpcProvider(http, undefined, { cacheTimeout: -1, pollingInterval: 100 });
    const wallet = new Wallet(privateKey, provider);
    return Promise.resolve(ethersDay(provider, wallet, () => new WebSocketProvider(ws, chainId)));
  },
};

/** The day of whoever is built on ethers. */
export function ethersDay(
  provider: JsonRpcApiProvider,
  wallet: Pick<Wallet, 'sendTransaction'>,
  openWatcher: () => JsonRpcApiProvider,
): OpenClient {
  let watcher: JsonRpcApiProvider | undefined;
  const watching = (): JsonRpcApiProvider => (watcher ??= noted(openWatcher()));
  const sent: Promise<unknown>[] = [];
  // `off` neither waits for what it sends nor catches what becomes of it when the provider is destroyed before.
  function noted(watched: JsonRpcApiProvider): JsonRpcApiProvider {
    const send = watched.send.bind(watched);
    watched.send = (method, params) => {
      const answered = send(method, params);
      sent.push(answered);
      return answered;
    };
    return watched;
  }
  return {
    chainId: async () => Number((await provider.getNetwork()).chainId),
    blockNumber: () => provider.getBlockNumber(),
    balance: (address) => provider.getBalance(address),
    storage: (address, position) => provider.getStorage(address, position),
    transactionsIn: async (blockHash) => (await provider.getBlock(blockHash))?.transactions ?? [],
    countLogs: async (address) => (await provider.getLogs({ address, fromBlock: 0 })).length,
    call: (call) => provider.call(defined(call)),
    estimate: (call) => provider.estimateGas(defined(call)),
    async send(call) {
      const sent = await wallet.sendTransaction(defined(call));
      const receipt = await sent.wait();
      return { succeeded: receipt?.status === 1, block: Number(receipt?.blockNumber) };
    },
    watchBlocks: async (seen) => {
      await watching().on('block', seen);
      return () => watching().off('block', seen);
    },
    watchLogs: async (address, seen) => {
      const onLog = ({ blockNumber }: Log): void => {
        seen(blockNumber);
      };
      await watching().on({ address }, onLog);
      return () => watching().off({ address }, onLog);
    },
    close: async () => {
      await sleep(0);
      await Promise.allSettled(sent);
      provider.destroy();
      // A promise, where it is a WebSocketProvider's.
      await (watcher?.destroy() as unknown);
    },
  };
}

function defined({ from, to, data, value }: CallObject) {
  return { from, to, ...(data !== undefined && { data }), ...(value !== undefined && { value }) };
}
