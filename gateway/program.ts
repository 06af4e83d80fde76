import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import closeWithGrace from 'close-with-grace';
import { Argument, Command, CommanderError } from 'commander';
import { openGateway, type Gateway } from './server/app.ts';
import { isWorker, openWorkerLink } from './workers/open-worker-link.ts';
import { Primary } from './workers/primary.ts';
import { settingsOfWorker, thisMachine, workersOf } from './workers/worker-count.ts';
import { backupCommands } from './cli/backup.ts';
import { BackupError } from './backup/restore.ts';
import { addressOf, banner } from './cli/banner.ts';
import { checkNetworks, listNetworks, readNetworks } from './cli/check.ts';
import { commandName } from './cli/command-name.ts';
import { demoLines, DemoError, removeDemo, storageLine, writeDemo } from './cli/demo.ts';
import { completionScript, shells } from './cli/completion.ts';
import { exitCodes } from './cli/exit-codes.ts';
import { UsageError } from './cli/key-options.ts';
import { fetchActiveConfiguration, GatewayError, reachable, runningGatewayCommands } from './cli/running-gateway.ts';
import { upstreamsCommand } from './cli/upstreams.ts';
import { examples } from './cli/examples.ts';
import { keysCommand } from './cli/keys.ts';
import { listenErrorText } from './cli/listen-error.ts';
import { stopWithNpm } from './cli/stop-with-npm.ts';
import { addWithProviders, initWithProviders } from './cli/init-with-providers.ts';
import { addNetwork, initNetworks, NetworkFileError, readChainId, type WrittenFiles } from './cli/network-files.ts';
import { adminTokensOf } from './config/admin-tokens.ts';
import { causeOf, openLog, shouldPrintReadableLog, type Log } from './config/log.ts';
import { version } from './config/package.ts';
import { letYoungHeapGrow } from './config/young-heap.ts';
import { painter, showDiagnosis } from './cli/show-diagnosis.ts';
import { misspeltSettings } from './config/misspelt-settings.ts';
import { drainDelayOf, isDevelopment, readSettings, SettingsError, type Settings } from './config/settings.ts';
import { diagnose } from './doctor/diagnose.ts';
import { ensureDevelopmentKey } from './auth/development-key.ts';
import { KeyStoreError } from './auth/stores/key-store.ts';
import { UnsuitableRedis } from './redis/check-redis.ts';
import { isPackageFolder, NetworkFilesError } from './network-files/load-networks.ts';
import { MachineCharges } from './limits/machine-charges.ts';
import { openTransport } from './networks/open-transport.ts';

/** The worker that is started first. A later one has another id. */
const FIRST_WORKER = 1;

/** The primary stops its workers. */
const skippedByWorkers = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const;

/** Node's timers fire at once if the delay is longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const out = (text: string): void => void process.stdout.write(text);
const err = (text: string): void => void process.stderr.write(text);
const settings = (): Settings => readSettings(process.env);

let isServing = false;
// `gatehouse … | head -1` closes the pipe before the end of the text. A gateway goes on without its banner.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (!isServing) process.exit();
  });
}

const program = new Command('gatehouse')
  .description('A self-hosted, multi-network JSON-RPC gateway')
  .version(version)
  .showSuggestionAfterError()
  .exitOverride();
program
  .command('start')
  .description('Start the gateway (settings are environment variables: see docs/settings.md)')
  .addHelpText('after', examples('start'))
  .action(start);
program
  .command('demo')
  .description('Print curl commands to try on the local chain of a running gateway')
  .option('--key <key>', 'used in place of the development key')
  .option('--json', 'print an array of the lines on one line')
  .addHelpText('after', examples('demo | sh', 'demo --key <key>'))
  .action(({ key, json }: { key?: string; json?: true }) => {
    const lines = demoLines(settings().DATA_DIR, key);
    out(json ? `${JSON.stringify(lines)}\n` : `${lines.join('\n')}\n`);
  });
for (const command of runningGatewayCommands({ settings, out, setExitCode: (code) => (process.exitCode = code) }))
  program.addCommand(command);
program
  .command('check')
  .description('Read the network files as `start` does, and print one line per network or all diagnostics')
  .option('--live', 'also test each upstream and Redis, as `doctor` does; exit code 1 if a test fails')
  .option('--json', 'print the results as JSON on one line')
  .option('--limit <seconds>', 'with --live: time limit per upstream', '10')
  .addHelpText('after', examples('check', 'check --json', 'check --live --limit 5'))
  .action(async ({ live = false, json = false, limit }: { live?: boolean; json?: boolean; limit: string }) => {
    if (live) {
      await runDoctor(json, limit);
      return;
    }
    const active = settings();
    requireNetworks(active);
    const { NETWORKS_DIR, HOST, OPS_HOST = HOST, OPS_PORT, UNITS_FILE } = active;
    const running =
      OPS_PORT === undefined ? undefined : await fetchActiveConfiguration(addressOf(reachable(OPS_HOST), OPS_PORT));
    const { ok, text } = checkNetworks(NETWORKS_DIR, process.env, json, running, UNITS_FILE);
    (ok || json ? out : err)(text);
    if (!ok) process.exitCode = exitCodes.configuration.code;
  });
program
  .command('doctor')
  .description('Test whether each upstream and Redis can serve calls; the same as `check --live`')
  .option('--json', 'print the results as JSON on one line')
  .option('--limit <seconds>', 'time limit per upstream', '10')
  .addHelpText('after', examples('doctor', 'doctor --json'))
  .action(({ json = false, limit }: { json?: boolean; limit: string }) => runDoctor(json, limit));
program
  .command('init')
  .description('Create the folder of network files, with the included networks or with upstreams of providers')
  .option('--chains <ids>', 'networks with these chain ids, with --provider: 1,10,8453')
  .option('--provider <names>', 'upstreams of each network, best first, with --chains: alchemy,drpc')
  .option('--json', 'print {"files":…,"variables":…} on one line')
  .addHelpText('after', examples('init', 'init --chains 1,10,8453 --provider alchemy,drpc'))
  .action(({ chains, provider, json }: { chains?: string; provider?: string; json?: true }) => {
    const folder = settings().NETWORKS_DIR;
    const isPlain = chains === undefined && provider === undefined;
    printFiles(isPlain ? initNetworks(folder) : initWithProviders(folder, chains, provider), json);
  });
const networksCommand = program.command('networks').description('List network files, and write them');
networksCommand
  .command('list')
  .description('List the networks of the network files')
  .option('--json', 'print an array on one line')
  .addHelpText('after', examples('networks list', 'networks list --json'))
  .action(({ json }: { json?: true }) => {
    const networks = readNetworks(settings().NETWORKS_DIR, process.env);
    out(listNetworks(networks, json === true));
  });
networksCommand
  .command('add')
  .description('Write the file of a known network, by its chain id')
  .argument('<chainId>', '8453 for Base')
  .option('--provider <names>', 'upstreams of these providers, best first, in place of public ones: alchemy,drpc')
  .option('--slug <slug>', 'name of the file and path of the network on every host')
  .option('--json', 'print {"files":…,"variables":…} on one line')
  .addHelpText(
    'after',
    examples('networks add 8453', 'networks add 8453 --provider alchemy,drpc', 'networks add 8453 --slug base-2'),
  )
  .action((given: string, { provider, slug, json }: { provider?: string; slug?: string; json?: true }) => {
    const folder = settings().NETWORKS_DIR;
    const written =
      provider === undefined
        ? addNetwork(folder, process.env, given, slug)
        : addWithProviders(folder, process.env, readChainId(given), provider, slug);
    printFiles(written, json);
  });
program.addCommand(
  upstreamsCommand({ settings, networks: () => readNetworks(settings().NETWORKS_DIR, process.env), out }),
);
program.addCommand(keysCommand({ settings, input: process.stdin, out, err, callUrl }));
for (const command of backupCommands(settings, out)) program.addCommand(command);
program
  .command('completion')
  .description('Print a script that completes commands and options in a shell')
  .addArgument(new Argument('<shell>').choices(shells))
  .addHelpText('after', examples('completion bash > /etc/bash_completion.d/gatehouse', 'completion zsh >> ~/.zshrc'))
  .action((shell: (typeof shells)[number]) => {
    out(completionScript(program, shell));
  });

try {
  // Without a command, the help is the result, not an error.
  await program.parseAsync(process.argv.length > 2 ? process.argv : [...process.argv, '--help']);
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

function printFiles({ text, files, variables }: WrittenFiles, json: true | undefined): void {
  out(json ? `${JSON.stringify({ files, variables })}\n` : text);
}

/** The URL of the first network that a key may use. Undefined if the network files here are invalid or have none. */
function callUrl(key: string, slugs: string | undefined): string | undefined {
  const { NETWORKS_DIR, HOST, PORT } = settings();
  try {
    const allowed = slugs?.split(',').map((slug) => slug.trim());
    const network = readNetworks(NETWORKS_DIR, process.env).find(({ slug }) => allowed?.includes(slug) !== false);
    const base = network && (network.baseUrls[0] ?? `${addressOf(reachable(HOST), PORT)}/${network.slug}`);
    return base && `${base}/v3/${key}`;
  } catch (error) {
    if (error instanceof NetworkFilesError) return undefined;
    throw error;
  }
}

/** `check --live` and `doctor`. Validates the files first, because they are the most likely cause of a failure. */
async function runDoctor(asJson: boolean, limit: string): Promise<void> {
  const limitS = Number(limit);
  if (!(limitS >= 0.1 && limitS <= 600)) throw new SettingsError(['--limit: expected seconds, from 0.1 to 600']);
  const active = settings();
  requireNetworks(active);
  const { ok, text } = checkNetworks(active.NETWORKS_DIR, process.env, asJson, undefined, active.UNITS_FILE);
  if (!ok) {
    (asJson ? out : err)(text);
    process.exitCode = exitCodes.configuration.code;
    return;
  }
  const showsProgress = process.stderr.isTTY && !asJson;
  const diagnosis = await diagnose({
    networks: readNetworks(active.NETWORKS_DIR, process.env),
    settings: active,
    timeoutMs: limitS * 1000,
    open: (upstream) => openTransport(upstream, active),
    onProgress: (done, all) => {
      if (showsProgress) err(done === all ? '\r\x1b[K' : `\rtested ${done} of ${all} …`);
    },
  });
  const shown = asJson
    ? `${JSON.stringify(diagnosis)}\n`
    : showDiagnosis(diagnosis, painter(process.stdout.isTTY, process.env));
  out(shown);
  if (!diagnosis.ok) process.exitCode = exitCodes.failed.code;
}

async function start(): Promise<void> {
  const active = settings();
  requireNetworks(active);
  isServing = true;
  const log = openLog(active.LOG_LEVEL, shouldPrintReadableLog(process.env));
  const workers = workersOf(active, thisMachine());
  if (isWorker) {
    await startWorker(active, workers, log);
    return;
  }
  for (const warning of misspeltSettings(process.env)) log.warn(warning);
  if (workers > 1) {
    await startPrimary(active, workers, log);
    return;
  }
  const gateway = await openGateway(active, process.env, log);
  letYoungHeapGrow();
  let isStopping = false;
  const closing = stopWithSignals(active, log, {
    reload: () => void gateway.reload(),
    stop: async (delayMs) => {
      isStopping = true;
      await gateway.drain(delayMs);
    },
  });
  try {
    await printBanner(active, gateway, log, () => isStopping);
  } catch (error) {
    // close-with-grace would end the process with exit code 0.
    closing.uninstall();
    await gateway.drain();
    throw error;
  }
}

/** Reloads and drains the gateway with the signals of the operating system. */
function stopWithSignals(
  active: Settings,
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
  stopWithNpm(process.env);
  return closeWithGrace({ delay: timeoutMs, logger: false, skip }, async ({ err: error, signal }) => {
    if (error !== undefined) log.fatal(causeOf(error), 'unexpected error, stopping');
    log.info({ signal }, 'draining');
    removeDemo(active.DATA_DIR);
    await stop(signal === 'SIGTERM' ? delayMs : 0);
  });
}

/** The process that starts the workers, and serves no call itself. Its first worker prints the banner. */
async function startPrimary(active: Settings, count: number, log: Log): Promise<void> {
  const primary = new Primary({ count, log });
  new MachineCharges().serve(primary.router);
  stopWithSignals(active, log, {
    reload: () => {
      primary.reload();
    },
    stop: (delayMs) => primary.stop(delayMs),
  });
  // The worker has printed why it did not start.
  const code = await primary.start();
  if (code !== 0) process.exit(code);
}

async function startWorker(active: Settings, count: number, log: Log): Promise<void> {
  // The primary gets them too, and reloads or stops the workers.
  for (const signal of skippedByWorkers) process.on(signal, () => undefined);
  let gateway: Gateway | undefined;
  let isStopping = false;
  const link = openWorkerLink(count, log, {
    reload: () => void gateway?.reload(),
    stop: (delayMs) => {
      isStopping = true;
      // A start is not waited for.
      void Promise.resolve(gateway?.drain(delayMs)).finally(() => process.exit(0));
    },
  });
  closeWithGrace(
    { delay: active.DRAIN_TIMEOUT_MS, logger: false, skip: [...skippedByWorkers] },
    async ({ err: error }) => {
      if (error !== undefined) log.fatal(causeOf(error), 'unexpected error, stopping');
      await gateway?.drain();
    },
  );
  try {
    gateway = await openGateway(settingsOfWorker(active, count, thisMachine()), process.env, log, link);
    letYoungHeapGrow();
    if (link.id === FIRST_WORKER) await printBanner(active, gateway, log, () => isStopping);
  } catch (error) {
    // A listening worker would not end by itself.
    process.exit(exitCodeFor(error));
  }
  link.ready();
}

async function printBanner(active: Settings, gateway: Gateway, log: Log, isStopping: () => boolean): Promise<void> {
  const isPrivate = isDevelopment(active);
  const developmentKey = isPrivate ? await ensureDevelopmentKey(gateway.keys, active.DATA_DIR) : undefined;
  const demo = await gateway.localChains.demo;
  if (isStopping()) return;
  const base = (slug: string): string => `${addressOf(active.HOST, gateway.port)}/${slug}`;
  let exampleCommand: string | undefined;
  if (demo !== undefined) {
    const { slug, chain } = demo;
    try {
      writeDemo(active.DATA_DIR, {
        baseUrl: base(slug),
        ...(developmentKey !== undefined && { key: developmentKey }),
        chain,
      });
    } catch (error) {
      // Not fatal: with Redis, DATA_DIR holds nothing else that the gateway needs.
      log.warn(causeOf(error), 'DATA_DIR cannot be written: the command demo will not work');
    }
    exampleCommand = storageLine(`${base(slug)}/v3/${developmentKey ?? '<key>'}`, chain);
  }
  const { port, opsPort, networks } = gateway;
  const { leftOut } = gateway.localChains;
  out(
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
}

function statusPageOf(active: Settings, gateway: Gateway): string | undefined {
  if (active.STATUS_PAGE === 'public') return `${addressOf(active.HOST, gateway.port)}/`;
  return active.STATUS_PAGE === 'ops' ? `${opsAddressOf(active, gateway)}/` : undefined;
}

function opsAddressOf({ HOST, OPS_HOST }: Settings, { opsPort = 0 }: Gateway): string {
  return addressOf(OPS_HOST ?? HOST, opsPort);
}

/** In production, a folder of network files that does not exist is a mistake. Elsewhere the package's own are a first try. */
function requireNetworks({ NODE_ENV, NETWORKS_DIR }: Settings): void {
  if (NODE_ENV !== 'production' || !isPackageFolder(NETWORKS_DIR)) return;
  const text = `there is no folder ${resolve(NETWORKS_DIR)}: ${commandName} init writes it, or set NETWORKS_DIR`;
  throw new SettingsError([text]);
}

/** Prints the message alone of an error that the operator can fix, and the stack of any other error. */
function exitCodeFor(error: unknown): number {
  // Commander has already printed the message.
  if (error instanceof CommanderError) return error.exitCode;
  const isConfiguration = [SettingsError, NetworkFilesError, KeyStoreError].some((kind) => error instanceof kind);
  const isOperation = [DemoError, NetworkFileError, BackupError, UnsuitableRedis, UsageError, GatewayError].some(
    (kind) => error instanceof kind,
  );
  if (isConfiguration || isOperation) {
    err(`${(error as Error).message}\n`);
    if (error instanceof GatewayError) return error.exitCode;
    return isConfiguration ? exitCodes.configuration.code : exitCodes.failed.code;
  }
  if (error instanceof Error && 'syscall' in error) {
    err(`${listenErrorText(error, settings()) ?? error.message}\n`);
    return exitCodes.failed.code;
  }
  err(`gatehouse: unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return exitCodes.internal.code;
}
