import { suggest } from '../config/suggest.ts';
import { formatPath, type Diagnostic, type Path } from './diagnostics.ts';
import { permitsMethod, upstreamsOf } from './methods.ts';
import type { LoadOptions, NetworkConfig, UpstreamConfig } from './network-config.ts';
import { isKeyOf } from './options/check-texts.ts';
import { coversMethod, isWildcard, namespaceOf } from './options/method-pattern.ts';
import { otherUnits, parseUnits } from './options/units-option.ts';
import { checkGroups } from './upstream-group.ts';

/** Methods without an upstream are named up to this number. */
const MAX_NAMED_METHODS = 3;
/** Other upstreams need some time to respond to a private transaction, before the call ends. */
const MIN_FALLBACK_MS = 100;

/** Checks what the schema cannot: names of methods and upstreams, and options that have no effect beside others. */
export function checkNetwork(network: NetworkConfig, options: LoadOptions): Diagnostic[] {
  const served = servedBy(network);
  return [
    ...checkUnits(network.units, [...served, ...Object.keys(otherUnits)], options.countsOf, ['units']),
    ...checkRoutes(network, served, options),
    ...checkTransactions(network, options),
    ...checkFailsafe(network, served, options),
    ...checkGroups(network),
    ...network.upstreams.flatMap((upstream, index) => checkConnection(upstream, ['upstreams', index])),
    ...(network.public === undefined ? [] : checkPublicMethods(network.public.methods, served)),
    ...findDuplicateNames(network.upstreams),
  ];
}

/** Methods and wildcards that a network serves. */
export function servedBy({ methods, openMethods, developmentMethods }: NetworkConfig): string[] {
  return [...methods, ...openMethods.wildcards, ...developmentMethods.filter(isWildcard)];
}

function problem(path: Path, text: string): Diagnostic {
  return { path, message: `${formatPath(path)}: ${text}` };
}

/** Methods and wildcards that the pattern covers, or that cover it. */
function matchesOf(pattern: string, methods: readonly string[]): readonly string[] {
  return methods.filter((method) => coversMethod(pattern, method) || coversMethod(method, pattern));
}

/** The name of a map's member matches no method. */
function noMethod(path: Path, noun: string, methods: readonly string[]): Diagnostic {
  const message = `${formatPath(path)} is no method ${noun}${suggest(String(path.at(-1)), methods)}`;
  return { path, isAtName: true, isOfAll: true, message };
}

/**
 * Checks request units: each formula counts what the parameters of its methods have.
 * @param path of the map
 * @param whole whose methods they are
 */
export function checkUnits(
  units: Readonly<Record<string, number | string>>,
  methods: readonly string[],
  countsOf: LoadOptions['countsOf'],
  path: Path,
  whole = 'the network',
): Diagnostic[] {
  return Object.entries(units).flatMap(([name, value]) => {
    const at = [...path, name];
    const matches = matchesOf(name, methods);
    if (matches.length === 0) return noMethod(at, `of ${whole}`, methods);
    // An invalid formula has a diagnostic of the schema.
    const terms = typeof value === 'string' && value !== '' ? parseUnits(value).terms : [];
    const missing = terms.find(({ count }) => matches.some((method) => countsOf?.(method).includes(count) === false));
    return missing === undefined ? [] : [problem(at, `a method has no ${missing.count}`)];
  });
}

function checkRoutes(network: NetworkConfig, served: readonly string[], { knownMethods }: LoadOptions): Diagnostic[] {
  const known = [...served, ...knownMethods];
  return [
    ...network.upstreams.flatMap(({ methods = [] }, index) =>
      methods.flatMap((rule, at) => {
        const pattern = rule.replace(/^-/, '');
        if (matchesOf(pattern, known).length > 0) return [];
        const path = ['upstreams', index, 'methods', at];
        return [problem(path, `${pattern} is no method of the network${suggest(pattern, known)}`)];
      }),
    ),
    ...Object.entries(network.route).flatMap(([pattern, names]) => [
      ...(matchesOf(pattern, served).length === 0 ? [noMethod(['route', pattern], 'of the network', served)] : []),
      ...names.flatMap((name, at) => checkUpstream(name, network, ['route', pattern, at])),
    ]),
  ];
}

function checkUpstream(name: string, { upstreams }: NetworkConfig, path: Path): Diagnostic[] {
  const names = upstreams.map((upstream) => upstream.name);
  return names.includes(name) ? [] : [problem(path, `${name} is no upstream of the network${suggest(name, names)}`)];
}

/** Each name of `transactions` and `private` is that of an upstream that may get transactions, and the fallback has an effect. */
function checkTransactions(network: NetworkConfig, options: LoadOptions): Diagnostic[] {
  const { knownMethods, sendsTransactions, callTimeoutMs = Infinity } = options;
  const { transactions, private: relays, upstreams, methods } = network;
  const method = knownMethods.find((name) => methods.includes(name) && sendsTransactions?.(name) === true);
  const check = (name: string, path: Path, isPermitted: (name: string) => boolean): Diagnostic[] => {
    const unknown = checkUpstream(name, network, path);
    if (unknown.length > 0 || method === undefined || isPermitted(name)) return unknown;
    return [problem(path, `${name} may not get ${method}: change its methods, or route`)];
  };
  const isInRoute = (name: string): boolean => upstreamsOf(method ?? '', network).includes(name);
  // `private` counts before `route`.
  const isInMethods = (name: string): boolean =>
    permitsMethod(upstreams.find((upstream) => upstream.name === name)?.methods, method ?? '');
  const isLate = (relays?.fallbackAfterMs ?? 0) + MIN_FALLBACK_MS > callTimeoutMs;
  const late = `no other upstream gets a transaction, because calls end after CALL_TIMEOUT_MS, ${callTimeoutMs} ms; write a shorter time`;
  return [
    ...(typeof transactions === 'string' ? [] : transactions).flatMap((name, at) =>
      check(name, ['transactions', at], isInRoute),
    ),
    ...(relays?.upstreams ?? []).flatMap((name, at) => check(name, ['private', 'upstreams', at], isInMethods)),
    ...(isLate ? [problem(['private', 'fallbackAfterMs'], late)] : []),
  ];
}

/** `failsafe` of a network and of its upstreams: methods that are sent to upstreams, and delays of hedges that have an effect. */
function checkFailsafe(network: NetworkConfig, served: readonly string[], options: LoadOptions): Diagnostic[] {
  const sent = served.filter((method) => options.needsUpstream?.(method) !== false);
  return [
    ...checkTimes(network.failsafe, ['failsafe'], sent, options),
    ...network.upstreams.flatMap(({ failsafe = {} }, index) =>
      checkTimes(failsafe, ['upstreams', index, 'failsafe'], sent, options),
    ),
  ];
}

/** A delay is compared with `timeoutMs` of the same entry only: other entries and options may have another time. */
function checkTimes(
  entries: NetworkConfig['failsafe'],
  path: Path,
  sent: readonly string[],
  { knownMethods, sendsTransactions }: LoadOptions,
): Diagnostic[] {
  const isHedged = (method: string): boolean => knownMethods.includes(method) && sendsTransactions?.(method) !== true;
  return Object.entries(entries).flatMap(([pattern, { timeoutMs = Infinity, hedgeAfterMs = 'off' }]): Diagnostic[] => {
    const at = pattern === '*' ? path : [...path, pattern];
    const matches = matchesOf(pattern, sent);
    if (matches.length === 0) return [noMethod(at, 'that the network sends to upstreams', sent)];
    if (hedgeAfterMs === 'off') return [];
    const atHedge = [...at, 'hedgeAfterMs'];
    if (!matches.some(isHedged)) return [problem(atHedge, 'only reads of methods with a schema are hedged; remove it')];
    if (hedgeAfterMs < timeoutMs) return [];
    return [problem(atHedge, 'no hedge is sent, because the attempt ends after timeoutMs; write a shorter time')];
  });
}

/** `tls` and `proxyUrl` of an upstream have an effect beside its other options, and the key is that of `cert`. */
function checkConnection({ url, websocketUrl, tls, proxyUrl, spawn }: UpstreamConfig, path: Path): Diagnostic[] {
  const urls = [url, websocketUrl].filter((one) => one !== undefined && one !== '');
  const hasTls = urls.length === 0 || urls.some((one) => /^(https|wss):/.test(one ?? ''));
  const isSpawned = spawn !== undefined;
  return [
    ...(tls !== undefined && (isSpawned || !hasTls)
      ? [problem([...path, 'tls'], 'no URL of the upstream is https or wss')]
      : []),
    ...(tls !== undefined && !isKeyOf(tls.cert, tls.key)
      ? [problem([...path, 'tls'], 'the private key does not belong to the certificate')]
      : []),
    ...(proxyUrl !== undefined && isSpawned
      ? [problem([...path, 'proxyUrl'], 'a spawned node is reached without a proxy')]
      : []),
  ];
}

/** @param names of `public.methods`  @param served methods and wildcards of the network */
function checkPublicMethods(names: readonly string[] = [], served: readonly string[]): Diagnostic[] {
  const known = [...new Set(served.map(namespaceOf)), ...served];
  return names.flatMap((name, index) => {
    // Another value has a diagnostic of the schema.
    if (name === '' || known.some((one) => coversMethod(one, name))) return [];
    const text = `${name} is no method or namespace of the network${suggest(name, known)}`;
    return [problem(['public', 'methods', index], text)];
  });
}

function findDuplicateNames(upstreams: readonly UpstreamConfig[]): Diagnostic[] {
  const names = upstreams.map(({ name }) => name);
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    if (name === '' || first === index) return [];
    const message = `upstreams[${index}].name is the same as upstreams[${first}].name: metrics need a unique name`;
    return [{ path: ['upstreams', index, 'name'], message }];
  });
}

/** A method without an upstream would fail in each call, and a network without heads most of them. */
export function checkCoverage(network: NetworkConfig, { needsUpstream, headMethod }: LoadOptions): Diagnostic[] {
  if (headMethod !== undefined && !network.upstreams.some(({ methods }) => permitsMethod(methods, headMethod)))
    return [problem(['upstreams'], `none may get ${headMethod}, with which the gateway polls heads`)];
  if (needsUpstream === undefined) return [];
  const failing = servedBy(network).filter(
    (method) => upstreamsOf(method, network).length === 0 && needsUpstream(method),
  );
  if (failing.length === 0) return [];
  const more = failing.length - MAX_NAMED_METHODS;
  const named = `${failing.slice(0, MAX_NAMED_METHODS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [problem(['upstreams'], `none may get ${named}: change methods, route or the methods of an upstream`)];
}
