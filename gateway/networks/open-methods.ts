import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { isNamespace } from '../network-files/development-chain.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import { handlerOf } from '../spec/handlers.ts';
import { canCoalesce } from '../spec/method-group.ts';
import { passThrough, type MethodSpec } from '../spec/method-spec.ts';
import type { UsageLedger } from '../usage/usage-ledger.ts';
import type { NetworkMethod, NetworkMethods } from './network.ts';

interface MethodParts {
  readonly specs: readonly MethodSpec[];
  readonly checks: ReadonlyMap<string, ParamCheck>;
  readonly metrics: Metrics;
  readonly usage: UsageLedger;
}

type OpenParts = (spec: MethodSpec) => Pick<NetworkMethod, 'checkBounds' | 'unitsOf' | 'cache' | 'afterCall'>;

/** Opens the methods of a network. Those of a development namespace (`evm_*`) are opened at their first call. */
export function openMethods(config: NetworkConfig, parts: MethodParts, openParts: OpenParts): NetworkMethods {
  const { slug, methods, developmentMethods } = config;
  const { specs, checks, metrics, usage } = parts;
  const counters = (name: string): Pick<NetworkMethod, 'metric' | 'usage'> => ({
    metric: metrics.calls.metric(slug, name),
    usage: usage.methodUsage(slug, name),
  });
  const open = (name: string, counted = counters(name)): NetworkMethod => {
    const known = specOf(name, specs);
    const spec = developmentMethods.includes(name) ? servedByNode(known) : known;
    const handler = spec.handledBy === undefined ? undefined : handlerOf(spec);
    return {
      spec,
      check: checks.get(name) ?? acceptAnyParams,
      handler,
      localResult: handler?.by === 'local' ? handler.result(config) : undefined,
      isCoalescable: canCoalesce(spec),
      ...counted,
      ...openParts(spec),
    };
  };
  const listed = new Map(methods.map((name) => [name, open(name)]));
  const namespaces = developmentMethods
    .filter(isNamespace)
    .map((name) => ({ prefix: name.slice(0, -1), counted: counters(name) }));
  return namespaces.length === 0 ? listed : new MethodsOfNamespaces(listed, namespaces, open);
}

interface Namespace {
  /** `evm_`. */
  readonly prefix: string;
  /** Shared by its methods: a caller cannot add a series. */
  readonly counted: Pick<NetworkMethod, 'metric' | 'usage'>;
}

const METHOD_NAME = /^[a-z][a-zA-Z0-9_]{1,80}$/;
const MAX_OPEN_METHODS = 200;

/** The listed methods of a network, and those of whole namespaces, which are in no list: the node decides. */
class MethodsOfNamespaces implements NetworkMethods {
  readonly #listed: NetworkMethods;
  readonly #namespaces: readonly Namespace[];
  readonly #openMethod: (name: string, counted: Namespace['counted']) => NetworkMethod;
  readonly #opened = new LRUCache<string, NetworkMethod>(maxEntries(MAX_OPEN_METHODS));

  constructor(
    listed: NetworkMethods,
    namespaces: readonly Namespace[],
    openMethod: (name: string, counted: Namespace['counted']) => NetworkMethod,
  ) {
    this.#listed = listed;
    this.#namespaces = namespaces;
    this.#openMethod = openMethod;
  }

  get(name: string): NetworkMethod | undefined {
    return this.#listed.get(name) ?? this.#opened.get(name) ?? this.#open(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  #open(name: string): NetworkMethod | undefined {
    const namespace = this.#namespaces.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length);
    if (namespace === undefined || !METHOD_NAME.test(name)) return undefined;
    const method = this.#openMethod(name, namespace.counted);
    this.#opened.set(name, method);
    return method;
  }
}

/** The spec without its handler in the gateway: the node's accounts and name, in place of the gateway's. */
function servedByNode(spec: MethodSpec): MethodSpec {
  const { handledBy, ...ofNode } = spec;
  return handledBy === undefined ? spec : ofNode;
}

export function specOf(method: string, specs: readonly MethodSpec[]): MethodSpec {
  return specs.find(({ name }) => name === method) ?? passThrough(method);
}

/** For pass-through methods. The envelope check has already required an array. */
const acceptAnyParams: ParamCheck = () => undefined;
