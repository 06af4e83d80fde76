import { suggest } from '../config/suggest.ts';
import { formatPath, type Diagnostic, type Path } from './diagnostics/diagnostic.ts';
import type { LoadOptions } from './load-options.ts';
import { permitsMethod, upstreamsOf } from './method-upstreams.ts';
import type { NetworkConfig } from './network-config.ts';
import { coversMethod, isWildcard } from './options/method-pattern.ts';

type Routed = Pick<NetworkConfig, 'methods' | 'openMethods' | 'developmentMethods' | 'upstreams' | 'route'>;

/** Methods without an upstream are named up to this number. */
const MAX_NAMED_METHODS = 3;

/** Checks `route` and the `methods` of upstreams beyond the schema: each name is that of a method or upstream. */
export function checkRoutes(network: Routed, { knownMethods }: LoadOptions): Diagnostic[] {
  const served = servedBy(network);
  return [
    ...network.upstreams.flatMap(({ methods = {} }, index) =>
      Object.entries(methods).flatMap(([list, patterns]) =>
        patterns.flatMap((pattern, at): Diagnostic[] =>
          checkPattern(pattern, [...served, ...knownMethods], ['upstreams', index, 'methods', list, at], false),
        ),
      ),
    ),
    ...Object.entries(network.route).flatMap(([pattern, names]) => [
      ...checkPattern(pattern, served, ['route', pattern], true),
      ...names.flatMap((name, at) => checkUpstream(name, network, ['route', pattern, at])),
    ]),
  ];
}

/** Methods and wildcards. */
function servedBy({ methods, openMethods, developmentMethods }: Routed): string[] {
  return [...methods, ...openMethods.wildcards, ...developmentMethods.filter(isWildcard)];
}

function checkPattern(pattern: string, methods: readonly string[], path: Path, isAtName: boolean): Diagnostic[] {
  if (methods.some((method) => coversMethod(pattern, method) || coversMethod(method, pattern))) return [];
  return [
    { path, isAtName, message: `${pathText(path, pattern)} is no method of the network${suggest(pattern, methods)}` },
  ];
}

function checkUpstream(name: string, { upstreams }: Pick<Routed, 'upstreams'>, path: Path): Diagnostic[] {
  const names = upstreams.map((upstream) => upstream.name);
  if (names.includes(name)) return [];
  const option = path[0] === 'route' ? `route.${String(path[1])}` : formatPath(path);
  return [{ path, message: `${option}: ${name} is no upstream of the network${suggest(name, names)}` }];
}

type Sending = Routed & Pick<NetworkConfig, 'transactions' | 'private'>;

/**
 * Checks `transactions` and `private` beyond the schema: each name is that of an upstream that may get transactions, and the
 * fallback has an effect.
 */
export function checkTransactions(network: Sending, options: LoadOptions): Diagnostic[] {
  const { knownMethods, sendsTransactions, callTimeoutMs } = options;
  const { transactions, private: relays, upstreams, methods } = network;
  const method = knownMethods.find((name) => methods.includes(name) && sendsTransactions?.(name) === true);
  const check = (name: string, path: Path, isPermitted: (name: string) => boolean): Diagnostic[] => {
    const unknown = checkUpstream(name, network, path);
    if (unknown.length > 0 || method === undefined || isPermitted(name)) return unknown;
    return [{ path, message: `${formatPath(path)}: ${name} may not get ${method}: change its methods, or route` }];
  };
  const isInRoute = (name: string): boolean => upstreamsOf(method ?? '', network).includes(name);
  // `private` counts before `route`.
  const isInMethods = (name: string): boolean =>
    permitsMethod(upstreams.find((upstream) => upstream.name === name)?.methods, method ?? '');
  return [
    ...(typeof transactions === 'string' ? [] : transactions).flatMap((name, at) =>
      check(name, ['transactions', at], isInRoute),
    ),
    ...(relays?.upstreams ?? []).flatMap((name, at) => check(name, ['private', 'upstreams', at], isInMethods)),
    ...checkFallback(relays?.fallbackAfterMs, callTimeoutMs),
  ];
}

/** Other upstreams need some time to respond, before the call ends. */
const MIN_FALLBACK_MS = 100;

function checkFallback(afterMs = 0, callTimeoutMs = Infinity): Diagnostic[] {
  if (afterMs + MIN_FALLBACK_MS <= callTimeoutMs) return [];
  const path = ['private', 'fallbackAfterMs'];
  const reason = `no other upstream gets a transaction, because calls end after CALL_TIMEOUT_MS, ${callTimeoutMs} ms`;
  return [{ path, message: `${formatPath(path)}: ${reason}; write a shorter time` }];
}

/** A method without an upstream would fail in each call, and a network without heads most of them. */
export function checkCoverage(network: Routed, { needsUpstream, headMethod }: LoadOptions): Diagnostic[] {
  if (headMethod !== undefined && !network.upstreams.some(({ methods }) => permitsMethod(methods, headMethod)))
    return [atUpstreams(`none may get ${headMethod}, with which the gateway polls heads`)];
  if (needsUpstream === undefined) return [];
  const served = servedBy(network);
  const failing = served.filter((method) => upstreamsOf(method, network).length === 0 && needsUpstream(method));
  if (failing.length === 0) return [];
  const more = failing.length - MAX_NAMED_METHODS;
  const named = `${failing.slice(0, MAX_NAMED_METHODS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [atUpstreams(`none may get ${named}: change methods, route or the methods of an upstream`)];
}

function atUpstreams(problem: string): Diagnostic {
  return { path: ['upstreams'], message: `upstreams: ${problem}` };
}

function pathText(path: Path, pattern: string): string {
  return path[0] === 'route'
    ? `route.${pattern}`
    : `upstreams[${String(path[1])}].methods.${String(path[3])}: ${pattern}`;
}
