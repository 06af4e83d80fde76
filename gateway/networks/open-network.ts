import { openFinalChain, openMethodCache } from '../cache/open-method-cache.ts';
import { ChainPoller } from '../chain/poller.ts';
import type { Log } from '../config/log.ts';
import type { KindSubscriptionMetrics } from '../metrics/subscription-metrics.ts';
import { isDevelopmentChain } from '../network-files/development-chain.ts';
import { fetchBlockFrom } from './fetch-block.ts';
import { UnservedMethods } from './unserved-methods.ts';
import { UseCount } from './use-count.ts';
import {
  chainIdentity,
  upstreamIdentity,
  type ChainConfig,
  type FixedUpstreamOptions,
  type NetworkConfig,
  type ReplaceableConfig,
  type UpstreamConfig,
} from '../network-files/network-config.ts';
import { isWildcard } from '../network-files/options/method-pattern.ts';
import { CoalescedCalls } from '../call/coalesce.ts';
import { requestUpstreams } from '../call/forward.ts';
import type { NetworkMethod, Network } from '../call/network.ts';
import { Router } from '../call/router.ts';
import { lazyDocument } from './lazy-document.ts';
import type { NetworkParts } from './network-parts.ts';
import { normalise } from '../normalise/normalise.ts';
import { openRangedMethod } from '../ranges/open-ranged-method.ts';
import type { RangeLimits } from '../ranges/range-limits.ts';
import { FailsafeTable } from '../routing/failsafe-table.ts';
import { MethodRoutes } from '../routing-policy/method-routes.ts';
import { compileBounds, type Bounds } from '../spec/bounds.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import { handlerOf, NOTIFICATION_METHOD } from '../spec/handlers.ts';
import { developmentMethodsIn, passThroughSpec } from '../spec/method-facts.ts';
import { methods, nodeMethods } from '../spec/methods.generated.ts';
import { attemptTimesMs, type MethodSpec } from '../spec/method-spec.ts';
import { compileUnits } from '../spec/request-units.ts';
import type { KeptValuesOptions } from '../subscriptions/kept-values.ts';
import { NetworkFilters } from '../subscriptions/network-filters.ts';
import { NetworkSubscriptions, type SubscriptionSources } from '../subscriptions/network-subscriptions.ts';
import { subscriptionKinds, type SubscriptionKind } from '../subscriptions/subscription-params.ts';
import { openCallQueue } from '../admission/call-queue.ts';
import { canCoalesce, changesChain, rewritesChain } from '../spec/method-group.ts';
import { Upstream } from '../upstreams/upstream.ts';
import { openAudit } from './open-audit.ts';
import { openHttp, openWebSocket } from './open-transport.ts';
import { ServedMethods } from './served-methods.ts';

/**
 * Builds a network from its configuration. Sends no request. In the active networks, it changes nothing but the options of
 * upstreams with `replaces: 'nothing'`.
 * @param previous the active network with the same slug, if any
 */
export function openNetwork(config: NetworkConfig, parts: NetworkParts, previous?: Network): Network {
  const log = parts.log.child({ network: config.slug });
  const replaceable: ReplaceableConfig = config;
  const upstreams = replaceable.upstreams.flatMap((upstream) => {
    const identity = upstreamIdentity(config, upstream);
    const opened = parts.openUpstreams.get(identity) ?? openUpstream(config, upstream, parts, log);
    if (opened === undefined) return [];
    parts.openUpstreams.set(identity, opened);
    // The router ranks by the new priorities.
    opened.config = upstream;
    return opened;
  });
  const isReusable = previous !== undefined && chainIdentity(previous.config) === chainIdentity(config);
  const reusable = isReusable ? previous : undefined;
  // The chain is the same, and subscribers depend on its heads.
  const { chainId, development }: ChainConfig = config;
  const { wildcards, except } = config.openMethods;
  const isDevelopment = isDevelopmentChain({ chainId, development, upstreams: replaceable.upstreams });
  const headMetrics = parts.metrics.heads.networkMetrics(config.slug);
  const routes = new MethodRoutes(replaceable, upstreams);
  const headSources = routes.sourcesOf(nodeMethods.blockByNumber);
  const chain = reusable?.chain ?? new ChainPoller(headSources, headMetrics, { isDevelopment, log });
  const { UPSTREAM_TIMEOUT_MS: timeoutMs, CALL_TIMEOUT_MS: callTimeoutMs } = parts.settings;
  const named = config.methods.map((name) => specOf(name, parts.specs));
  const audit = openAudit(replaceable.audit, config.slug, parts.metrics, { upstreams, routes, chain, log });
  const { NETWORK_CONCURRENCY: concurrency, NETWORK_QUEUE_MAX: queueMax } = parts.settings;
  const onQueued = parts.metrics.calls.queueMetric(config.slug);
  const routerOptions = {
    routes,
    failsafe: new FailsafeTable(replaceable, named, upstreams, timeoutMs, callTimeoutMs),
    checkResult: parts.resultCheck,
    confirmNull: replaceable.confirmNull,
    isDevelopment,
    hedgeAfterMs: replaceable.hedge === 'off' ? undefined : replaceable.hedge,
    ...{ balance: replaceable.balance, maxLagBlocks: replaceable.maxLagBlocks },
    metrics: parts.metrics.routing.networkMetrics(config.slug),
    // Calls in progress still count towards the concurrency.
    slots: reusable?.router.slots ?? openCallQueue({ concurrency, queueMax, onQueued }),
    ...{ chain, audit, log },
  };
  const router = new Router(upstreams, routerOptions, reusable?.router);
  const subscriptions = reusable?.subscriptions ?? openSubscriptions(config.slug, chain, router, parts);
  const coalesced = new CoalescedCalls(chain, parts.metrics.calls.coalescedMetric(config.slug));
  const cache = replaceable.cache === 'off' ? undefined : parts.cache;
  const cacheParts = { ...parts, config, cache, chain, metrics: parts.metrics.cache };
  const final = openFinalChain(cacheParts, fetchBlockFrom(router), reusable?.final);
  const bounds = boundsOf(replaceable);
  const logs = specOf(nodeMethods.logs, parts.specs);
  const head = (): bigint | undefined => chain.view.number;
  const blockByNumber = specOf(nodeMethods.blockByNumber, parts.specs);
  const rangeLimits = reusable?.rangeLimits ?? new Map<string, RangeLimits<Upstream>>();
  const rangeParts = {
    ...{ ...cacheParts, blockByNumber, head, bounds, final },
    candidatesOf: (method: string) => routes.candidatesOf(method) ?? upstreams,
    metrics: parts.metrics,
    limits: rangeLimits,
  };
  const afterChange = coalesced.forgetAll.bind(coalesced);
  const afterRewrite = (): void => {
    afterChange();
    chain.rewritten();
    final?.drop();
  };
  const openMethod = methodOpener(config, parts, (spec) => ({
    checkBounds: compileBounds(spec, bounds, head),
    unitsOf: compileUnits(spec, [replaceable.units, parts.unitsTable], head),
    cache: openMethodCache(cacheParts, final, spec),
    ranges: openRangedMethod(spec, rangeParts),
    afterCall: rewritesChain(spec) ? afterRewrite : changesChain(spec) ? afterChange : undefined,
  }));
  return {
    config,
    bounds,
    methods: new ServedMethods(named, config, openMethod),
    otherMethods: openMethod(passThroughSpec('other')),
    unserved: new UnservedMethods(config, {
      folder: parts.settings.NETWORKS_DIR,
      developmentMethods: developmentMethodsIn(parts.settings),
      log,
    }),
    router,
    ...{ audit, chain, final },
    subscriptions,
    filters: reusable?.filters ?? new NetworkFilters({ subscriptions, logs, kept: keptOf(parts) }),
    document: lazyDocument(
      config.slug,
      replaceable,
      [...wildcards, ...config.developmentMethods.filter(isWildcard)],
      except,
    ),
    coalesced,
    rangeLimits,
    sockets: parts.metrics.socketMetrics(config.slug),
    use: new UseCount(),
  };
}

function keptOf({ memory, settings }: NetworkParts): KeptValuesOptions {
  return { memory, valuesMax: settings.FILTER_VALUES_PER_KEY };
}

/** Moves the state shared with the previous network to this network's upstreams. Never throws. */
export function adoptSharedState({ chain, final, subscriptions, router }: Network): void {
  chain.replaceUpstreams(router.headSources, router.all);
  final?.moveTo(fetchBlockFrom(router));
  subscriptions.moveTo(sourcesIn(router));
}

function sourcesIn(router: Router): SubscriptionSources {
  return { all: router.all, request: (...call) => requestUpstreams(router, ...call) };
}

function boundsOf(config: ReplaceableConfig): Bounds {
  const { maxBlockRange, maxAddresses, maxStorageKeys, maxSimulatedCalls, maxResponseBytes } = config;
  return { maxBlockRange, maxAddresses, maxStorageKeys, maxSimulatedCalls, maxResponseBytes };
}

function openSubscriptions(
  slug: string,
  chain: ChainPoller<Upstream>,
  router: Router,
  { specs, metrics, usage }: NetworkParts,
): NetworkSubscriptions {
  const metricsByKind = Object.fromEntries(
    subscriptionKinds.map((kind) => [kind, metrics.subscriptions.metrics(slug, kind)]),
  );
  return new NetworkSubscriptions({
    slug,
    chain,
    upstreams: sourcesIn(router),
    blockShape: specOf(nodeMethods.blockByHash, specs).shape,
    logs: specOf(nodeMethods.logs, specs),
    blockReceipts: specOf(nodeMethods.blockReceipts, specs),
    transactionByHash: specOf(nodeMethods.transactionByHash, specs),
    metrics: metricsByKind as Record<SubscriptionKind, KindSubscriptionMetrics>,
    usage: usage.methodUsage(slug, NOTIFICATION_METHOD),
  });
}

/** Builds a method that the network serves. */
function methodOpener(
  config: NetworkConfig,
  { checks, metrics, usage }: NetworkParts,
  openParts: (spec: MethodSpec) => Pick<NetworkMethod, 'checkBounds' | 'unitsOf' | 'cache' | 'ranges' | 'afterCall'>,
): (spec: MethodSpec) => NetworkMethod {
  return (spec) => {
    // The node's accounts and name, in place of those of the gateway.
    const handler = config.developmentMethods.includes(spec.name) ? undefined : handlerOf(spec);
    // Callers can name any method of a wildcard.
    const label = spec.openedBy ?? spec.name;
    return {
      spec,
      check: checks.get(spec.name) ?? acceptAnyParams,
      handler,
      localResponse: handler?.by === 'local' ? { kind: 'local', json: handler.result(config) } : undefined,
      isCoalescable: canCoalesce(spec),
      metric: metrics.calls.metric(config.slug, label),
      usage: usage.methodUsage(config.slug, label),
      ...openParts(spec),
    };
  };
}

function specOf(method: string, specs: readonly MethodSpec[]): MethodSpec {
  return specs.find(({ name }) => name === method) ?? passThroughSpec(method);
}

/** For pass-through methods. The envelope check has already required an array. */
const acceptAnyParams: ParamCheck = () => undefined;

const chainIdSpec = specOf(nodeMethods.chainId, methods);

function openUpstream(
  chain: ChainConfig,
  config: UpstreamConfig,
  { settings, metrics, localChains, memory }: NetworkParts,
  log: Log,
): Upstream | undefined {
  const fixed: FixedUpstreamOptions = config;
  const spawned = localChains.at(upstreamIdentity(chain, fixed));
  const url = fixed.url ?? spawned?.url;
  // A spawned node serves HTTP and WebSocket on the same port.
  const websocketUrl = fixed.websocketUrl ?? spawned?.url.replace(/^http/, 'ws');
  // Transports connect with the first call.
  const http = url === undefined ? undefined : openHttp(url, fixed, settings, memory);
  const webSocket = websocketUrl === undefined ? undefined : openWebSocket(websocketUrl, fixed, settings, memory);
  const transport = http ?? webSocket;
  // The node was not spawned.
  if (transport === undefined) return undefined;
  return new Upstream(fixed, config, {
    chainId: chain.chainId,
    classifyError: (error) => {
      const outcome = normalise(chainIdSpec, [], error);
      return outcome.final ? undefined : outcome;
    },
    transport,
    defaultTimeoutMs: settings.UPSTREAM_TIMEOUT_MS ?? attemptTimesMs.lookup,
    ...(webSocket !== undefined && { webSocket }),
    ...(spawned !== undefined && { starting: spawned.ready }),
    metrics: metrics.upstreamMetrics(chain.slug, fixed.name),
    log,
  });
}
