import { Messenger, MOCK_ANY_NAMESPACE } from '@metamask/messenger';
import { NetworkController } from '@metamask/network-controller';
import { privateKeyToAccount } from 'viem/accounts';
import type { Client } from './client.ts';
import { providerDay } from './provider-day.ts';

/** The controller through which MetaMask's extension sends requests. A viem account signs instead of its keyring. */
export const metamaskClient: Client = {
  name: 'MetaMask',
  async open({ http, chainId, privateKey }) {
    const messenger = new Messenger({
      namespace: 'NetworkController',
      parent: new Messenger({ namespace: MOCK_ANY_NAMESPACE }),
    });
    const controller = new NetworkController({
      messenger: messenger as never,
      infuraProjectId: '0'.repeat(32),
      getRpcServiceOptions: () => ({ fetch, btoa }),
      getBlockTrackerOptions: () => ({ pollingInterval: 100 }),
    });
    const hexId = `0x${chainId.toString(16)}` as const;
    const { rpcEndpoints } = controller.addNetwork({
      ...{ chainId: hexId, name: 'Test', nativeCurrency: 'ETH', blockExplorerUrls: [], defaultRpcEndpointIndex: 0 },
      rpcEndpoints: [{ type: 'custom' as never, url: http }],
    });
    const id = rpcEndpoints[0]?.networkClientId ?? '';
    await controller.setActiveNetwork(id);
    const { provider, blockTracker } = controller.getNetworkClientById(id);
    const request = (method: string, params: readonly unknown[]): Promise<unknown> =>
      provider.request({ method, params: [...params] as never }).catch(unwrap);
    const day = providerDay(request, privateKeyToAccount(privateKey), () => controller.destroy());
    return {
      ...day,
      chainId() {
        const { status } = controller.state.networksMetadata[id] ?? {};
        if (String(status) !== 'available') throw new Error(`MetaMask calls the network ${status ?? 'unknown'}`);
        return day.chainId();
      },
      watchBlocks: (seen) => {
        const onLatest = (number: string): void => {
          seen(Number(number));
        };
        blockTracker.on('latest', onLatest);
        return Promise.resolve(() => blockTracker.removeListener('latest', onLatest));
      },
    };
  },
};

/** MetaMask wraps unknown errors of the node in an internal error. */
function unwrap(error: unknown): never {
  const { data } = error as { data?: { message?: string } };
  throw data?.message === undefined ? error : new Error(data.message, { cause: error });
}
