import { Web3 } from 'web3';
import type { CallObject, Client } from './client.ts';

export const web3Client: Client = {
  name: 'web3.js',
  open({ http, ws, privateKey }) {
    const web3 = new Web3(http);
    web3.eth.accounts.wallet.add(privateKey);
    let watcher: Web3 | undefined;
    const watching = (): Web3 => (watcher ??= new Web3(ws));
    return Promise.resolve({
      chainId: async () => Number(await web3.eth.getChainId()),
      blockNumber: async () => Number(await web3.eth.getBlockNumber()),
      balance: (address) => web3.eth.getBalance(address),
      storage: (address, position) => web3.eth.getStorageAt(address, position),
      transactionsIn: async (blockHash) => (await web3.eth.getBlock(blockHash)).transactions as string[],
      countLogs: async (address) => (await web3.eth.getPastLogs({ address, fromBlock: '0x0' })).length,
      call: (call) => web3.eth.call(defined(call)),
      estimate: (call) => web3.eth.estimateGas(defined(call)).catch(unwrap),
      async send(call) {
        const { status, blockNumber } = await web3.eth.sendTransaction(defined(call));
        return { hasSucceeded: Number(status) === 1, block: Number(blockNumber) };
      },
      async watchBlocks(seen) {
        const subscription = await watching().eth.subscribe('newBlockHeaders');
        subscription.on('data', ({ number }) => {
          seen(Number(number));
        });
        return () => subscription.unsubscribe();
      },
      async watchLogs(address, seen) {
        const subscription = await watching().eth.subscribe('logs', { address });
        subscription.on('data', (log) => {
          seen(Number((log as { blockNumber?: unknown }).blockNumber));
        });
        return () => subscription.unsubscribe();
      },
      close: () => {
        watcher?.provider?.disconnect();
        return Promise.resolve();
      },
    });
  },
};

function defined({ from, to, data, value }: CallObject) {
  return { from, to, ...(data !== undefined && { data }), ...(value !== undefined && { value: value.toString() }) };
}

/** web3.js has the node's message in the cause of its error. */
function unwrap(error: unknown): never {
  const { cause } = error as { cause?: { message?: string } };
  throw cause?.message === undefined ? error : new Error(cause.message, { cause: error });
}
