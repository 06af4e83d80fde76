import type { AnswerCache } from './cache/answer-cache.ts';
import { blockInResult } from './cache/block-in-result.ts';
import type { MethodCache } from './cache/method-cache.ts';
import type { SharedAnswers } from './cache/shared-answers.ts';
import { openMethodCaches, type CacheParts } from './cache/open-method-caches.ts';
import { ToldBlock } from './cache/told-block.ts';
import type { Log } from './config/log.ts';
import type { Settings } from './config/settings.ts';
import type { CanonicalChain } from './heads/canonical-chain.ts';
import { NetworkHeads } from './heads/network-heads.ts';
import type { LocalChains } from './local-chain/local-chains.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { SubscriptionMeters } from './metrics/subscription-metrics.ts';
import { isDevelopmentChain } from './network/development-chain.ts';
import { InUse } from './network/in-use.ts';
import type { NetworkConfig, UpstreamConfig } from './network/network-config.ts';
import { judge } from './normalise/judge.ts';
import type { ServedMethod, ServedNetwork } from './served-network.ts';
import type { ParamCheck } from './spec/check-params.ts';
import { localAnswers } from './spec/local-answers.ts';
import { passThrough, type MethodSpec } from './spec/method-spec.ts';
import type { ResultCheck } from './spec/result-check.ts';
import { NetworkFilters } from './subscriptions/network-filters.ts';
import { NetworkSubscriptions } from './subscriptions/network-subscriptions.ts';
import { kinds, type Kind } from './subscriptions/read-wish.ts';
import { documentOf } from './spec/openrpc-document.ts';
import { callOf } from './upstream/asking.ts';
import { CallQueue } from './upstream/call-queue.ts';
import { jsonReply, parsed, type LargeReply } from './upstream/reply.ts';
import { SharedCalls } from './shared-calls.ts';
import { isShareable, movesChain } from './upstream/method-group.ts';
import { BatchingUpstream } from './upstream/batching-upstream.ts';
import { HttpUpstream } from './upstream/http-upstream.ts';
import type { Transport } from './upstream/transport.ts';
import { Upstream } from './upstream/upstream.ts';
import { Upstreams } from './upstream/upstreams.ts';
import type { UsageLedger } from './usage/usage-ledger.ts';
import { WebSocketUpstream } from './upstream/websocket-upstream.ts';

/** Nobody waits for it. */
const FINALIZED_MS = 10_000;

export interface ServeParts {
  readonly settings: Settings;
  readonly specs: readonly MethodSpec[];
  readonly checks: ReadonlyMap<string, ParamCheck>;
  readonly resultCheck: ResultCheck;
  readonly metrics: Metrics;
  readonly usage: UsageLedger;
  readonly log: Log;
  /** Undefined: no answers are kept. */
  readonly answers: AnswerCache | undefined;
  /** Of all gateways; undefined: none are shared. */
  readonly sharedAnswers: SharedAnswers | undefined;
  readonly localChains: LocalChains;
  /** Those that there are already: a network that is made anew keeps them. New ones are added. */
  readonly opened: Map<UpstreamConfig, Upstream>;
}

/**
 * Makes of a network's file all that its calls need. Asks nobody anything, and changes nothing of what is in force.
 * @param before the same network as its file was until now
 */
export function serveNetwork(config: NetworkConfig, parts: ServeParts, before?: ServedNetwork): ServedNetwork {
  const log = parts.log.child({ network: config.slug });
  const upstreams = config.upstreams.flatMap((upstream) => {
    const opened = parts.opened.get(upstream) ?? openUpstream(config, upstream, parts, log);
    if (opened !== undefined) parts.opened.set(upstream, opened);
    return opened ?? [];
  });
  const memory = before?.config.chainId === config.chainId ? before : undefined;
  // Its blocks are still the same, and callers may be told of them.
  const heads = memory?.heads ?? new NetworkHeads(upstreams, parts.metrics.heads.networkMeters(config.slug));
  const told = memory?.told ?? new ToldBlock();
  const network = new Upstreams(upstreams, {
    judge,
    check: parts.resultCheck,
    numberIn: (reply) => blockInResult(reply)?.number,
    onTold: (number, now) => {
      if (heads.head !== undefined) told.tell(number, heads.head.number, now);
    },
    confirmNull: config.confirmNull,
    isDevelopment: isDevelopmentChain(config),
    hedgeAfterMs: config.hedgeAfterMs,
    maxLagBlocks: config.maxLagBlocks,
    meters: parts.metrics.routing.ofNetwork(config.slug),
    heads,
    log,
    before: memory?.upstreams,
  });
  const subscriptions = memory?.subscriptions ?? openSubscriptions(config.slug, heads, network, parts);
  return {
    config,
    methods: servedMethods(config, parts, methodCaches(config, { chain: heads, told }, network, parts)),
    otherMethods: {
      meter: parts.metrics.calls.meter(config.slug, 'other'),
      usage: parts.usage.methodUsage(config.slug, 'other'),
    },
    upstreams: network,
    heads,
    told,
    subscriptions,
    filters: memory?.filters ?? new NetworkFilters({ subscriptions, logs: specOf('eth_getLogs', parts.specs) }),
    document: documentOnce(config),
    // Calls under way still count.
    queue: memory?.queue ?? openQueue(config.slug, parts),
    shared: new SharedCalls(network, parts.metrics.calls.sharedMeter(config.slug)),
    sockets: parts.metrics.socketMeters(config.slug),
    use: new InUse(),
  };
}

/** Has what it shares with the network as it was before go by it. Cannot fail. */
export function takeOver({ heads, subscriptions, upstreams }: ServedNetwork): void {
  heads.moveTo(upstreams.all);
  subscriptions.moveTo(upstreams);
}

function openQueue(slug: string, { settings, metrics }: ServeParts): CallQueue {
  return new CallQueue({
    concurrency: settings.NETWORK_CONCURRENCY,
    queueMax: settings.NETWORK_QUEUE_MAX,
    onWaiting: metrics.calls.queueMeter(slug),
  });
}

function methodCaches(
  config: NetworkConfig,
  known: Pick<CacheParts, 'chain' | 'told'>,
  upstreams: Upstreams,
  { answers, sharedAnswers: shared, specs, metrics }: ServeParts,
): (spec: MethodSpec) => MethodCache | undefined {
  if (answers === undefined) return () => undefined;
  const byNumber = specOf('eth_getBlockByNumber', specs);
  const finalized = async (): Promise<unknown> => {
    const reply = parsed(await upstreams.ask(callOf(byNumber, ['finalized', false], performance.now() + FINALIZED_MS)));
    return reply.kind === 'result' ? reply.result : undefined;
  };
  return openMethodCaches({ ...known, config, answers, shared, metrics: metrics.cache, finalized });
}

function openSubscriptions(
  slug: string,
  chain: CanonicalChain,
  upstreams: Upstreams,
  { specs, metrics, usage }: ServeParts,
): NetworkSubscriptions {
  const meters = Object.fromEntries(kinds.map((kind) => [kind, metrics.subscriptions.meters(slug, kind)]));
  return new NetworkSubscriptions({
    chain,
    upstreams,
    spec: (method) => specOf(method, specs),
    meters: meters as Record<Kind, SubscriptionMeters>,
    usage: usage.methodUsage(slug, 'eth_subscription'),
  });
}

function servedMethods(
  config: NetworkConfig,
  { specs, checks, metrics, usage }: ServeParts,
  cacheOf: (spec: MethodSpec) => MethodCache | undefined,
): Map<string, ServedMethod> {
  const results = localAnswers(config);
  return new Map(
    config.methods.map((name) => {
      const spec = specOf(name, specs);
      const check = checks.get(name) ?? anyParams;
      const localResult = spec.answer === 'local' ? results.get(name) : undefined;
      const meter = metrics.calls.meter(config.slug, name);
      const isOfSocket = spec.answer === 'socket';
      const [cache, used] = [cacheOf(spec), usage.methodUsage(config.slug, name)];
      const [isShared, moves] = [isShareable(spec), movesChain(spec)];
      return [name, { spec, check, localResult, isOfSocket, isShared, movesChain: moves, meter, cache, usage: used }];
    }),
  );
}

function documentOnce(config: NetworkConfig): () => LargeReply {
  let document: LargeReply | undefined;
  return () => (document ??= jsonReply(JSON.stringify(documentOf(config))));
}

function specOf(method: string, specs: readonly MethodSpec[]): MethodSpec {
  return specs.find(({ name }) => name === method) ?? passThrough(method);
}

/** Of methods that the spec does not know; that they are an array was seen before. */
const anyParams: ParamCheck = () => undefined;

function openUpstream(
  config: NetworkConfig,
  upstream: UpstreamConfig,
  { settings, metrics, localChains }: ServeParts,
  log: Log,
): Upstream | undefined {
  const { name } = upstream;
  const spawned = localChains.at(upstream);
  const url = upstream.url ?? spawned?.url;
  // A node of ours has both at the same port.
  const websocketUrl = upstream.websocketUrl ?? spawned?.url.replace(/^http/, 'ws');
  const { headers = {}, batch = false } = upstream;
  // They connect to nothing yet.
  const http = url === undefined ? undefined : openHttp({ url, headers, batch }, settings);
  const webSocket = websocketUrl === undefined ? undefined : openWebSocket({ websocketUrl, headers }, settings);
  const transport = http ?? webSocket;
  // A node that was not spawned.
  if (transport === undefined) return undefined;
  return new Upstream({
    name,
    chainId: config.chainId,
    transport,
    timeoutMs: upstream.timeoutMs ?? settings.UPSTREAM_TIMEOUT_MS,
    priority: upstream.priority,
    archive: upstream.archive,
    limits: upstream.limits,
    ...(webSocket !== undefined && { webSocket }),
    ...(spawned !== undefined && { starting: spawned.ready }),
    meters: metrics.upstreamMeters(config.slug, name),
    log,
  });
}

type TransportSettings = Pick<Settings, 'UPSTREAM_CONNECTIONS' | 'UPSTREAM_RESPONSE_MAX_BYTES'>;
type Headers = NonNullable<UpstreamConfig['headers']>;

/** How calls reach an upstream by itself. Undefined for a node that the gateway spawns. Connects to nothing yet. */
export function openTransport(
  { url, websocketUrl, headers = {}, batch = false }: UpstreamConfig,
  settings: TransportSettings,
): Transport | undefined {
  if (url !== undefined) return openHttp({ url, headers, batch }, settings);
  return websocketUrl === undefined ? undefined : openWebSocket({ websocketUrl, headers }, settings);
}

function openHttp(address: { url: string; headers: Headers; batch?: boolean }, settings: TransportSettings): Transport {
  const { UPSTREAM_CONNECTIONS: connections, UPSTREAM_RESPONSE_MAX_BYTES: responseMaxBytes } = settings;
  const http = new HttpUpstream({ ...address, connections, responseMaxBytes });
  return address.batch === true ? new BatchingUpstream(http) : http;
}

function openWebSocket(
  { websocketUrl: url, headers }: { websocketUrl: string; headers: Headers },
  { UPSTREAM_RESPONSE_MAX_BYTES: responseMaxBytes }: TransportSettings,
): WebSocketUpstream {
  return new WebSocketUpstream({ url, headers, responseMaxBytes });
}
