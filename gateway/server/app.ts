import type { IncomingMessage } from 'node:http';
import { openImportedStore } from '../backup/former-files.ts';
import { ResponseCache } from '../cache/response-cache.ts';
import { openDurableCache } from '../cache/open-durable-cache.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { checkRedisOf } from '../redis/check-redis.ts';
import { RedisMemoryWatch } from '../redis/memory.ts';
import { causeOf, type Log } from '../config/log.ts';
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
import type { ConsoleLink } from './pages/read-page.ts';
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
import type { Account } from '../admission/account.ts';
import { MemoryGuard } from '../memory/memory-guard.ts';
import { MemoryBudget } from '../memory/memory-budget.ts';
import { pressures } from '../memory/memory-pressure.ts';
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
import { summariseUpstreams, UpstreamConditions } from '../upstreams/upstream-status.ts';
import { EventList, MAX_EVENTS, type GatewayEvent } from '../observability/event-list.ts';
import { sendEvents } from '../observability/event-webhook.ts';
import { RecentCalls } from '../observability/recent-calls.ts';
import { ShownParams } from '../observability/shown-params.ts';
import { startSpanExport } from '../observability/span-export.ts';
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

/** Parts that a room gets, with those that it has opened. */
type Opened<Open extends (parts: never) => unknown> = Parameters<Open>[0] & Awaited<ReturnType<Open>>;

/** Parts that every room gets. */
interface GatewayBase {
  readonly settings: Settings;
  /** Values for `${NAME}` in network files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Link to the other workers; undefined: this process is the whole gateway. */
  readonly link: WorkerLink | undefined;
  readonly bounds: ProcessBounds;
  /** Whether the worker is the one of several that does what all need only once. */
  readonly isFirstWorker: () => boolean;
  /** Adds what closes a part, or several parts together. The last ones are closed first. An error does not stop the rest. */
  readonly onClose: (...together: (() => unknown)[]) => void;
}

/**
 * Opens the rooms of the gateway in their order, and listens. Each gets what those before it have opened. Does not wait for
 * upstreams, and for a Redis that does not respond at most some seconds.
 * @param bounds lower ones in tests
 * @throws NetworkFilesError, SettingsError, UnsuitableRedis, StoreError, or the system's error about the listening address
 */
export async function openGateway(
  settings: Settings,
  env: GatewayBase['env'],
  log: Log,
  link?: WorkerLink,
  bounds: ProcessBounds = processBounds,
): Promise<Gateway> {
  const closers: (() => unknown)[][] = [];
  const closeAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    const closeOne = async (closePart: () => unknown): Promise<void> => {
      try {
        await closePart();
      } catch (error) {
        failures.push(error);
        log.error(causeOf(error), 'a part of the gateway cannot be closed');
      }
    };
    for (const together of closers.reverse()) await Promise.all(together.map(closeOne));
    if (failures.length > 0) throw failures[0];
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeAll());
  const isFirstWorker = (): boolean => link?.isFirst !== false;
  const onClose = (...together: (() => unknown)[]): void => void closers.push(together);
  const base = { settings, env, log, link, bounds, isFirstWorker, onClose };
  try {
    // Before the first child of the log.
    const withLog = { ...base, logLevel: openLogLevel(base) };
    const withFiles = { ...withLog, ...readFiles(withLog) };
    await checkRedisOf(settings, REDIS_CHECK_TIMEOUT_MS, log);
    const withState = { ...withFiles, ...(await openState(withFiles)) };
    const withMemory = { ...withState, ...openMemory(withState) };
    const withNetworks = { ...withMemory, ...(await openNetworks(withMemory)) };
    const gateway = { ...withNetworks, ...openOperations(withNetworks) };
    const ports = await openPorts(gateway);
    if (gateway.guard.isBaselineHigh)
      log.warn(
        { limitMb: gateway.guard.limitBytes / 2 ** 20 },
        'more than half of the memory limit is used at start: raise it',
      );
    // Of several workers, which begin within seconds, one.
    if (isFirstWorker()) gateway.events.add({ kind: 'gateway', reason: 'started' });
    const { networks, stop } = gateway;
    return {
      ...ports,
      get networks() {
        return networks.finder.all.map(({ config }) => config);
      },
      localChains: networks.localChains,
      keys: gateway.keys,
      reload: () => networks.reload(true),
      drain: (delayMs) => {
        stop.isDraining = true;
        stop.delayMs = delayMs;
        return close();
      },
    };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

function openLogLevel({ log, link }: GatewayBase): LogLevel {
  const logLevel = new LogLevel(log, (level) => {
    link?.notify('log-level', level, 'primary');
  });
  link?.on('log-level', (level: string) => {
    logLevel.apply(level);
  });
  return logLevel;
}

function readFiles({ settings, env }: GatewayBase) {
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
  return { files, content, configs, auth, unitsTable };
}

/** Opens the store and what is in it, or is counted: keys, limits, usage, history. */
async function openState({ settings, log, link, bounds, auth, isFirstWorker, onClose }: Opened<typeof readFiles>) {
  const metrics = new Metrics();
  const machineMetrics = new MachineMetrics(metrics.registry, link);
  metrics.watchValue('gatehouse_workers', () => machineMetrics.workers.running);
  metrics.watchCounts('gatehouse_worker_ends_total', () => machineMetrics.workers.ends);
  const store = await openImportedStore(settings, log, REDIS_OPEN_TIMEOUT_MS);
  onClose(() => store.close());
  metrics.watchValue('gatehouse_key_store_up', () => Number(store.isUp && !store.isFull));
  const keys = new KeyStore(store, log);
  const limiter = openLimiter(settings, log, link);
  onClose(() => limiter.close());
  const leases = link === undefined ? limiter.slots : new WorkerSlots(link, settings.REDIS_URL !== undefined);
  const authenticator = new Authenticator(keys, {
    keyStaleMaxS: settings.KEY_STALE_MAX_S,
    allowDevelopmentKeys: isDevelopment(settings),
    keyHeaders: settings.KEY_HEADERS === 'on',
    ...{ bounds, auth, leases, isFirstWorker, log },
  });
  onClose(() => {
    authenticator.close();
  });
  metrics.watchCounts('gatehouse_key_lookups_total', () => authenticator.counts);
  const durable = openDurableCache(settings, metrics, log);
  metrics.watchCounts('gatehouse_limit_checks_total', () => limiter.counts);
  metrics.watchCounts('gatehouse_public_charges_total', () => limiter.public.counts);
  metrics.watchValue('gatehouse_public_addresses', () => limiter.public.size);
  const hasKeyMetrics = settings.METRICS_PER_KEY === 'on';
  if (hasKeyMetrics) metrics.watchQuotas(() => limiter.quotas());
  const usageStore = new UsageStore(store, log);
  const usage = new UsageLedger(usageStore, hasKeyMetrics ? metrics.keyMetric() : undefined);
  const hasHistory = settings.STATUS_PAGE !== 'off';
  const historyStore = hasHistory ? new HistoryStore(store, metrics.history, log, isFirstWorker) : undefined;
  onClose(
    () => usage.close(),
    () => historyStore?.close(),
    () => durable?.close(),
  );
  // The first calls find a reachable Redis connected. An unreachable one does not prevent the start.
  await store.waitUntilReady(REDIS_OPEN_TIMEOUT_MS);
  return {
    metrics,
    machineMetrics,
    store,
    keys,
    leases,
    authenticator,
    limiter,
    usageStore,
    usage,
    historyStore,
    durable,
  };
}

function openMemory({ settings, bounds, metrics, onClose }: Opened<typeof openState>) {
  const limitMb = settings.MEMORY_LIMIT_MB;
  const guard = new MemoryGuard(limitMb === undefined ? undefined : limitMb * 2 ** 20);
  onClose(() => {
    guard.close();
  });
  const memory = new MemoryBudget({ requestsMax: bounds.requestsMax, maxBytes: settings.BODIES_MAX_BYTES, guard });
  metrics.watchValue('gatehouse_memory_pressure', () => pressures.indexOf(guard.state));
  metrics.watchValue('gatehouse_buffered_bytes', () => memory.bytes);
  metrics.watchCounts('gatehouse_memory_rejections_total', () => memory.counts);
  const cache = settings.CACHE_MAX_BYTES > 0 ? new ResponseCache(settings.CACHE_MAX_BYTES) : undefined;
  if (cache !== undefined) {
    metrics.watchValue('gatehouse_cache_entries', () => cache.counts.entries);
    metrics.watchValue('gatehouse_cache_bytes', () => cache.counts.bytes);
  }
  return { guard, memory, cache };
}

/** Opens the networks of the files, and joins the other workers. */
async function openNetworks(parts: Opened<typeof openMemory> & { readonly logLevel: LogLevel }) {
  const { settings, log, link, files, configs, content, store, limiter, onClose } = parts;
  const shownParams = new ShownParams(settings.RECENT_CALLS_PARAMS);
  const compiled = { specs, checks: compileParamChecks(), resultCheck: compileResultCheck() };
  const networks = new NetworkRegistry({ ...parts, ...compiled, shownParams }, files);
  onClose(() => networks.close());
  const announceDrains = async (): Promise<unknown> => link?.requestOthers('drains', undefined);
  const drains = new ActiveDrains(store, () => networks.finder.all, log, announceDrains);
  onClose(() => drains.close());
  link?.on('drains', () => drains.follow());
  await networks.open(configs, content);
  await networks.join();
  // The primary has the connection of several workers, and responds from now on.
  await limiter.waitUntilReady(REDIS_OPEN_TIMEOUT_MS);
  // Equal calls have the same hash in all workers. Before `join`, the primary sends no response: a request would never end.
  const secret = (await link?.request('primary', 'secret', undefined)) as Uint8Array | undefined;
  if (secret !== undefined) shownParams.secret = secret;
  await drains.open();
  return { networks, drains, shownParams };
}

/** Opens what operators see: conditions of upstreams, events, history, recent calls, readiness. */
function openOperations(parts: Opened<typeof openNetworks>) {
  const { settings, log, link, metrics, store, networks, guard, historyStore, authenticator, isFirstWorker, onClose } =
    parts;
  const redisMemory = store.readMemory && new RedisMemoryWatch(store.readMemory, log, isFirstWorker);
  onClose(() => redisMemory?.close());
  if (redisMemory !== undefined) metrics.watchValue('gatehouse_redis_memory_used_ratio', () => redisMemory.usedPart);
  const conditions = new UpstreamConditions();
  const events = new EventList(log);
  onClose(() => {
    events.close();
  });
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
  onClose(() => {
    stopping.abort();
  });
  if (link !== undefined) link.on('history', () => [link.id, metrics.history.totals()]);
  const readOthers =
    link && (async () => new Map((await link.requestOthers('history', undefined)) as [number, HistoryTotals][]));
  if (historyStore !== undefined) metrics.history.start(() => metrics.activeUpstreams(), readOthers);
  onClose(() => {
    metrics.history.stop();
  });
  const adminTokens = adminTokensOf(settings);
  const recentCalls = adminTokens.length > 0 ? new RecentCalls(parts.shownParams) : undefined;
  const stop: { isDraining: boolean; delayMs?: number | undefined } = { isDraining: false };
  const reasonNotReady = (): string | undefined => {
    if (stop.isDraining) return 'the gateway stops';
    if (store.isFull) return 'the disk of DATA_DIR is full';
    const { all } = networks.finder;
    const servesWithoutKey = all.length > 0 && all.every(({ publicAccess }) => publicAccess !== undefined);
    if (servesWithoutKey || authenticator.canCheckKeys) return undefined;
    return 'no key can be checked: Redis is unavailable, and no key was checked in the last KEY_STALE_MAX_S';
  };
  const readiness = (): Readiness => ({
    reason: reasonNotReady(),
    details: {
      draining: stop.isDraining,
      keyStore: { kind: store.kind, available: store.isUp && !store.isFull },
      configuration:
        settings.OPS_PORT === undefined ? displayedConfiguration(networks.configuration, true) : networks.configuration,
      networks: Object.fromEntries(
        networks.finder.all.map((network) => [network.config.slug, summariseUpstreams(conditions.of(network))]),
      ),
    },
  });
  return { conditions, events, readEvents, adminTokens, recentCalls, readiness, stop };
}

/** Opens the routes of the main port and of the ops port, and listens. */
async function openPorts(parts: Opened<typeof openOperations>) {
  const { settings, bounds, log, link, metrics, memory, guard, cache, networks, conditions, events, recentCalls } =
    parts;
  const { authenticator, limiter, historyStore, drains, stop, onClose } = parts;
  const { HOST, PORT, OPS_PORT, REQUEST_TIMEOUT_MS, CONNECTIONS_MAX, STATUS_PAGE } = settings;
  const endSpanExport = await startSpanExport(settings, log);
  onClose(() => endSpanExport?.());
  const nextRequestId = createRequestIds();
  const proxies = new TrustedProxies(itemsIn(settings.TRUSTED_PROXIES));
  const requestOptions = {
    ...{ authenticator, limiter, proxies, metrics, log, memory, recentCalls },
    networks: networks.finder,
    accessLog: settings.ACCESS_LOG === 'on' ? log : undefined,
    callTimeoutMs: settings.CALL_TIMEOUT_MS,
    tracing: openTracing(),
    batch: {
      maxItems: settings.BATCH_MAX_ITEMS,
      maxValues: bounds.callMaxValues,
      maxResponseBytes: bounds.batchResponseMaxBytes,
      concurrency: bounds.batchConcurrency,
    },
  };
  const rejectedBodies = new RejectedBodies();
  const accountOf = (request: IncomingMessage): Account => memory.addressAccount(proxies.addressGroupOf(request));
  const routeOptions = {
    ...{ ...requestOptions, accountOf, rejectedBodies, nextRequestId },
    hasPages: STATUS_PAGE === 'public',
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

  const ops = opsRoutes(parts.machineMetrics, parts.readiness, link !== undefined);
  const hasOpsPages = STATUS_PAGE === 'ops' || (STATUS_PAGE === 'public' && recentCalls !== undefined);
  const opsLinks = linksOf(hasOpsPages, recentCalls !== undefined);
  const mainPort = (): number => listeners[0]?.port ?? 0;
  if (recentCalls !== undefined) {
    const lists = {
      paramsMode: parts.shownParams.mode,
      calls: callsReader(recentCalls, link),
      events: parts.readEvents,
    };
    const admin = {
      ...{ keys: parts.keys, log, logLevel: parts.logLevel, limiter, drains, events, proxies, lists },
      ...{ links: opsLinks, port: mainPort, dataDir: settings.DATA_DIR, usage: parts.usageStore },
      tokens: parts.adminTokens,
      plans: () => authenticator.plans,
      onRejected: metrics.adminRejected.bind(metrics),
      explain: explainCalls({ ...requestOptions, nextRequestId }),
      networks: () => networks.finder.all.map(({ config }) => networkFacts(config)),
      upstreams: () => networks.finder.all.flatMap((network) => upstreamFacts(network, conditions.of(network))),
    };
    ops.use(adminRoutes(admin));
  }
  const pageOptions = {
    ...{ proxies, conditions, historyStore, finder: networks.finder, history: metrics.history },
    differencesOf: differencesReader((slug) => networks.finder.get(slug)?.differences, link),
    configuration: () => networks.configuration,
  };
  const hasStatus = STATUS_PAGE === 'public';
  const links = hasStatus ? [networksLink, methodsLink] : [methodsLink];
  const pages = pageRoutes({ ...pageOptions, hasStatus, hasDocs: true, links, port: () => undefined });

  const listeners: Listener[] = [];
  onClose(async () => {
    // In this order, so that the ops port reports 503 until the last call has ended.
    for (const [index, listener] of listeners.entries())
      await listener.drain(settings.DRAIN_TIMEOUT_MS, index === 0 ? stop.delayMs : undefined);
  });
  const connections = { memory, accountOf, rejectedBodies, connectionsMax: CONNECTIONS_MAX };
  const router = portRouter({ ...routeOptions, hasCalls: true, ops: OPS_PORT === undefined ? ops : undefined, pages });
  const address = { name: 'main', host: HOST, port: PORT, ports: link?.ports } as const;
  listeners.push(await listen(router, address, REQUEST_TIMEOUT_MS, connections, webSockets));
  if (OPS_PORT !== undefined) {
    const opsOptions = { ...pageOptions, hasStatus: hasOpsPages, hasDocs: false, links: opsLinks, port: mainPort };
    const opsRouter = portRouter({ ...routeOptions, hasCalls: false, ops, pages: pageRoutes(opsOptions) });
    const opsAddress = { ...address, name: 'ops', host: settings.OPS_HOST ?? HOST, port: OPS_PORT } as const;
    listeners.push(await listen(opsRouter, opsAddress, 30_000, connections));
  }
  return { port: mainPort(), opsPort: listeners[1]?.port };
}

const networksLink = { path: '/', title: 'Networks' };
const methodsLink = { path: '/docs', title: 'Methods' };

/** Links to the pages of the ops port. With the admin API, the overview is at the root. */
function linksOf(hasStatus: boolean, hasAdmin: boolean): ConsoleLink[] {
  if (!hasAdmin) return hasStatus ? [networksLink] : [];
  return [
    { path: '/', title: 'Overview' },
    ...(hasStatus ? [{ path: '/networks', title: 'Networks' }] : []),
    methodsLink,
    { path: '/keys', title: 'Keys' },
    { path: '/usage', title: 'Usage' },
    { path: '/upstreams', title: 'Upstreams' },
    { path: '/calls', title: 'Calls' },
    { path: '/events', title: 'Events' },
  ];
}
