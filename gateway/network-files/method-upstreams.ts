import type { NetworkConfig, UpstreamConfig } from './network-config.ts';
import { bestPattern, coversMethod } from './options/method-pattern.ts';

type Rules = UpstreamConfig['methods'];

/** Whether the `methods` of an upstream permit a method, or all methods of a wildcard. */
export function permitsMethod(rules: Rules, method: string): boolean {
  if (rules === undefined) return true;
  const isCovered = (pattern: string): boolean => coversMethod(pattern, method);
  return rules.allow?.some(isCovered) !== false && rules.deny?.some(isCovered) !== true;
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
