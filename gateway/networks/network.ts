import { Differences } from '../observability/differences.ts';
import { PublicAccess } from '../auth/public-access.ts';
import type { FinalChain } from '../cache/final-chain.ts';
import { openFinalChain, openMethodCache, type CacheParts } from '../cache/open-method-cache.ts';
import type { Log } from '../config/log.ts';
import { ChainPeers } from '../chain/chain-peers.ts';
import { ChainPoller } from '../chain/poller.ts';
import type { Holder } from '../memory/holder.ts';
import type { SocketMetrics } from '../metrics/metrics.ts';
import { subscriptionMetrics, type KindSubscriptionMetrics } from '../metrics/subscription-metrics.ts';
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
import type { OtherUnits } from '../network-files/options/units-option.ts';
import { isStronger, verifyOptions } from '../network-files/options/verify-option.ts';
import { CoalescedCalls } from '../call/coalesce.ts';
import { layersOf } from '../call/handle-call.ts';
import { sendToOther, requestEvidence, requestUpstreams } from '../call/forward.ts';
import { verificationOf, type MethodVerification } from '../call/verification.ts';
import type { Network, NetworkMethod } from '../call/call.ts';
import { Router } from '../call/router.ts';
import { lazyDocument } from './lazy-document.ts';
import type { NetworkParts } from './network-parts.ts';
import { POLL_TOPIC, type PollMessage } from '../upstreams/health/own-requests.ts';
import { normalise } from '../normalise/normalise.ts';
import { PartCache } from '../ranges/part-cache.ts';
import { RangeLimits } from '../ranges/range-limits.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import { FailsafeTable } from '../routing/failsafe-table.ts';
import { PermittedUpstreams } from '../routing-policy/permitted-upstreams.ts';
import { compileBounds, type Bounds } from '../spec/bounds.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import { handlerOf, NOTIFICATION_METHOD } from '../spec/handlers.ts';
import { developmentMethodsIn, passThroughSpec } from '../spec/method-facts.ts';
import { methods, nodeMethods } from '../spec/methods.generated.ts';
import { attemptTimesMs, type MethodSpec } from '../spec/method-spec.ts';
import { compileOtherUnits, compileUnits } from '../spec/request-units.ts';
import { FilterPeers } from '../subscriptions/filter-peers.ts';
import { NetworkFilters } from '../subscriptions/network-filters.ts';
import { NetworkSubscriptions, type SubscriptionSources } from '../subscriptions/network-subscriptions.ts';
import { subscriptionKinds, type SubscriptionKind } from '../subscriptions/subscription-params.ts';
import { Gate } from '../admission/gate.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { canCoalesce, changesChain, rewritesChain } from '../spec/method-group.ts';
import { Upstream } from '../upstreams/upstream.ts';
import { Verifier } from '../verify/verifier.ts';
import { openHttp, openWebSocket } from './open-transport.ts';
import { ServedMethods } from './served-methods.ts';

/** A call that waits longer is rejected, because the calls before it make no progress either. */
const MAX_WAIT_MS = 1_000;

/** A network, built once for each version of its file. Its constructor sends no request. */
export class OpenNetwork implements Network {
  readonly config: NetworkConfig;
  readonly bounds: Bounds;
  readonly publicAccess: PublicAccess | undefined;
  readonly methods: ServedMethods;
  readonly otherMethods: NetworkMethod;
  readonly otherUnits: OtherUnits;
  readonly unserved: UnservedMethods;
  readonly router: Router;
  readonly auditsOf: Network['auditsOf'];
  readonly differences: Differences;
  readonly isVerified: boolean;
  readonly coalesced: CoalescedCalls;
  readonly rangeLimits: Map<string, RangeLimits<Upstream>>;
  readonly chain: ChainPoller<Upstream>;
  readonly final: FinalChain | undefined;
  readonly subscriptions: NetworkSubscriptions;
  readonly filters: NetworkFilters;
  readonly document: Network['document'];
  readonly sockets: SocketMetrics;
  readonly use = new UseCount();
  readonly #parts: NetworkParts;
  readonly #verificationOf: (method: string) => MethodVerification;
  readonly #cacheParts: CacheParts;

  /**
   * In the active networks, it changes nothing but the options of upstreams with `replaces: 'nothing'`.
   * @param previous the active network with the same slug, if any
   */
  constructor(config: NetworkConfig, parts: NetworkParts, previous?: Network) {
    const { settings, bounds, metrics, specs } = parts;
    const { slug, methods: names, openMethods, developmentMethods } = config;
    const replaceable: ReplaceableConfig = config;
    const { chainId, development }: ChainConfig = config;
    const log = parts.log.child({ network: slug });
    const isReusable = previous !== undefined && chainIdentity(previous.config) === chainIdentity(config);
    // The chain is the same, and subscribers depend on its heads.
    const reusable = isReusable ? previous : undefined;
    const upstreams = openUpstreams(config, parts, log);
    const permitted = new PermittedUpstreams(replaceable, upstreams);
    const isDevelopment = isDevelopmentChain({ chainId, development, upstreams: replaceable.upstreams });
    const named = names.map((name) => specOf(name, specs));

    this.config = config;
    this.#parts = parts;
    this.bounds = replaceable.bounds;
    this.otherUnits = compileOtherUnits([replaceable.units, parts.unitsTable]);
    this.publicAccess = openPublicAccess(config, replaceable.public, parts, previous);
    this.sockets = metrics.socketMetrics(slug);
    const headSources = permitted.sourcesOf(nodeMethods.blockByNumber);
    const headMetrics = metrics.heads.networkMetrics(slug);
    const peers = parts.link && new ChainPeers(parts.link, slug, chainId);
    const chain = reusable?.chain ?? new ChainPoller(headSources, headMetrics, { isDevelopment, log, peers });
    this.chain = chain;
    const verify = verifyOptions(replaceable.verify);
    const levels = Object.values(verify.levels);
    this.auditsOf = (upstream) => metrics.audits.countsOf(slug, upstream);
    this.differences = reusable?.differences ?? new Differences(parts.shownParams);
    this.#verificationOf = (method) => verificationOf(method, verify);
    this.isVerified = Object.keys(verify.agree).length > 0 || levels.some((level) => isStronger(level, 'observe'));
    const { UPSTREAM_TIMEOUT_MS: timeoutMs, CALL_TIMEOUT_MS: callTimeoutMs } = settings;
    const onQueued = metrics.queueMetric(slug);
    const evidenceInFlight = new CoalescedCalls(chain);
    const routerOptions = {
      permitted,
      transactions: replaceable.transactions,
      relays: replaceable.private,
      failsafe: new FailsafeTable(replaceable, named, upstreams, timeoutMs, callTimeoutMs),
      checkResult: parts.resultCheck,
      confirmNull: verify.nulls,
      isDevelopment,
      ...{ balance: replaceable.balance, maxLagBlocks: replaceable.maxLagBlocks },
      metrics: metrics.routing.networkMetrics(slug, replaceable.private?.fallbackAfterMs !== undefined),
      // Calls in progress still count towards the concurrency.
      slots: reusable?.router.slots ?? openSlots(bounds.networkConcurrency, bounds.networkQueueMax, onQueued),
      verifier: new Verifier({
        ...{ upstreams, permitted, chain, differences: this.differences, log },
        hasAudits: levels.includes('observe'),
        openMetrics: () =>
          metrics.audits.networkMetrics(
            slug,
            upstreams.map(({ name }) => name),
          ),
        request: (name, ...request) => requestEvidence(this.router, evidenceInFlight, specOf(name, specs), ...request),
        sendToOther: (...call) => sendToOther(this.router, ...call),
      }),
      verificationOf: this.#verificationOf,
      ...{ chain, log },
    };
    this.router = new Router(upstreams, routerOptions, reusable?.router);
    this.coalesced = new CoalescedCalls(chain, metrics.coalescedMetric(slug));
    const cache = replaceable.cache === 'off' ? undefined : parts.cache;
    this.#cacheParts = { config, cache, durable: parts.durable, chain, metrics };
    this.final = openFinalChain(this.#cacheParts, fetchBlockFrom(this.router), reusable?.final);
    this.rangeLimits = reusable?.rangeLimits ?? new Map<string, RangeLimits<Upstream>>();
    this.methods = new ServedMethods(named, config, (spec) => this.#openMethod(spec));
    this.otherMethods = this.#openMethod(passThroughSpec('other'));
    this.unserved = new UnservedMethods(config, {
      folder: settings.NETWORKS_DIR,
      developmentMethods: developmentMethodsIn(settings),
      log,
    });
    this.subscriptions = reusable?.subscriptions ?? openSubscriptions(slug, chain, this.router, parts, log);
    this.filters = reusable?.filters ?? openFilters(slug, this.subscriptions, parts);
    const wildcards = [...openMethods.wildcards, ...developmentMethods.filter(isWildcard)];
    this.document = lazyDocument(slug, replaceable, wildcards, openMethods.except);
  }

  /** Moves the state that is shared with the previous network to the upstreams of this one. Never throws. */
  adoptSharedState(): void {
    this.publicAccess?.limitConcurrency();
    this.final?.moveTo(fetchBlockFrom(this.router));
    this.followDrains();
  }

  /** A drained upstream has no part in the head, and no subscriptions. */
  followDrains(): void {
    const { witnesses: count }: ReplaceableConfig = this.config;
    const { level } = this.#verificationOf(nodeMethods.blockByNumber);
    const hold = level === 'require' ? 'always' : level === 'enforce' ? 'near' : 'no';
    this.chain.replaceUpstreams(this.router.headSources.filter(isServing), this.router.all, { count, hold });
    this.subscriptions.moveTo(sourcesIn(this.router));
  }

  #openMethod(spec: MethodSpec): NetworkMethod {
    const { config, bounds, chain } = this;
    const { units }: ReplaceableConfig = config;
    const { checks, metrics, usage, unitsTable } = this.#parts;
    const head = (): bigint | undefined => chain.view.number;
    // The node's accounts and name, in place of those of the gateway.
    const handler = config.developmentMethods.includes(spec.name) ? undefined : handlerOf(spec);
    // Callers can name any method of a wildcard.
    const label = spec.openedBy ?? spec.name;
    const method = {
      spec,
      check: checks.get(spec.name) ?? acceptAnyParams,
      checkBounds: compileBounds(spec, bounds, head),
      unitsOf: compileUnits(spec, [units, unitsTable], head),
      handler,
      isCoalescable: canCoalesce(spec),
      verification: this.#verificationOf(spec.name),
      afterCall: this.#afterCallOf(spec),
      metric: metrics.callMetric(config.slug, label),
      cache: openMethodCache(this.#cacheParts, this.final, spec),
      ranges: spec.splits === undefined ? undefined : this.#openRanges(spec, label),
      usage: usage.methodUsage(config.slug, label),
    };
    return { ...method, serve: layersOf(method, this) };
  }

  /** A call of a development node may change the chain, or remove blocks from it. */
  #afterCallOf(spec: MethodSpec): (() => void) | undefined {
    if (!changesChain(spec) && !rewritesChain(spec)) return undefined;
    return () => {
      this.coalesced.forgetAll();
      if (!rewritesChain(spec)) return;
      this.chain.rewritten();
      this.final?.drop();
    };
  }

  #openRanges(spec: MethodSpec, label: string): RangedMethod {
    const { config, bounds, final, router, chain, rangeLimits } = this;
    const { metrics, specs } = this.#parts;
    const { cache, durable } = this.#cacheParts;
    const limits = rangeLimits.get(spec.name) ?? new RangeLimits<Upstream>();
    rangeLimits.set(spec.name, limits);
    const network = `${config.slug}:${config.chainId}`;
    const count = metrics.cacheMetric(config.slug, label);
    return {
      ...{ spec, limits, bounds, final },
      blockByNumber: specOf(nodeMethods.blockByNumber, specs),
      candidates: router.options.permitted.candidatesOf(spec.name) ?? router.all,
      head: () => chain.view.number,
      metrics: metrics.routing.rangeMetrics(config.slug),
      cache: cache && final && new PartCache({ cache, durable, final, network, method: spec.name, count }),
    };
  }
}

function openPublicAccess(
  config: NetworkConfig,
  options: ReplaceableConfig['public'],
  { memory, leases }: NetworkParts,
  previous: Network | undefined,
): PublicAccess | undefined {
  if (options === undefined) return undefined;
  const holderOf = (group: string): Holder =>
    memory?.publicHolder(group) ?? { name: `public ${group}`, isAddress: true, bytes: 0 };
  return new PublicAccess(config, options, holderOf, previous?.publicAccess, leases);
}

function isServing({ drain }: Upstream): boolean {
  return drain === undefined;
}

function sourcesIn(router: Router): SubscriptionSources {
  return {
    all: router.all.filter(isServing),
    request: (...call) => requestUpstreams(router, ...call),
    proveHeader: (...header) => router.options.verifier.proveHeader(...header),
  };
}

function openFilters(
  slug: string,
  subscriptions: NetworkSubscriptions,
  { specs, memory, bounds, link }: NetworkParts,
): NetworkFilters {
  const logs = specOf(nodeMethods.logs, specs);
  const kept = { memory, valuesMax: bounds.filterValuesPerKey };
  return new NetworkFilters({ subscriptions, logs, kept, peers: link && new FilterPeers(link, slug) });
}

function openSubscriptions(
  slug: string,
  chain: ChainPoller<Upstream>,
  router: Router,
  { specs, metrics, usage }: NetworkParts,
  log: Log,
): NetworkSubscriptions {
  const metricsByKind = Object.fromEntries(
    subscriptionKinds.map((kind) => [kind, subscriptionMetrics(metrics.registry, slug, kind)]),
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
    log,
  });
}

function specOf(method: string, specs: readonly MethodSpec[]): MethodSpec {
  return specs.find(({ name }) => name === method) ?? passThroughSpec(method);
}

/** The check of pass-through methods. The envelope check has already required an array. */
const acceptAnyParams: ParamCheck = () => undefined;

const chainIdSpec = specOf(nodeMethods.chainId, methods);

/** The upstreams of a network: those that are open already, and new ones. */
function openUpstreams(config: NetworkConfig, parts: NetworkParts, log: Log): Upstream[] {
  return config.upstreams.flatMap((upstream) => {
    const identity = upstreamIdentity(config, upstream);
    const opened = parts.openUpstreams.get(identity) ?? openUpstream(config, upstream, parts, log);
    if (opened === undefined) return [];
    parts.openUpstreams.set(identity, opened);
    // The router ranks by the new priorities.
    opened.config = upstream;
    return opened;
  });
}

function openUpstream(
  chain: ChainConfig,
  config: UpstreamConfig,
  { settings, bounds, metrics, localChains, memory, link, leases }: NetworkParts,
  log: Log,
): Upstream | undefined {
  const fixed: FixedUpstreamOptions = config;
  const spawned = localChains.at(upstreamIdentity(chain, fixed));
  const url = fixed.url ?? spawned?.url;
  // A spawned node serves HTTP and WebSocket on the same port.
  const websocketUrl = fixed.websocketUrl ?? spawned?.url.replace(/^http/, 'ws');
  // Transports connect with the first call.
  const ofTransport = { connections: settings.UPSTREAM_CONNECTIONS, responseMaxBytes: bounds.upstreamResponseMaxBytes };
  const http = url === undefined ? undefined : openHttp(url, fixed, ofTransport, memory);
  const webSocket = websocketUrl === undefined ? undefined : openWebSocket(websocketUrl, fixed, ofTransport, memory);
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
    shared: leases && { leases, name: `${chain.slug}/${fixed.name}` },
    onPolled:
      link &&
      ((failed) => {
        link.notify(POLL_TOPIC, { network: chain.slug, upstream: fixed.name, failed } satisfies PollMessage);
      }),
    metrics: metrics.upstreamMetrics(chain.slug, fixed.name),
    log,
  });
}

/** Limits the calls in flight of one network. Upstreams that do not respond then delay the calls of their own network only. */
function openSlots(slots: number, queueMax: number, onQueued: (change: 1 | -1) => void): Gate {
  const rejection = (): RpcError => new RpcError('overloaded', 'too many calls in flight on this network');
  return new Gate({ slots, queueMax, onQueued, maxWaitMs: MAX_WAIT_MS, rejection });
}
