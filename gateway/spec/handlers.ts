import { version } from '../config/package.ts';
import { namespaceOf } from '../network-files/options/method-pattern.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { MethodSpec } from './method-spec.ts';
import type { HandledMethods } from './methods.generated.ts';

export type SocketAction = 'subscribe' | 'unsubscribe';

/** The kinds of filters that callers poll. */
export type FilterKind = 'newHeads' | 'logs' | 'newPendingTransactions';

export type FilterAction = 'changes' | 'logs' | 'remove' | { readonly open: FilterKind };

/** How the gateway handles a method in place of an upstream. */
export type Handler =
  /** The result as JSON text, a constant of the network. */
  | { readonly by: 'local'; readonly result: (network: Pick<NetworkConfig, 'chainId' | 'methods'>) => string }
  /** The caller's WebSocket. */
  | { readonly by: 'socket'; readonly action: SocketAction }
  /** The filters of the network. */
  | { readonly by: 'filters'; readonly action: FilterAction }
  /** The result is the network's OpenRPC document. */
  | { readonly by: 'document' };

type HandlerTable = { readonly [Name in keyof HandledMethods]: Extract<Handler, { by: HandledMethods[Name] }> };

/** The handler of each method with `answer` in `schemas/methods`. No other table of gateway/ has names of methods. */
const handlers: HandlerTable = {
  eth_chainId: { by: 'local', result: ({ chainId }) => JSON.stringify(`0x${chainId.toString(16)}`) },
  eth_accounts: { by: 'local', result: () => '[]' },
  net_version: { by: 'local', result: ({ chainId }) => JSON.stringify(String(chainId)) },
  net_listening: { by: 'local', result: () => 'true' },
  web3_clientVersion: { by: 'local', result: () => JSON.stringify(`Gatehouse/v${version}`) },
  rpc_modules: { by: 'local', result: ({ methods }) => JSON.stringify(modulesOf(methods)) },
  eth_subscribe: { by: 'socket', action: 'subscribe' },
  eth_unsubscribe: { by: 'socket', action: 'unsubscribe' },
  eth_newFilter: { by: 'filters', action: { open: 'logs' } },
  eth_newBlockFilter: { by: 'filters', action: { open: 'newHeads' } },
  eth_newPendingTransactionFilter: { by: 'filters', action: { open: 'newPendingTransactions' } },
  eth_getFilterChanges: { by: 'filters', action: 'changes' },
  eth_getFilterLogs: { by: 'filters', action: 'logs' },
  eth_uninstallFilter: { by: 'filters', action: 'remove' },
  'rpc.discover': { by: 'document' },
};

const byName: ReadonlyMap<string, Handler> = new Map(Object.entries(handlers));

/** The method of notifications. Callers cannot call it, so it has no schema. */
export const NOTIFICATION_METHOD = 'eth_subscription';

export function handlerOf({ name }: MethodSpec): Handler | undefined {
  return byName.get(name);
}

/** The namespaces of these methods with the version that geth gives all of them. */
function modulesOf(methods: readonly string[]): Record<string, string> {
  const namespaces = new Set(methods.map(namespaceOf));
  return Object.fromEntries([...namespaces].sort().map((namespace) => [namespace, '1.0']));
}
