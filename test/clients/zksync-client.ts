import { Provider, Wallet } from 'zksync-ethers';
import type { JsonRpcApiProvider } from 'ethers';
import type { Client } from './client.ts';
import { ethersDay } from './ethers-client.ts';

/** zksync-ethers has no WebSocket provider with compatible types, so it polls. */
export const zksyncClient: Client = {
  name: 'zksync-ethers',
  open({ http, privateKey }) {
    const zksync = new Provider(http, undefined, { cacheTimeout: -1, pollingInterval: 100 });
    const wallet = new Wallet(privateKey, zksync);
    // zksync-ethers has the types of another build of ethers.
    const provider = zksync as unknown as JsonRpcApiProvider;
    // anvil does not support zkSync's transaction type 0x71, the default here.
    const sendTransaction = (transaction: object) => wallet.sendTransaction({ ...transaction, type: 2 });
    return Promise.resolve(ethersDay(provider, { sendTransaction } as never, () => provider));
  },
};
