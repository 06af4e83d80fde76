import { Gate } from '../admission/gate.ts';
import type { SlotLeases } from '../admission/slot-lease.ts';
import { PublicAccess } from '../auth/public-access.ts';
import type { DurableCache } from '../cache/durable-cache.ts';
import type { FetchBlock } from '../cache/final-chain.ts';
import { openFinalChain, openMethodCache } from '../cache/open-method-cache.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { Network, NetworkMethod } from '../call/call.ts';
import { CoalescedCalls } from '../call/coalesce.ts';
import { layersOf } from '../call/handle-call.ts';
import { sendToOther, requestEvidence, requestUpstreams } from '../call/own-calls.ts';
import { Router } from '../call/router.ts';
import { verificationOf, type MethodVerification } from '../call/verification.ts';
import { ChainPeers } from '../chain/chain-peers.ts';
import { ChainPoller } from '../chain/poller.ts';
import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { ProcessBounds } from '../config/process-bounds.ts';
import type { Settings } from '../config/settings.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { MemoryBudget } from '../memory/memory-budget.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { SubscriptionMetrics } from '../metrics/series.ts';
import {
  isDevelopmentChain,
  chainIdentity,
  upstreamIdentity,
  type ChainConfig,
  type FixedUpstreamOptions,
  type NetworkConfig,
  type ReplaceableConfig,
  type UpstreamConfig,
} from '../network-files/network-config.ts';
import { isWildcard } from '../network-files/options/method-pattern.ts';
import { isStronger, verifyOptions } from '../network-files/options/verify-option.ts';
import { normalise } from '../normalise/normalise.ts';
import { Differences } from '../observability/differences.ts';
import type { ShownParams } from '../observability/shown-params.ts';
import { PartCache } from '../ranges/part-cache.ts';
import { RangeLimits } from '../ranges/range-limits.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import { PermittedUpstreams } from '../routing-policy/permitted-upstreams.ts';
import { FailsafeTable } from '../routing/failsafe-table.ts';
import { compileBounds } from '../spec/bounds.ts';
import type { ParamCheck } from '../spec/check-params.ts';
import { handlerOf, NOTIFICATION_METHOD } from '../spec/handlers.ts';
import { developmentMethodsIn, passThroughSpec } from '../spec/method-facts.ts';
import { canCoalesce, changesChain, rewritesChain } from '../spec/method-group.ts';
import { attemptTimesMs, type MethodSpec } from '../spec/method-spec.ts';
import { methods, nodeMethods } from '../spec/methods.generated.ts';
import { documentedUrls, documentOf, OpenRpcText, serversAt } from '../spec/openrpc-document.ts';
import { compileOtherUnits, compileUnits, type UnitsTable } from '../spec/request-units.ts';
import type { ResultCheck } from '../spec/result-check.ts';
import { FilterPeers } from '../subscriptions/filter-peers.ts';
import { NetworkFilters } from '../subscriptions/network-filters.ts';
import { NetworkSubscriptions, type SubscriptionSources } from '../subscriptions/network-subscriptions.ts';
import { subscriptionKinds, type SubscriptionKind } from '../subscriptions/subscription-params.ts';
import { POLL_TOPIC, type PollMessage } from '../upstreams/health/own-requests.ts';
import { jsonResponse, parseResponse, type LargeResponse } from '../upstreams/transport/upstream-response.ts';
import type { RequestLimiter } from '../upstreams/upstream-limits.ts';
import { Upstream } from '../upstreams/upstream.ts';
import type { UsageLedger } from '../usage/usage-ledger.ts';
import { Verifier } from '../verify/verifier.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import type { LocalChains } from './local-chains.ts';
import { openHttp, openWebSocket } from './open-transport.ts';
import { ServedMethods } from './served-methods.ts';
import { UnservedMethods } from './unserved-methods.ts';
import { UseCount } from './use-count.ts';

/** A call that waits longer is rejected, because the calls before it make no progress either. */
const MAX_WAIT_MS = 1_000;
/** Time to fetch a block for the cache. Long, because no call waits for it. */
const FETCH_TIMEOUT_MS = 10_000;

/** The parts that all networks of a gateway share. */
export interface NetworkParts {
  readonly settings: Settings;
  readonly bounds: ProcessBounds;
  readonly specs: readonly MethodSpec[];
  /** Request units in place of those in schemas/methods, for all networks. */
  readonly unitsTable: UnitsTable;
  readonly checks: ReadonlyMap<string, ParamCheck>;
  readonly resultCheck: ResultCheck;
  readonly metrics: Metrics;
  readonly usage: UsageLedger;
  readonly log: Log;
  /** Parameters that are shown; undefined: none. */
  readonly shownParams: ShownParams | undefined;
  /** Budget of memory; undefined: upstream responses are not accounted. */
  readonly memory: MemoryBudget | undefined;
  /** Cache of responses; undefined: responses are not cached. */
  readonly cache: ResponseCache | undefined;
  /** Durable cache; undefined: results are in memory only. */
  readonly durable: DurableCache | undefined;
  /** Link to the other workers; undefined: the gateway has one worker. */
  readonly link: WorkerLink | undefined;
  /** Leases of the slots that the workers or the gateways share. */
  readonly leases: SlotLeases | undefined;
  /** Limiter of the rates of upstreams. */
  readonly limiter: RequestLimiter;
  readonly localChains: LocalChains;
  /** All open upstreams by identity. A rebuilt network reuses those of equal identity and adds new ones. */
  readonly openUpstreams: Map<string, Upstream>;
}

/** An active network, with what its registry does after it is built. */
export interface OpenNetwork extends Network {
  /** Moves the state that is shared with the previous network to the upstreams of this one. Never throws. */
  adoptSharedState(): void;
  /** A drained upstream has no part in the head, and no subscriptions. */
  followDrains(): void;
}

/**
 * Builds a network, once for each version of its file, and sends no request. In the active networks, it changes nothing but the
 * options of upstreams with `replaces: 'nothing'`.
 * @param previous the active network with the same slug, if any
 */
export function openNetwork(config: NetworkConfig, parts: NetworkParts, previous?: Network): OpenNetwork {
  const { settings, bounds: ofProcess, specs, unitsTable, link } = parts;
  const { slug, openMethods, developmentMethods } = config;
  const replaceable: ReplaceableConfig = config;
  const { chainId, development }: ChainConfig = config;
  const { bounds, units, witnesses } = replaceable;
  const log = parts.log.child({ network: slug });
  // The chain is the same, and subscribers depend on its heads.
  const reusable = previous && chainIdentity(previous.config) === chainIdentity(config) ? previous : undefined;
  const upstreams = openUpstreams(config, parts, log);
  const permitted = new PermittedUpstreams(replaceable, upstreams);
  const isDevelopment = isDevelopmentChain({ chainId, development, upstreams: replaceable.upstreams });
  const named = config.methods.map((name) => specOf(name, specs));
  const metrics = parts.metrics.networkMetrics(slug, replaceable.private?.fallbackAfterMs !== undefined);
  const publicAccess = openPublicAccess(config, replaceable.public, parts, previous);

  const headSources = permitted.sourcesOf(nodeMethods.blockByNumber);
  const peers = link && new ChainPeers(link, slug, chainId);
  const chain = reusable?.chain ?? new ChainPoller(headSources, metrics, { isDevelopment, log, peers });
  const head = (): bigint | undefined => chain.view.number;

  const differences = reusable?.differences ?? new Differences(parts.shownParams);
  const verify = verifyOptions(replaceable.verify);
  const levels = Object.values(verify.levels);
  const ofMethod = (method: string): MethodVerification => verificationOf(method, verify);
  const evidenceInFlight = new CoalescedCalls(chain);
  const verifier: Verifier = new Verifier({
    ...{ upstreams, permitted, chain, differences, metrics, log },
    hasAudits: levels.includes('observe'),
    request: (name, ...request) => requestEvidence(router, evidenceInFlight, specOf(name, specs), ...request),
    sendToOther: (...call) => sendToOther(router, ...call),
  });
  const { UPSTREAM_TIMEOUT_MS: timeoutMs, CALL_TIMEOUT_MS: callTimeoutMs } = settings;
  const routerOptions = {
    ...{ permitted, isDevelopment, metrics, verifier, chain, log, verificationOf: ofMethod, confirmNull: verify.nulls },
    transactions: replaceable.transactions,
    relays: replaceable.private,
    failsafe: new FailsafeTable(replaceable, upstreams, timeoutMs, callTimeoutMs),
    checkResult: parts.resultCheck,
    ...{ balance: replaceable.balance, maxLagBlocks: replaceable.maxLagBlocks },
    // Calls in progress still count towards the concurrency.
    slots: reusable?.router.slots ?? openSlots(ofProcess.networkConcurrency, ofProcess.networkQueueMax, metrics.queued),
  };
  const router: Router = new Router(upstreams, routerOptions, reusable?.router);

  const coalesced = new CoalescedCalls(chain, metrics.coalesced);
  const { durable } = parts;
  const cache = replaceable.cache === 'off' ? undefined : parts.cache;
  const cacheParts = { config, cache, durable, chain, metrics: parts.metrics };
  const final = openFinalChain(cacheParts, fetchBlockFrom(router), reusable?.final);
  const rangeLimits = reusable?.rangeLimits ?? new Map<string, RangeLimits<Upstream>>();
  const openRanges = (spec: MethodSpec, label: string): RangedMethod => {
    const limits = rangeLimits.get(spec.name) ?? new RangeLimits<Upstream>();
    rangeLimits.set(spec.name, limits);
    const network = `${slug}:${chainId}`;
    const count = parts.metrics.cacheMetric(slug, label);
    return {
      ...{ spec, limits, bounds, final, head, metrics },
      blockByNumber: specOf(nodeMethods.blockByNumber, specs),
      candidates: permitted.candidatesOf(spec.name) ?? router.all,
      cache: cache && final && new PartCache({ cache, durable, final, network, method: spec.name, count }),
    };
  };
  /** A call of a development node may change the chain, or remove blocks from it. */
  const afterCallOf = (spec: MethodSpec): (() => void) | undefined => {
    if (!changesChain(spec) && !rewritesChain(spec)) return undefined;
    return () => {
      coalesced.forgetAll();
      if (!rewritesChain(spec)) return;
      chain.rewritten();
      final?.drop();
    };
  };
  const openMethod = (spec: MethodSpec): NetworkMethod => {
    // Callers can name any method of a wildcard.
    const label = spec.openedBy ?? spec.name;
    const method = {
      spec,
      check: parts.checks.get(spec.name) ?? acceptAnyParams,
      checkBounds: compileBounds(spec, bounds, head),
      unitsOf: compileUnits(spec, [units, unitsTable], head),
      // The node's accounts and name, in place of those of the gateway.
      handler: developmentMethods.includes(spec.name) ? undefined : handlerOf(spec),
      isCoalescable: canCoalesce(spec),
      verification: ofMethod(spec.name),
      afterCall: afterCallOf(spec),
      metric: parts.metrics.callMetric(slug, label),
      cache: openMethodCache(cacheParts, final, spec),
      ranges: spec.splits === undefined ? undefined : openRanges(spec, label),
      usage: parts.usage.methodUsage(slug, label),
    };
    return { ...method, serve: layersOf(method, { config, chain }) };
  };

  const subscriptions = reusable?.subscriptions ?? openSubscriptions(slug, chain, router, parts, log);
  const followDrains = (): void => {
    const { level } = ofMethod(nodeMethods.blockByNumber);
    const hold = level === 'require' ? 'always' : level === 'enforce' ? 'near' : 'no';
    chain.replaceUpstreams(router.headSources.filter(isServing), router.all, { count: witnesses, hold });
    subscriptions.moveTo(sourcesIn(router));
  };
  return {
    ...{
      config,
      bounds,
      publicAccess,
      metrics,
      router,
      differences,
      coalesced,
      rangeLimits,
      chain,
      final,
      subscriptions,
    },
    methods: new ServedMethods(named, config, openMethod),
    otherMethods: openMethod(passThroughSpec('other')),
    otherUnits: compileOtherUnits([units, unitsTable]),
    unserved: new UnservedMethods(config, {
      folder: settings.NETWORKS_DIR,
      developmentMethods: developmentMethodsIn(settings),
      log,
    }),
    isVerified: Object.keys(verify.agree).length > 0 || levels.some((level) => isStronger(level, 'observe')),
    filters: reusable?.filters ?? openFilters(slug, subscriptions, parts),
    document: openDocument(
      slug,
      replaceable,
      [...openMethods.wildcards, ...developmentMethods.filter(isWildcard)],
      openMethods.except,
    ),
    use: new UseCount(),
    followDrains,
    adoptSharedState: () => {
      publicAccess?.limitConcurrency();
      final?.moveTo(fetchBlockFrom(router));
      followDrains();
    },
  };
}

function openPublicAccess(
  config: NetworkConfig,
  options: ReplaceableConfig['public'],
  parts: NetworkParts,
  previous: Network | undefined,
): PublicAccess | undefined {
  if (options === undefined) return undefined;
  // Each gateway has the slots of addresses.
  const { link, leases, memory } = parts;
  return new PublicAccess(config, options, previous?.publicAccess, { leases: link && leases, memory });
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
    subscriptionKinds.map((kind) => [kind, metrics.subscriptionMetrics(slug, kind)]),
  );
  return new NetworkSubscriptions({
    slug,
    chain,
    upstreams: sourcesIn(router),
    blockShape: specOf(nodeMethods.blockByHash, specs).shape,
    logs: specOf(nodeMethods.logs, specs),
    blockReceipts: specOf(nodeMethods.blockReceipts, specs),
    transactionByHash: specOf(nodeMethods.transactionByHash, specs),
    metrics: metricsByKind as Record<SubscriptionKind, SubscriptionMetrics>,
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
const blockByNumber = specOf(nodeMethods.blockByNumber, methods);

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
  { settings, bounds, metrics, localChains, memory, link, leases, limiter }: NetworkParts,
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
    shared: { name: `${chain.slug}/${fixed.name}`, limiter, leases },
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

type Document = Network['document'];

/** The OpenRPC document of a network, made and serialised at its first use. */
function openDocument(
  slug: string,
  { name, methods, baseUrls }: ReplaceableConfig,
  wildcards: readonly string[],
  except: readonly string[],
): Document {
  let document: ReturnType<Document> | undefined;
  const serialise = (): ReturnType<Document> => {
    const text = new OpenRpcText(documentOf({ name, methods, wildcards, except, baseUrls }));
    const responseAt = (origin = 'http://localhost'): LargeResponse => {
      const { parts } = text.with(serversAt(documentedUrls({ slug, baseUrls }, origin)));
      return { kind: 'large', parts, parse: () => jsonResponse(Buffer.concat(parts)).parse() };
    };
    return { text, responseAt };
  };
  return () => (document ??= serialise());
}

/** Fetches blocks without their transactions from the upstreams of a network, past the cache. */
function fetchBlockFrom(router: Router): FetchBlock {
  return async (block) => {
    const deadline = clock.now() + FETCH_TIMEOUT_MS;
    const response = parseResponse(await requestUpstreams(router, 'off', blockByNumber, [block, false], deadline));
    return response.kind === 'result' ? response.result : undefined;
  };
}
