import { openLog } from '../gateway/config/log.ts';
import { processBounds } from '../gateway/config/process-bounds.ts';
import { readSettings } from '../gateway/config/settings.ts';
import { Authenticator } from '../gateway/auth/authenticate.ts';
import { digestOf, makeKey } from '../gateway/auth/formats/key.ts';
import { readAuth } from '../gateway/auth/tokens/read-auth.ts';
import { KeyStore } from '../gateway/auth/stores/key-store.ts';
import { openLimiter } from '../gateway/limits/open-limiter.ts';
import { Metrics } from '../gateway/metrics/metrics.ts';
import { checkFiles, readFolder } from '../gateway/network-files/load-networks.ts';
import { NetworkRegistry } from '../gateway/networks/registry.ts';
import { compileParamChecks } from '../gateway/spec/check-params.ts';
import { methods as specs } from '../gateway/spec/methods.generated.ts';
import { compileResultCheck } from '../gateway/spec/result-check.ts';
import { openStore } from '../gateway/store/open-store.ts';
import { UsageLedger } from '../gateway/usage/usage-ledger.ts';
import { UsageStore } from '../gateway/usage/usage-store.ts';

export type GatewayParts = Awaited<ReturnType<typeof openParts>>;

/** The parts of a gateway as app.ts constructs them, with one key and without a server. @param folder of network files */
export async function openParts(folder: string) {
  const settings = readSettings({ DATA_DIR: folder, NETWORKS_DIR: folder, LOG_LEVEL: 'silent' });
  const log = openLog('silent');
  const store = openStore(settings, log);
  const keys = new KeyStore(store, log);
  const key = makeKey();
  await keys.add(digestOf(key), {
    name: 'steps',
    createdAt: new Date().toISOString(),
    permissions: { rate: '1000000000' },
  });
  const limiter = openLimiter(settings, log);
  const metrics = new Metrics();
  const usage = new UsageLedger(new UsageStore(store, log), undefined);
  const common = {
    settings,
    bounds: processBounds,
    specs,
    unitsTable: {},
    metrics,
    usage,
    log,
    cache: undefined,
    durable: undefined,
    ...{ shownParams: undefined, memory: undefined, link: undefined, leases: undefined, limiter },
  };
  const checks = { checks: compileParamChecks(), resultCheck: compileResultCheck() };
  const files = { folder, knownMethods: specs.map(({ name }) => name), env: {} };
  const networks = new NetworkRegistry({ ...common, ...checks }, files);
  const content = readFolder(folder);
  await networks.open(checkFiles(content, files), content);
  const authenticator = new Authenticator(keys, {
    keyStaleMaxS: 60,
    bounds: processBounds,
    isFirstWorker: () => true,
    auth: readAuth(content),
    log,
  });
  const close = async (): Promise<void> => {
    await Promise.all([networks.close(), limiter.close(), usage.close()]);
    await store.close();
  };
  return { key, limiter, log, networks, authenticator, close };
}
