import type { IncomingMessage } from 'node:http';
import { ResponseCache } from '../cache/response-cache.ts';
import { openRedisCache } from '../cache/open-redis-cache.ts';
import { adminTokensOf } from '../config/admin-tokens.ts';
import { checkRedisOf } from '../redis/check-redis.ts';
import type { Log } from '../config/log.ts';
import { LogLevel } from '../config/log-level.ts';
import { itemsIn } from '../config/parse-setting.ts';
import { isDevelopment, type Settings } from '../config/settings.ts';
import { adminRoutes } from './ops/admin-routes.ts';
import { explainCalls } from './ops/explain-route.ts';
import { expressApp } from './http/express-app.ts';
import { listen, type Listener } from './http/http-server.ts';
import { opsRoutes } from './ops/ops-routes.ts';
import { networkFacts } from './pages/network-facts.ts';
import { displayedConfiguration, pageRoutes } from './pages/page-routes.ts';
import { createRequestIds } from './http/request-ids.ts';
import { rpcRoute } from './http/rpc-route.ts';
import { TrustedProxies } from './http/trusted-proxies.ts';
import { Authenticator } from '../auth/authenticate.ts';
import type { KeyStore } from '../auth/stores/key-store.ts';
import { openKeyStore } from '../auth/stores/open-key-store.ts';
import { keyPlacesOf, openTokens } from '../auth/open-tokens.ts';
import { checkPublic } from '../auth/permissions/public-permissions.ts';
import { RejectedBodies } from '../limits/rejected-bodies.ts';
import { openLimiter } from '../limits/open-limiter.ts';
import type { Holder } from '../memory/holder.ts';
import { MemoryGuard } from '../memory/memory-guard.ts';
import { MemoryBudget } from '../memory/memory-budget.ts';
import { Metrics } from '../metrics/metrics.ts';
import { checkFiles, readFolder } from '../network-files/load-networks.ts';
import { readUnits } from '../network-files/read-units.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { NetworkRegistry } from '../networks/registry.ts';
import { compileParamChecks } from '../spec/check-params.ts';
import { developmentMethodsIn, methodFacts } from '../spec/method-facts.ts';
import { compileResultCheck } from '../spec/result-check.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import type { LocalChains } from '../local-chain/local-chains.ts';
import { summariseUpstreams } from '../upstreams/upstream-status.ts';
import { openTracing } from '../observability/tracing.ts';
import { openUsageStore } from '../usage/open-usage-store.ts';
import { UsageLedger } from '../usage/usage-ledger.ts';
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
 * @throws NetworkFilesError, SettingsError, UnsuitableRedis, KeyStoreError, or the system's error about the listening address
 */
export async function openGateway(
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<Gateway> {
  // Before the first child of the log.
  const logLevel = new LogLevel(log);
  const files = {
    folder: settings.NETWORKS_DIR,
    ...methodFacts,
    checkPublic,
    developmentMethods: developmentMethodsIn(settings),
    env,
  };
  const content = readFolder(files.folder);
  const configs = checkFiles(content, files);
  const unitsTable = readUnits(settings.UNITS_FILE, configs, files);
  const checks = compileParamChecks();
  const resultCheck = compileResultCheck();
  await checkRedisOf(settings, REDIS_CHECK_TIMEOUT_MS, log);
  const metrics = new Metrics();
  const tokens = await openTokens(settings, log);
  const keys = openKeyStore(settings, log);
  const authenticator = new Authenticator(keys, {
    keyStaleMaxS: settings.KEY_STALE_MAX_S,
    unknownKeysMax: settings.UNKNOWN_KEYS_MAX,
    allowDevelopmentKeys: isDevelopment(settings),
    tokens,
    log,
  });
  const limiter = openLimiter(settings, log);
  metrics.watchKeys(() => ({ isUp: keys.isAvailable && !keys.isFull, counts: authenticator.counts }));
  metrics.watchLimits(() => limiter.counts);
  metrics.watchPublic(() => limiter.public);
  const usageStore = openUsageStore(settings, log);
  const usage = new UsageLedger(usageStore, settings.METRICS_PER_KEY === 'on' ? metrics.keyMetric() : undefined);
  const redisCache = openRedisCache(settings, metrics.cache.redisCache(), log);
  // The first calls find a reachable Redis connected. An unreachable one does not prevent the start.
  await Promise.all([
    keys.waitUntilReady(REDIS_OPEN_TIMEOUT_MS).catch(() => undefined),
    limiter.waitUntilReady(REDIS_OPEN_TIMEOUT_MS),
  ]);
  const limitMb = settings.MEMORY_LIMIT_MB;
  const guard = new MemoryGuard(limitMb === undefined ? undefined : limitMb * 2 ** 20);
  const memory = new MemoryBudget({ requestsMax: settings.REQUESTS_MAX, maxBytes: settings.BODIES_MAX_BYTES, guard });
  metrics.watchMemory(() => memory);
  const cache = settings.CACHE_MAX_BYTES > 0 ? new ResponseCache(settings.CACHE_MAX_BYTES) : undefined;
  if (cache !== undefined) metrics.cache.watch(() => cache.counts);
  const networks = new NetworkRegistry(
    { settings, specs, unitsTable, checks, resultCheck, metrics, usage, log, memory, cache, redisCache },
    files,
  );
  try {
    await networks.open(configs, content);
  } catch (error) {
    tokens?.keys.close();
    await Promise.all([networks.close(), keys.close(), limiter.close(), usage.close(), redisCache?.close()]);
    throw error;
  }

  let isDraining = false;
  const listeners: Listener[] = [];
  const nextRequestId = createRequestIds();
  const hasOpsPort = settings.OPS_PORT !== undefined;
  const ops = opsRoutes(metrics.registry, () => ({
    ready: !isDraining && authenticator.canCheckKeys && !keys.isFull,
    details: {
      draining: isDraining,
      keyStore: { kind: keys.kind, available: keys.isAvailable && !keys.isFull },
      configuration: hasOpsPort ? networks.configuration : displayedConfiguration(networks.configuration, true),
      networks: Object.fromEntries(
        networks.finder.all.map(({ config, router }) => [config.slug, summariseUpstreams(router.all)]),
      ),
    },
  }));
  const proxies = new TrustedProxies(itemsIn(settings.TRUSTED_PROXIES));
  const requestOptions = {
    networks: networks.finder,
    authenticator,
    keyPlaces: keyPlacesOf(settings),
    limiter,
    proxies,
    metrics,
    log,
    accessLog: settings.ACCESS_LOG === 'on' ? log : undefined,
    memory,
    callTimeoutMs: settings.CALL_TIMEOUT_MS,
    tracing: openTracing(),
    batch: {
      maxItems: settings.BATCH_MAX_ITEMS,
      maxValues: settings.CALL_MAX_VALUES,
      maxResponseBytes: settings.BATCH_ANSWER_MAX_BYTES,
      concurrency: settings.BATCH_CONCURRENCY,
    },
  };
  const adminTokens = adminTokensOf(settings);
  if (adminTokens.length > 0 && settings.OPS_PORT !== undefined) {
    const explain = explainCalls({ ...requestOptions, nextRequestId });
    const onRejected = metrics.adminRejected.bind(metrics);
    const { DATA_DIR: dataDir } = settings;
    const stores = { keys, usage: usageStore, dataDir };
    const active = {
      networks: () => networks.finder.all.map(({ config }) => networkFacts(config)),
      port: () => listeners[0]?.port ?? 0,
    };
    ops.use(adminRoutes({ tokens: adminTokens, proxies, onRejected, ...stores, ...active, log, explain, logLevel }));
  }
  const rejectedBodies = new RejectedBodies();
  const holderOf = (request: IncomingMessage): Holder => memory.addressHolder(proxies.addressGroupOf(request));
  const rpc = rpcRoute({
    ...requestOptions,
    holderOf,
    rejectedBodies,
    nextRequestId,
    hasPages: settings.STATUS_PAGE === 'public',
    bodyMaxBytes: settings.BODY_MAX_BYTES,
    compressOverBytes: settings.COMPRESS_ANSWERS_OVER_BYTES,
  });
  const webSockets = new WebSocketUpgrades({
    ...requestOptions,
    messageMaxBytes: settings.WS_MESSAGE_MAX_BYTES ?? settings.BODY_MAX_BYTES,
    messagesMax: settings.WS_MESSAGES_MAX,
    unreadMaxBytes: settings.WS_UNREAD_MAX_BYTES,
    socketsPerKey: settings.WS_SOCKETS_PER_KEY,
    subscriptionsPerKey: settings.WS_SUBSCRIPTIONS_PER_KEY,
    filterValuesPerKey: settings.FILTER_VALUES_PER_KEY,
  });
  guard.addRelief((owner) => {
    cache?.shrink();
    if (owner === undefined) return;
    log.warn({ owner }, 'memory is short: what the heaviest owner has open is closed');
    webSockets.closeThoseOf(owner, 'memory-pressure');
    for (const { filters } of networks.finder.all) filters.removeThoseOf(owner);
  });
  networks.onChange = webSockets.followNetworks.bind(webSockets);
  const { HOST, PORT, REQUEST_TIMEOUT_MS, CONNECTIONS_MAX: connectionsMax } = settings;
  const connectionOptions = { memory, holderOf, rejectedBodies, connectionsMax };
  const common = { nextRequestId, networks: networks.finder, ...connectionOptions, log };
  const statusPage = settings.STATUS_PAGE;
  const pageOptions = {
    finder: networks.finder,
    proxies,
    history: metrics.networkHistory,
    configuration: () => networks.configuration,
  };
  const pages = pageRoutes({
    ...pageOptions,
    hasStatus: statusPage === 'public',
    hasDocs: true,
    port: () => undefined,
  });
  if (statusPage !== 'off') metrics.startHistory();
  const close = async (delayMs?: number): Promise<void> => {
    metrics.stopHistory();
    // In this order, so that the ops port reports 503 until the last call has ended.
    const [main, ops] = listeners;
    await main?.drain(settings.DRAIN_TIMEOUT_MS, delayMs);
    await ops?.drain(settings.DRAIN_TIMEOUT_MS);
    guard.close();
    tokens?.keys.close();
    await Promise.all([networks.close(), keys.close(), limiter.close(), usage.close(), redisCache?.close()]);
  };
  try {
    const main = expressApp({ rpc, ...(!hasOpsPort && { ops }), pages, ...common });
    const listener = await listen(main, HOST, PORT, REQUEST_TIMEOUT_MS, connectionOptions, webSockets);
    listeners.push(listener);
    let opsPort: number | undefined;
    if (settings.OPS_PORT !== undefined) {
      const port = (): number => listener.port;
      const opsPages =
        statusPage === 'ops' ? pageRoutes({ ...pageOptions, hasStatus: true, hasDocs: false, port }) : undefined;
      const opsApp = expressApp({ ops, pages: opsPages, ...common });
      const opsListener = await listen(opsApp, settings.OPS_HOST ?? HOST, settings.OPS_PORT, 30_000, connectionOptions);
      opsPort = opsListener.port;
      listeners.push(opsListener);
    }
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
