import { createConfig, getPublicClient } from '@wagmi/core';
import {
  createWalletClient,
  http,
  webSocket,
  type HttpTransport,
  type PublicClient,
  type WebSocketTransport,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Client } from './client.ts';
import { chainAt, viemDay } from './viem-client.ts';

/** wagmi as dapps use it: a config creates the clients of a chain, and calls are sent in batches. */
export const wagmiClient: Client = {
  name: 'wagmi',
  open(connection) {
    const chain = chainAt(connection);
    const clientOver = (transport: HttpTransport | WebSocketTransport): PublicClient => {
      const transports = { [chain.id]: transport };
      const config = createConfig({ chains: [chain], transports, storage: null, pollingInterval: 100 });
      return getPublicClient(config, { chainId: chain.id }) as PublicClient;
    };
    const reader = clientOver(http(connection.http, { batch: true }));
    const account = privateKeyToAccount(connection.privateKey);
    const wallet = createWalletClient({ account, chain, transport: http(connection.http) });
    return Promise.resolve(viemDay(reader, wallet, () => clientOver(webSocket(connection.ws))));
  },
};
