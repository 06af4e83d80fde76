import type { LoadOptions } from './load-options.ts';
import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { bestPattern, coversMethod } from './options/method-pattern.ts';

type Rules = UpstreamConfig['methods'];

/** Whether the `methods` of an upstream permit a method, or all methods of a wildcard. */
export function permitsMethod(rules: Rules, method: string): boolean {
  if (rules === undefined) return true;
  if (rules.some((rule) => rule.startsWith('-') && coversMethod(rule.slice(1), method))) return false;
  const allowed = rules.filter((rule) => !rule.startsWith('-'));
  return allowed.length === 0 || allowed.some((pattern) => coversMethod(pattern, method));
}

/** The upstreams that `route` names for a method; undefined: none, so that every upstream may get it. */
export function routedUpstreams(method: string, route: NetworkConfig['route']): readonly string[] | undefined {
  const best = bestPattern(Object.keys(route), method);
  return best === undefined ? undefined : route[best];
}

/** The names of the upstreams that may get a method. */
export function upstreamsOf(
  method: string,
  { upstreams, route }: Pick<NetworkConfig, 'upstreams' | 'route'>,
): string[] {
  const routed = routedUpstreams(method, route);
  return upstreams
    .filter(({ name, methods }) => permitsMethod(methods, method) && routed?.includes(name) !== false)
    .map(({ name }) => name);
}

/**
 * Adds routes for methods that send transactions and have none: the route of the first method of the spec that sends some,
 * because a private transaction must not reach other upstreams by another method; or else the upstreams that `transactions`
 * names; or else all but the relays of `private`.
 */
export function withTransactionRoutes(
  network: Pick<NetworkConfig, 'methods' | 'developmentMethods' | 'route' | 'transactions' | 'private' | 'upstreams'>,
  { knownMethods, sendsTransactions }: LoadOptions,
): NetworkConfig['route'] {
  const { methods, developmentMethods, route } = network;
  const patterns = Object.keys(route);
  // The node signs what development methods send.
  const own = methods.filter((method) => !developmentMethods.includes(method));
  const sending = own.filter((method) => sendsTransactions?.(method) === true);
  const routed = [...knownMethods.filter((method) => sending.includes(method)), ...sending]
    .map((method) => bestPattern(patterns, method))
    .find((pattern) => pattern !== undefined);
  const upstreams = routed === undefined ? publicUpstreams(network) : route[routed];
  if (upstreams === undefined) return route;
  const added = sending.filter((method) => bestPattern(patterns, method) === undefined);
  return { ...route, ...Object.fromEntries(added.map((method) => [method, upstreams])) };
}

/** The names of the upstreams for transactions that are not private; undefined: all. */
function publicUpstreams({
  transactions,
  private: relays,
  upstreams,
}: Pick<NetworkConfig, 'transactions' | 'private' | 'upstreams'>): readonly string[] | undefined {
  if (typeof transactions !== 'string') return transactions;
  if (relays === undefined) return undefined;
  // An incomplete file has none.
  const { upstreams: excluded } = relays as { readonly upstreams?: readonly string[] };
  return upstreams.map(({ name }) => name).filter((name) => excluded?.includes(name) !== true);
}
