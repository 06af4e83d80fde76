import type { Log } from './config/log.ts';
import { isDevelopment, rangesIn, type Settings } from './config/settings.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { expressApp } from './http/express-app.ts';
import { listen, type Listener } from './http/http-server.ts';
import { opsRoutes } from './http/ops-routes.ts';
import { requestIds } from './http/request-ids.ts';
import { rpcRoute } from './http/rpc-route.ts';
import { TrustedProxies } from './http/trusted-proxies.ts';
import { Authenticator } from './keys/authenticate.ts';
import type { KeyStore } from './keys/key-store.ts';
import { openKeyStore } from './keys/open-key-store.ts';
import { openLimiter } from './limits/open-limiter.ts';
import { Load } from './load.ts';
import { Metrics } from './metrics/metrics.ts';
import { NetworkFinder } from './network/find-network.ts';
import { loadNetworks, NetworkFilesError } from './network/load-networks.ts';
import type { NetworkConfig } from './network/network-config.ts';
import { serveNetwork } from './serve-network.ts';
import { compileParamChecks } from './spec/check-params.ts';
import { compileResultCheck } from './spec/result-check.ts';
import { methods as specs } from './spec/methods.generated.ts';
import { startLocalChains, type LocalChains } from './local-chain/local-chains.ts';
import { openUsageStore } from './usage/open-usage-store.ts';
import { UsageLedger } from './usage/usage-ledger.ts';
import { WebSocketDoor } from './websocket/web-socket-door.ts';

const KEYS_OPEN_LIMIT_MS = 500;

/** A gateway that listens. */
export interface Gateway {
  readonly port: number;
  readonly opsPort: number | undefined;
  readonly networks: readonly NetworkConfig[];
  readonly localChains: LocalChains;
  readonly keys: KeyStore;
  /** Ends what is under way within DRAIN_TIMEOUT_MS, then lets go of everything. */
  drain(): Promise<void>;
}

/**
 * Builds every part once, gives it its collaborators, and listens. Waits for no upstream, and for Redis half a second.
 * @param env where `${NAME}` in network files comes from
 * @throws NetworkFilesError, SettingsError, KeyStoreError, or what the system says of the address
 */
export async function openGateway(
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<Gateway> {
  const knownMethods = specs.map(({ name }) => name);
  const configs = loadNetworks({ folder: settings.NETWORKS_DIR, knownMethods, env });
  const checks = compileParamChecks();
  const resultCheck = compileResultCheck();
  const metrics = new Metrics();
  const keys = openKeyStore(settings, log);
  const authenticator = new Authenticator(keys, {
    keyStaleMaxS: settings.KEY_STALE_MAX_S,
    unknownKeysMax: settings.UNKNOWN_KEYS_MAX,
    allowDevelopmentKeys: isDevelopment(settings),
    log,
  });
  const limiter = openLimiter(settings, log);
  metrics.watchKeys(() => ({ isUp: keys.available, counts: authenticator.counts }));
  metrics.watchLimits(() => limiter.counts);
  const usageStore = openUsageStore(settings, log);
  const usage = new UsageLedger(usageStore, settings.METRICS_PER_KEY === 'on' ? metrics.keyMeter() : undefined);
  // A Redis that is there gets its moment, so that the first calls find it; one that is not is not waited for.
  await Promise.all([keys.opened(KEYS_OPEN_LIMIT_MS).catch(() => undefined), limiter.opened(KEYS_OPEN_LIMIT_MS)]);
  const localChains = await startLocalChains(configs, settings, log);
  if (localChains.networks.length === 0) {
    await Promise.all([keys.close(), limiter.close(), usage.close()]);
    const lines = [...localChains.leftOut, 'no network is left to serve'];
    throw new NetworkFilesError(lines.map((message) => ({ message })));
  }
  const networks = localChains.networks.map((config) =>
    serveNetwork(config, localChains.spawned, { settings, specs, checks, resultCheck, metrics, usage, log }),
  );

  let isDraining = false;
  const nextRequestId = requestIds();
  const baseUrlsHint = hintOf(localChains.networks);
  const ops = opsRoutes(metrics.registry, () => ({
    ready: !isDraining && authenticator.canCheckKeys,
    details: {
      draining: isDraining,
      keyStore: { kind: keys.kind, available: keys.available },
      networks: Object.fromEntries(networks.map((network) => [network.config.slug, network.upstreams.summary()])),
    },
  }));
  if (settings.ADMIN_TOKEN !== undefined && settings.OPS_PORT !== undefined) {
    ops.use(adminRoutes({ token: settings.ADMIN_TOKEN, keys, usage: usageStore, dataDir: settings.DATA_DIR, log }));
  }
  const callers = {
    networks: new NetworkFinder(networks),
    authenticator,
    limiter,
    proxies: new TrustedProxies(rangesIn(settings.TRUSTED_PROXIES)),
    metrics,
    log,
    accessLog: settings.ACCESS_LOG === 'on' ? log : undefined,
    baseUrlsHint,
    load: new Load({ requestsMax: settings.REQUESTS_MAX, bytesMax: settings.BODIES_MAX_BYTES }),
    callTimeoutMs: settings.CALL_TIMEOUT_MS,
    batch: {
      maxItems: settings.BATCH_MAX_ITEMS,
      maxAnswerBytes: settings.BATCH_ANSWER_MAX_BYTES,
      concurrency: settings.BATCH_CONCURRENCY,
    },
  };
  const rpc = rpcRoute({
    ...callers,
    nextRequestId,
    bodyMaxBytes: settings.BODY_MAX_BYTES,
    compressOverBytes: settings.COMPRESS_ANSWERS_OVER_BYTES,
  });
  const webSockets = new WebSocketDoor({
    ...callers,
    messageMaxBytes: settings.WS_MESSAGE_MAX_BYTES ?? settings.BODY_MAX_BYTES,
    messagesMax: settings.WS_MESSAGES_MAX,
    unreadMaxBytes: settings.WS_UNREAD_MAX_BYTES,
    socketsPerKey: settings.WS_SOCKETS_PER_KEY,
  });
  const common = { nextRequestId, baseUrlsHint, log };
  const hasOpsPort = settings.OPS_PORT !== undefined;
  const listeners: Listener[] = [];
  const close = async (): Promise<void> => {
    // In order: the ops port tells that we are not ready until the last call has ended.
    for (const listener of listeners) await listener.drain(settings.DRAIN_TIMEOUT_MS);
    await Promise.all([
      ...networks.map(({ upstreams }) => upstreams.close()),
      localChains.stop(),
      keys.close(),
      limiter.close(),
      usage.close(),
    ]);
  };
  try {
    const main = expressApp({ rpc, ...(!hasOpsPort && { ops }), ...common });
    const listener = await listen(main, settings.HOST, settings.PORT, settings.REQUEST_TIMEOUT_MS, webSockets);
    listeners.push(listener);
    let opsPort: number | undefined;
    if (settings.OPS_PORT !== undefined) {
      const opsListener = await listen(expressApp({ ops, ...common }), settings.HOST, settings.OPS_PORT, 30_000);
      opsPort = opsListener.port;
      listeners.push(opsListener);
    }
    return {
      port: listener.port,
      opsPort,
      networks: localChains.networks,
      localChains,
      keys,
      drain: () => {
        isDraining = true;
        return close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** For callers who are at no network's address. */
function hintOf(networks: readonly NetworkConfig[]): string {
  const bases = networks.flatMap(({ slug, baseUrls }) => [`/${slug}`, ...baseUrls]);
  return `no network at this address; send JSON-RPC by POST to <base URL>/v3/<key> or by WebSocket to <base URL>/ws/v3/<key>, where base URLs are: ${bases.join(', ')}`;
}
