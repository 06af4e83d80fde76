import type { IncomingMessage } from 'node:http';
import { openImportedStore } from '../backup/former-files.ts';
import { ResponseCache } from '../cache/response-cache.ts';
import { openDurableCache } from '../cache/open-durable-cache.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { checkRedisOf } from '../redis/check-redis.ts';
import { RedisMemoryWatch } from '../redis/memory.ts';
import type { Log } from '../config/log.ts';
import { LogLevel } from '../config/log-level.ts';
import { processBounds, type ProcessBounds } from '../config/process-bounds.ts';
import { itemsIn } from '../config/parse-setting.ts';
import { isDevelopment, type Settings } from '../config/settings.ts';
import { adminRoutes } from './ops/admin-routes.ts';
import { explainCalls } from './ops/explain-route.ts';
import { listen, type Listener } from './http/http-server.ts';
import { currentConditions } from './ops/current-conditions.ts';
import { opsRoutes, type Readiness } from './ops/ops-routes.ts';
import { networkFacts, upstreamFacts } from './pages/network-facts.ts';
import { displayedConfiguration, pageRoutes } from './pages/page-routes.ts';
import { portRouter } from './http/port-router.ts';
import { createRequestIds } from './http/request-ids.ts';
import { ActiveDrains } from '../drains/active-drains.ts';
import { TrustedProxies } from './http/trusted-proxies.ts';
import { Authenticator } from '../auth/authenticate.ts';
import { KeyStore } from '../auth/stores/key-store.ts';
import { readAuth } from '../auth/tokens/read-auth.ts';
import { checkPublic } from '../auth/permissions/public-permissions.ts';
import { HistoryStore } from '../history/history-store.ts';
import { RejectedBodies } from '../limits/rejected-bodies.ts';
import { openLimiter } from '../limits/open-limiter.ts';
import type { Holder } from '../memory/holder.ts';
import { MemoryGuard } from '../memory/memory-guard.ts';
import { MemoryBudget } from '../memory/memory-budget.ts';
import { callsReader, differencesReader, eventsReader } from './ops/machine-lists.ts';
import { MachineMetrics } from './ops/machine-metrics.ts';
import { Metrics } from '../metrics/metrics.ts';
import type { HistoryTotals } from '../metrics/history.ts';
import { checkFiles, readFolder } from '../network-files/load-networks.ts';
import { readUnits } from '../network-files/read-units.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { NetworkRegistry } from '../networks/registry.ts';
import { compileParamChecks } from '../spec/check-params.ts';
import { developmentMethodsIn, methodFacts } from '../spec/method-facts.ts';
import { compileResultCheck } from '../spec/result-check.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import type { LocalChains } from '../networks/local-chains.ts';
import { UpstreamConditions } from '../upstreams/upstream-conditions.ts';
import { summariseUpstreams } from '../upstreams/upstream-status.ts';
import { EventList, MAX_EVENTS, type GatewayEvent } from '../observability/event-list.ts';
import { sendEvents } from '../observability/event-webhook.ts';
import { RecentCalls } from '../observability/recent-calls.ts';
import { ShownParams } from '../observability/shown-params.ts';
import { openTracing } from '../observability/tracing.ts';
import { UsageLedger } from '../usage/usage-ledger.ts';
import { UsageStore } from '../usage/usage-store.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { WorkerSlots } from '../workers/worker-slots.ts';
import { WebSocketUpgrades } from './websocket/upgrade.ts';

const REDIS_CHECK_TIMEOUT_MS = 2_000;
const REDIS_OPEN_TIMEOUT_MS = 500;

/** A running gateway. */
export interface Gateway {
  readonly port: number;
  readonly opsPort: number | undefined;
  /** The active networks; reloads change them. */
  readonly networks: readonly NetworkConfig[];
  readonly localChains: LocalChains;
  readonly keys: KeyStore;
  /** Reads the network files again, as after a change. */
  reload(): Promise<void>;
  /**
   * Makes /readyz return 503 at once, and accepts calls for another `delayMs`. Then completes calls in progress within
   * DRAIN_TIMEOUT_MS, and closes everything.
   */
  drain(delayMs?: number): Promise<void>;
}

/**
 * Constructs every part once, passes it its collaborators, and listens. Does not wait for upstreams, and for a Redis
 * that does not respond at most some seconds.
 * @param env values for `${NAME}` in network files
 * @param link undefined: this process is the whole gateway
 * @param bounds lower ones in tests
 * @throws NetworkFilesError, SettingsError, UnsuitableRedis, StoreError, or the system's error about the listening address
 */
export async function openGateway(
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
  link?: WorkerLink,
  bounds: ProcessBounds = processBounds,
): Promise<Gateway> {
  // Before the first child of the log.
  const logLevel = new LogLevel(log, (level) => {
    link?.notify('log-level', level);
  });
  link?.on('log-level', (level: string) => {
    logLevel.apply(level);
  });
  link?.on('current-log-level', () => logLevel.current);
  const files = {
    folder: settings.NETWORKS_DIR,
    ...methodFacts,
    checkPublic,
    developmentMethods: developmentMethodsIn(settings),
    callTimeoutMs: settings.CALL_TIMEOUT_MS,
    env,
  };
  const content = readFolder(files.folder);
  const configs = checkFiles(content, files);
  const auth = readAuth(content);
  const unitsTable = readUnits(settings.UNITS_FILE, configs, files);
  const checks = compileParamChecks();
  const resultCheck = compileResultCheck();
  await checkRedisOf(settings, REDIS_CHECK_TIMEOUT_MS, log);
  const metrics = new Metrics();
  const machineMetrics = new MachineMetrics(metrics.registry, link);
  metrics.watchWorkers(() => machineMetrics.workers);
  const store = await openImportedStore(settings, log, REDIS_OPEN_TIMEOUT_MS);
  const keys = new KeyStore(store, log);
  const leases = link && new WorkerSlots(link);
  const authenticator = new Authenticator(keys, {
    keyStaleMaxS: settings.KEY_STALE_MAX_S,
    bounds,
    allowDevelopmentKeys: isDevelopment(settings),
    keyHeaders: settings.KEY_HEADERS === 'on',
    auth,
    leases,
    log,
  });
  const limiter = openLimiter(settings, log, link);
  metrics.watchKeys(() => ({ isUp: store.isUp && !store.isFull, counts: authenticator.counts }));
  metrics.watchLimits(() => limiter.counts);
  metrics.watchPublic(() => limiter.public);
  if (settings.METRICS_PER_KEY === 'on') metrics.watchQuotas(() => limiter.quotas());
  const usageStore = new UsageStore(store, log);
  const usage = new UsageLedger(usageStore, settings.METRICS_PER_KEY === 'on' ? metrics.keyMetric() : undefined);
  const isFirstWorker = (): boolean => link?.isFirst !== false;
  const historyStore =
    settings.STATUS_PAGE === 'off' ? undefined : new HistoryStore(store, metrics.history, log, isFirstWorker);
  const durable = openDurableCache(settings, metrics, log);
  // The first calls find a reachable Redis connected. An unreachable one does not prevent the start.
  await Promise.all([store.waitUntilReady(REDIS_OPEN_TIMEOUT_MS), limiter.waitUntilReady(REDIS_OPEN_TIMEOUT_MS)]);
  const limitMb = settings.MEMORY_LIMIT_MB;
  const guard = new MemoryGuard(limitMb === undefined ? undefined : limitMb * 2 ** 20);
  const memory = new MemoryBudget({ requestsMax: bounds.requestsMax, maxBytes: settings.BODIES_MAX_BYTES, guard });
  metrics.watchMemory(() => memory);
  const cache = settings.CACHE_MAX_BYTES > 0 ? new ResponseCache(settings.CACHE_MAX_BYTES) : undefined;
  if (cache !== undefined) metrics.watchCache(() => cache.counts);
  const shownParams = new ShownParams(settings.RECENT_CALLS_PARAMS);
  const networks = new NetworkRegistry(
    {
      shownParams,
      settings,
      bounds,
      specs,
      unitsTable,
      checks,
      resultCheck,
      metrics,
      usage,
      log,
      memory,
      cache,
      durable,
      link,
      leases,
    },
    files,
  );
  const tellDrained = async (): Promise<unknown> => link?.requestOthers('drains', undefined);
  const drains = new ActiveDrains(store, () => networks.finder.all, log, tellDrained);
  link?.on('drains', () => drains.follow());
  const closeParts = async (): Promise<void> => {
    authenticator.close();
    const stores = [limiter.close(), usage.close(), historyStore?.close(), durable?.close()];
    await Promise.all([networks.close(), drains.close(), ...stores]);
    await store.close();
  };
  try {
    await networks.open(configs, content);
    await networks.join();
    // Equal calls have the same hash in all workers. Before `join`, the primary sends no response: a request would never end.
    const secret = (await link?.request('primary', 'secret', undefined)) as Uint8Array | undefined;
    if (secret !== undefined) shownParams.secret = secret;
    // A worker that replaces another one takes the level of the others, which an operator may have set.
    const [level] = (await link?.requestOthers('current-log-level', undefined)) ?? [];
    if (typeof level === 'string' && level !== logLevel.current) logLevel.apply(level);
    await drains.open();
  } catch (error) {
    await closeParts();
    throw error;
  }

  const redisMemory = store.readMemory && new RedisMemoryWatch(store.readMemory, log, isFirstWorker);
  if (redisMemory !== undefined) metrics.watchRedis(() => redisMemory.usedPart);
  let isDraining = false;
  const listeners: Listener[] = [];
  const nextRequestId = createRequestIds();
  const hasOpsPort = settings.OPS_PORT !== undefined;
  const conditions = new UpstreamConditions();
  const reasonNotReady = (): string | undefined => {
    if (isDraining) return 'the gateway stops';
    if (store.isFull) return 'the disk of DATA_DIR is full';
    const { all } = networks.finder;
    const servesWithoutKey = all.length > 0 && all.every(({ publicAccess }) => publicAccess !== undefined);
    if (servesWithoutKey || authenticator.canCheckKeys) return undefined;
    return 'no key can be checked: Redis is unavailable, and no key was checked in the last KEY_STALE_MAX_S';
  };
  const readiness = (): Readiness => ({
    reason: reasonNotReady(),
    details: {
      draining: isDraining,
      keyStore: { kind: store.kind, available: store.isUp && !store.isFull },
      configuration: hasOpsPort ? networks.configuration : displayedConfiguration(networks.configuration, true),
      networks: Object.fromEntries(
        networks.finder.all.map((network) => [network.config.slug, summariseUpstreams(conditions.of(network))]),
      ),
    },
  });
  const ops = opsRoutes(machineMetrics, readiness, link !== undefined);
  const proxies = new TrustedProxies(itemsIn(settings.TRUSTED_PROXIES));
  const events = new EventList(log);
  const sources = {
    networks: () => networks.finder.all,
    upstreams: conditions,
    store,
    memoryState: () => guard.state,
    configuration: () => networks.configuration,
  };
  events.watch(() => currentConditions(sources));
  const readEvents = eventsReader(events, link);
  const { EVENTS_WEBHOOK_URL: url, EVENTS_WEBHOOK_SECRET: secret } = settings;
  const stopping = new AbortController();
  const read = (): Promise<readonly GatewayEvent[]> => readEvents({}, MAX_EVENTS);
  if (url !== undefined) void sendEvents({ url, secret, read, isFirst: isFirstWorker, log }, stopping.signal);
  const adminTokens = adminTokensOf(settings);
  const recentCalls = adminTokens.length > 0 ? new RecentCalls(shownParams) : undefined;
  const requestOptions = {
    networks: networks.finder,
    authenticator,
    limiter,
    proxies,
    metrics,
    log,
    accessLog: settings.ACCESS_LOG === 'on' ? log : undefined,
    memory,
    callTimeoutMs: settings.CALL_TIMEOUT_MS,
    tracing: openTracing(),
    recentCalls,
    batch: {
      maxItems: settings.BATCH_MAX_ITEMS,
      maxValues: bounds.callMaxValues,
      maxResponseBytes: bounds.batchResponseMaxBytes,
      concurrency: bounds.batchConcurrency,
    },
  };
  const networksLink = { path: '/', title: 'Networks' };
  const methodsLink = { path: '/docs', title: 'Methods' };
  const hasOpsPages =
    settings.STATUS_PAGE === 'ops' || (settings.STATUS_PAGE === 'public' && recentCalls !== undefined);
  // With the admin API, the overview is at the root.
  const adminLinks = [
    { path: '/', title: 'Overview' },
    ...(hasOpsPages ? [{ path: '/networks', title: 'Networks' }] : []),
    methodsLink,
    { path: '/keys', title: 'Keys' },
    { path: '/usage', title: 'Usage' },
    { path: '/upstreams', title: 'Upstreams' },
    { path: '/calls', title: 'Calls' },
    { path: '/events', title: 'Events' },
  ];
  const opsLinks = recentCalls !== undefined ? adminLinks : hasOpsPages ? [networksLink] : [];
  if (recentCalls !== undefined) {
    const explain = explainCalls({ ...requestOptions, nextRequestId });
    const onRejected = metrics.adminRejected.bind(metrics);
    const { DATA_DIR: dataDir } = settings;
    const stores = { keys, usage: usageStore, dataDir, drains, limiter };
    const active = {
      networks: () => networks.finder.all.map(({ config }) => networkFacts(config)),
      upstreams: () => networks.finder.all.flatMap((network) => upstreamFacts(network, conditions.of(network))),
      port: () => listeners[0]?.port ?? 0,
      lists: { paramsMode: shownParams.mode, calls: callsReader(recentCalls, link), events: readEvents },
      ...{ events, links: opsLinks },
    };
    ops.use(adminRoutes({ tokens: adminTokens, proxies, onRejected, ...stores, ...active, log, explain, logLevel }));
  }
  const rejectedBodies = new RejectedBodies();
  const holderOf = (request: IncomingMessage): Holder => memory.addressHolder(proxies.addressGroupOf(request));
  const routeOptions = {
    ...requestOptions,
    holderOf,
    rejectedBodies,
    nextRequestId,
    hasPages: settings.STATUS_PAGE === 'public',
    bodyMaxBytes: settings.BODY_MAX_BYTES,
    compressOverBytes: settings.COMPRESS_ANSWERS_OVER_BYTES,
  };
  const webSockets = new WebSocketUpgrades({
    ...requestOptions,
    messageMaxBytes: settings.BODY_MAX_BYTES,
    bounds,
    link,
  });
  guard.addRelief((owner) => {
    cache?.shrink();
    if (owner === undefined) return;
    log.warn({ owner }, 'memory is short: what the heaviest owner has open is closed');
    webSockets.closeThoseOf(owner, 'memory-pressure');
    for (const { filters } of networks.finder.all) filters.removeThoseOf(owner);
  });
  networks.onChange = (active) => {
    authenticator.configure(active);
    drains.apply();
    webSockets.followNetworks();
    events.add({ kind: 'network-files', reason: 'reloaded' });
  };
  const { HOST, PORT, REQUEST_TIMEOUT_MS, CONNECTIONS_MAX: connectionsMax } = settings;
  const connectionOptions = { memory, holderOf, rejectedBodies, connectionsMax };
  const statusPage = settings.STATUS_PAGE;
  const pageOptions = {
    finder: networks.finder,
    proxies,
    conditions,
    history: metrics.history,
    differencesOf: differencesReader(
      (slug) => networks.finder.all.find(({ config }) => config.slug === slug)?.differences,
      link,
    ),
    historyStore,
    configuration: () => networks.configuration,
  };
  const pages = pageRoutes({
    ...pageOptions,
    hasStatus: statusPage === 'public',
    hasDocs: true,
    links: statusPage === 'public' ? [networksLink, methodsLink] : [methodsLink],
    port: () => undefined,
  });
  if (link !== undefined) link.on('history', () => [link.id, metrics.history.totals()]);
  const readOthers =
    link && (async () => new Map((await link.requestOthers('history', undefined)) as [number, HistoryTotals][]));
  if (historyStore !== undefined) metrics.history.start(() => metrics.routing.active(), readOthers);
  const close = async (delayMs?: number): Promise<void> => {
    metrics.history.stop();
    events.close();
    stopping.abort();
    redisMemory?.close();
    // In this order, so that the ops port reports 503 until the last call has ended.
    const [main, ops] = listeners;
    await main?.drain(settings.DRAIN_TIMEOUT_MS, delayMs);
    await ops?.drain(settings.DRAIN_TIMEOUT_MS);
    guard.close();
    await closeParts();
  };
  try {
    const main = { ...routeOptions, hasCalls: true, ops: hasOpsPort ? undefined : ops, pages };
    const address = { name: 'main', host: HOST, port: PORT, ports: link?.ports } as const;
    const listener = await listen(portRouter(main), address, REQUEST_TIMEOUT_MS, connectionOptions, webSockets);
    listeners.push(listener);
    let opsPort: number | undefined;
    if (settings.OPS_PORT !== undefined) {
      const port = (): number => listener.port;
      const opsPages = pageRoutes({ ...pageOptions, hasStatus: hasOpsPages, hasDocs: false, links: opsLinks, port });
      const router = portRouter({ ...routeOptions, hasCalls: false, ops, pages: opsPages });
      const opsAddress = { ...address, name: 'ops', host: settings.OPS_HOST ?? HOST, port: settings.OPS_PORT } as const;
      const opsListener = await listen(router, opsAddress, 30_000, connectionOptions);
      opsPort = opsListener.port;
      listeners.push(opsListener);
    }
    // Of several workers, which begin within seconds, one.
    if (isFirstWorker()) events.add({ kind: 'gateway', reason: 'started' });
    if (guard.isBaselineHigh)
      log.warn(
        { limitMb: guard.limitBytes / 2 ** 20 },
        'more than half of the memory limit is used at start: raise it',
      );
    return {
      port: listener.port,
      opsPort,
      get networks() {
        return networks.finder.all.map(({ config }) => config);
      },
      localChains: networks.localChains,
      keys,
      reload: () => networks.reload(true),
      drain: (delayMs) => {
        isDraining = true;
        return close(delayMs);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
