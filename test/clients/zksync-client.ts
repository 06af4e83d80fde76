import { Provider, Wallet } from 'zksync-ethers';
import type { JsonRpcApiProvider } from 'ethers';
import type { Client } from './client.ts';
import { ethersDay } from './ethers-client.ts';

/** It has no WebSocket provider of its own that shares its types; it polls. */
export const zksyncClient: Client = {
  name: 'zksync-ethers',
  open({ http, privateKey }) {
    const zksync = new Provider(http, undefined, { cacheTimeout: -1, pollingInterval: 100 });
    const wallet = new Wallet(privateKey, zksync);
    // Its types are those of another build of ethers.
    const provider = zksync as unknown as JsonRpcApiProvider;
    // Its own kind of transaction, 0x71, is nothing that anvil knows.
    const sendTransaction = (transaction: object) => wallet.sendTransaction({ ...transaction, type: 2 });
    return Promise.resolve(ethersDay(provider, { sendTransaction } as never, () => provider));
  },
};
