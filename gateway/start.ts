import { isatty } from 'node:tty';
import closeWithGrace from 'close-with-grace';
import { ensureDevelopmentKey } from './auth/development-key.ts';
import { addressOf, banner } from './cli/banner.ts';
import { MAX_TIMER_MS } from './clock/clock.ts';
import { commandName } from './cli/command-name.ts';
import { stopWithNpm } from './cli/stop-with-npm.ts';
import { adminTokensOf } from './config/admin-tokens.ts';
import { causeOf, openLog, shouldPrintReadableLog, type Log } from './config/log.ts';
import { misspeltSettings } from './config/misspelt-settings.ts';
import { version } from './config/package.ts';
import { boundsOfWorker } from './config/process-bounds.ts';
import { drainDelayOf, isDevelopment, type Settings } from './config/settings.ts';
import { letYoungHeapGrow } from './config/young-heap.ts';
import { serveShares } from './limits/machine-shares.ts';
import { serveSums } from './limits/machine-sums.ts';
import { serveOpenCounts } from './limits/open-counts.ts';
import { openRedisSums } from './limits/redis-sums.ts';
import { isPackageFolder } from './network-files/load-networks.ts';
import { loadLocalChain } from './networks/local-chains.ts';
import type { Gateway, openGateway as OpenGateway } from './server/app.ts';
import { openWorkerLink } from './workers/open-worker-link.ts';
import { MachineSlots } from './workers/machine-slots.ts';
import { Primary, WORKER_ID } from './workers/primary.ts';
import { settingsOfWorker, thisMachine, workersOf } from './workers/worker-count.ts';

/** The worker that is started first. A later one has another id. */
const FIRST_WORKER = 1;

/** Signals that workers ignore. */
const skippedByWorkers = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** Serves until a signal. @param env of the process @throws what prevents the start */
export async function start(active: Settings, env: Environment): Promise<void> {
  const log = openLog(active.LOG_LEVEL, shouldPrintReadableLog(env));
  const workers = workersOf(active, thisMachine());
  const workerId = env[WORKER_ID];
  if (workerId !== undefined) {
    await startWorker(active, env, Number(workerId), workers, log);
    return;
  }
  for (const warning of misspeltSettings(env)) log.warn(warning);
  if (workers > 1) {
    await startPrimary(active, env, workers, log);
    return;
  }
  const gateway = await open(active, env, log);
  letYoungHeapGrow();
  let isStopping = false;
  let removeDemo: (() => void) | undefined;
  const closing = stopWithSignals(active, env, log, {
    reload: () => void gateway.reload(),
    stop: async (delayMs) => {
      isStopping = true;
      removeDemo?.();
      await gateway.drain(delayMs);
    },
  });
  try {
    removeDemo = await printBanner(active, gateway, log, () => isStopping);
  } catch (error) {
    // close-with-grace would end the process with exit code 0.
    closing.uninstall();
    await gateway.drain();
    throw error;
  }
}

async function open(...parts: Parameters<typeof OpenGateway>): Promise<Gateway> {
  // The primary does not load the server: it takes 14 MB less, and starts in half of the time.
  const { openGateway } = await import('./server/app.ts');
  return openGateway(...parts);
}

/** Reloads and drains the gateway with the signals of the operating system. */
function stopWithSignals(
  active: Settings,
  env: Environment,
  log: Log,
  { reload, stop }: { readonly reload: () => void; readonly stop: (delayMs: number) => Promise<void> },
): ReturnType<typeof closeWithGrace> {
  // The delay is for SIGTERM only: Docker and Kubernetes send it, and a load balancer must notice first. Ctrl-C has none.
  const delayMs = drainDelayOf(active);
  // Last resort if the drain hangs: the process ends after twice the drain timeout.
  const timeoutMs = Math.min(delayMs + active.DRAIN_TIMEOUT_MS * 2, MAX_TIMER_MS);
  // A closed terminal sends SIGHUP too; the gateway then stops instead of reloading.
  const shouldReload = !isatty(0) && !isatty(1);
  if (shouldReload) process.on('SIGHUP', reload);
  // Without a listener, SIGUSR2 would end the process.
  process.on('SIGUSR2', () => undefined);
  const skip: ('SIGHUP' | 'SIGUSR2')[] = shouldReload ? ['SIGHUP', 'SIGUSR2'] : ['SIGUSR2'];
  stopWithNpm(env);
  return closeWithGrace({ delay: timeoutMs, logger: false, skip }, async ({ err: error, signal }) => {
    if (error !== undefined) log.fatal(causeOf(error), 'unexpected error, stopping');
    log.info({ signal }, 'draining');
    await stop(signal === 'SIGTERM' ? delayMs : 0);
  });
}

/** The process that starts the workers, and serves no call itself. Its first worker prints the banner. */
async function startPrimary(active: Settings, env: Environment, count: number, log: Log): Promise<void> {
  const primary = new Primary({ count, env, log });
  const { REDIS_URL: url, LIMITS_TIMEOUT_MS: timeoutMs } = active;
  const openRedis = url === undefined ? undefined : openRedisSums.bind(undefined, url, timeoutMs, log);
  const sums = serveSums(primary.router, openRedis);
  serveShares(primary.router);
  serveOpenCounts(primary.router);
  new MachineSlots(primary.router, count, sums.slots).serve();
  stopWithSignals(active, env, log, {
    reload: () => {
      primary.reload();
    },
    stop: (delayMs) => primary.stop(delayMs),
  });
  // The worker has printed why it did not start.
  const code = await primary.start().catch(async (error: unknown) => {
    await sums.link?.close();
    throw error;
  });
  if (code !== 0) process.exit(code);
}

async function startWorker(active: Settings, env: Environment, id: number, count: number, log: Log): Promise<void> {
  // The primary gets them too, and reloads or stops the workers.
  for (const signal of skippedByWorkers) process.on(signal, () => undefined);
  const serving: { gateway?: Gateway } = {};
  let isStopping = false;
  const link = openWorkerLink(id, count, log, {
    reload: () => void serving.gateway?.reload(),
    stop: (delayMs) => {
      isStopping = true;
      // A start is not waited for.
      void Promise.resolve(serving.gateway?.drain(delayMs)).finally(() => process.exit(0));
    },
    end: () => process.exit(),
  });
  closeWithGrace(
    { delay: active.DRAIN_TIMEOUT_MS, logger: false, skip: [...skippedByWorkers] },
    async ({ err: error }) => {
      if (error !== undefined) log.fatal(causeOf(error), 'unexpected error, stopping');
      await serving.gateway?.drain();
    },
  );
  const share = settingsOfWorker(active, count, thisMachine());
  const gateway = await open(share, env, log, link, boundsOfWorker(count));
  serving.gateway = gateway;
  letYoungHeapGrow();
  if (link.id === FIRST_WORKER) await printBanner(active, gateway, log, () => isStopping);
  link.ready();
}

/** @returns removes the file of `gatehouse demo`; undefined: there is none */
async function printBanner(
  active: Settings,
  gateway: Gateway,
  log: Log,
  isStopping: () => boolean,
): Promise<(() => void) | undefined> {
  const isPrivate = isDevelopment(active);
  const developmentKey = isPrivate ? await ensureDevelopmentKey(gateway.keys, active.DATA_DIR) : undefined;
  const demo = await gateway.localChains.demo;
  const local = demo && (await loadLocalChain());
  if (isStopping()) return undefined;
  const base = (slug: string): string => `${addressOf(active.HOST, gateway.port)}/${slug}`;
  let exampleCommand: string | undefined;
  if (demo !== undefined && local !== undefined) {
    const { slug, chain } = demo;
    try {
      local.writeDemo(active.DATA_DIR, {
        baseUrl: base(slug),
        ...(developmentKey !== undefined && { key: developmentKey }),
        chain,
      });
    } catch (error) {
      // Not fatal: with Redis, DATA_DIR holds nothing else that the gateway needs.
      log.warn(causeOf(error), 'DATA_DIR cannot be written: the command demo will not work');
    }
    exampleCommand = local.storageLine(`${base(slug)}/v3/${developmentKey ?? '<key>'}`, chain);
  }
  const { port, opsPort, networks } = gateway;
  const { leftOut } = gateway.localChains;
  process.stdout.write(
    banner({
      version,
      command: commandName,
      host: active.HOST,
      port,
      opsPort,
      statusPage: statusPageOf(active, gateway),
      keysPage: adminTokensOf(active).length > 0 ? `${opsAddressOf(active, gateway)}/keys` : undefined,
      hasPackageNetworks: isPackageFolder(active.NETWORKS_DIR),
      networks,
      leftOut,
      keyPlace: gateway.keys.location,
      developmentKey,
      funded: isPrivate ? demo?.funded : undefined,
      tryIt: exampleCommand,
    }),
  );
  return local?.removeDemo.bind(undefined, active.DATA_DIR);
}

function statusPageOf(active: Settings, gateway: Gateway): string | undefined {
  if (active.STATUS_PAGE === 'public') return `${addressOf(active.HOST, gateway.port)}/`;
  return active.STATUS_PAGE === 'ops' ? `${opsAddressOf(active, gateway)}/` : undefined;
}

function opsAddressOf({ HOST, OPS_HOST }: Settings, { opsPort = 0 }: Gateway): string {
  return addressOf(OPS_HOST ?? HOST, opsPort);
}
