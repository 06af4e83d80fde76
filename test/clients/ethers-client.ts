import { setImmediate as turn } from 'node:timers/promises';
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

/** The operations of a client that is built on ethers. */
export function ethersDay(
  provider: JsonRpcApiProvider,
  wallet: Pick<Wallet, 'sendTransaction'>,
  openWatcher: () => JsonRpcApiProvider,
): OpenClient {
  let watcher: JsonRpcApiProvider | undefined;
  const watching = (): JsonRpcApiProvider => (watcher ??= recordRequests(openWatcher()));
  const requests: Promise<unknown>[] = [];
  // `off` neither awaits its requests nor catches their errors when the provider is destroyed first.
  function recordRequests(recorded: JsonRpcApiProvider): JsonRpcApiProvider {
    const send = recorded.send.bind(recorded);
    recorded.send = (method, params) => {
      const response = send(method, params);
      requests.push(response);
      return response;
    };
    return recorded;
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
      return { hasSucceeded: receipt?.status === 1, block: Number(receipt?.blockNumber) };
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
      await turn();
      await Promise.allSettled(requests);
      provider.destroy();
      // WebSocketProvider.destroy returns a promise.
      await (watcher?.destroy() as unknown);
    },
  };
}

function defined({ from, to, data, value }: CallObject) {
  return { from, to, ...(data !== undefined && { data }), ...(value !== undefined && { value }) };
}
