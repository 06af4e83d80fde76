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

/** As dapps set it up: a config with a chain, whose clients it makes and keeps; calls are put into batches. */
export const wagmiClient: Client = {
  name: 'wagmi',
  open(place) {
    const chain = chainAt(place);
    const clientOver = (transport: HttpTransport | WebSocketTransport): PublicClient => {
      const transports = { [chain.id]: transport };
      const config = createConfig({ chains: [chain], transports, storage: null, pollingInterval: 100 });
      return getPublicClient(config, { chainId: chain.id }) as PublicClient;
    };
    const reader = clientOver(http(place.http, { batch: true }));
    const account = privateKeyToAccount(place.privateKey);
    const wallet = createWalletClient({ account, chain, transport: http(place.http) });
    return Promise.resolve(viemDay(reader, wallet, () => clientOver(webSocket(place.ws))));
  },
};
