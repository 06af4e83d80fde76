// First: what it does concerns the loading of all others.
import { letYoungHeapGrow } from './config/young-heap.ts';
import { isatty } from 'node:tty';
import closeWithGrace from 'close-with-grace';
import { Command, CommanderError } from 'commander';
import { openGateway, type Gateway } from './server/app.ts';
import { addressOf, banner } from './cli/banner.ts';
import { checkNetworks, readNetworks } from './cli/check.ts';
import { curlLine, demoLines, DemoError, removeDemo, writeDemo } from './cli/demo.ts';
import { fetchActiveConfiguration, reachable } from './cli/running-gateway.ts';
import { keysCommand } from './cli/keys.ts';
import { addNetwork, initNetworks, NetworkFileError } from './cli/network-files.ts';
import { causeOf, openLog, type Log } from './config/log.ts';
import { version } from './config/package.ts';
import { painter, showDiagnosis } from './cli/show-diagnosis.ts';
import { drainDelayOf, isDevelopment, readSettings, SettingsError, type Settings } from './config/settings.ts';
import { diagnose } from './doctor/diagnose.ts';
import { ensureDevelopmentKey } from './auth/development-key.ts';
import { KeyStoreError } from './auth/stores/key-store.ts';
import { NetworkFilesError } from './network-files/load-networks.ts';
import { openTransport } from './networks/open-transport.ts';

/** sysexits.h: something is configured wrongly. */
const EX_CONFIG = 78;

/** More, and Node's timers fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const out = (text: string): void => void process.stdout.write(text);
const err = (text: string): void => void process.stderr.write(text);
const settings = (): Settings => readSettings(process.env);

const program = new Command('gatehouse')
  .description('A self-hosted, multi-network JSON-RPC gateway')
  .version(version)
  .showSuggestionAfterError()
  .exitOverride();
program
  .command('start')
  .description('Start the gateway (settings are environment variables: see docs/settings.md)')
  .action(start);
program
  .command('demo')
  .description('Print curl examples for the local chain of the running gateway')
  .option('--key <key>', 'use this key instead of the development key')
  .action(({ key }: { key?: string }) => {
    out(`${demoLines(settings().DATA_DIR, key).join('\n')}\n`);
  });
program
  .command('check')
  .description('Validate the network files as `start` does: print a line per network, or all diagnostics')
  .option('--live', 'also test each upstream and Redis, as `doctor` does; exit code 1 if there are problems')
  .option('--json', 'print the result as JSON on one line')
  .option('--limit <seconds>', 'with --live: timeout for each upstream', '10')
  .action(async ({ live = false, json = false, limit }: { live?: boolean; json?: boolean; limit: string }) => {
    if (live) {
      await examine(json, limit);
      return;
    }
    const { NETWORKS_DIR, HOST, OPS_PORT } = settings();
    const running =
      OPS_PORT === undefined ? undefined : await fetchActiveConfiguration(addressOf(reachable(HOST), OPS_PORT));
    const { ok, text } = checkNetworks(NETWORKS_DIR, process.env, json, running);
    (ok || json ? out : err)(text);
    if (!ok) process.exitCode = EX_CONFIG;
  });
program
  .command('doctor')
  .description('Test each upstream and Redis; the same as `check --live`')
  .option('--json', 'print the result as JSON on one line')
  .option('--limit <seconds>', 'timeout for each upstream', '10')
  .action(({ json = false, limit }: { json?: boolean; limit: string }) => examine(json, limit));
program
  .command('init')
  .description('Create the folder of network files, with the networks that Gatehouse ships')
  .action(() => {
    out(initNetworks(settings().NETWORKS_DIR));
  });
program
  .command('networks')
  .description('Write network files')
  .command('add')
  .description('Write the file of a known network, by chain id')
  .argument('<chainId>', '8453 for Base')
  .option('--slug <slug>', 'file name and URL path of the network')
  .action((chainId: string, { slug }: { slug?: string }) => {
    out(addNetwork(settings().NETWORKS_DIR, process.env, chainId, slug));
  });
program.addCommand(keysCommand({ settings, input: process.stdin, out, err }));

try {
  // Not commander's `isDefault`: an unknown command would then be an argument too many of `start`.
  await program.parseAsync(process.argv.length > 2 ? process.argv : [...process.argv, 'start']);
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

/** `check --live`: the files first, for a wrong one is the likeliest cause. */
async function examine(asJson: boolean, limit: string): Promise<void> {
  const limitS = Number(limit);
  if (!(limitS >= 0.1 && limitS <= 600)) throw new SettingsError(['--limit: expected seconds, from 0.1 to 600']);
  const chosen = settings();
  const { ok, text } = checkNetworks(chosen.NETWORKS_DIR, process.env, asJson);
  if (!ok) {
    (asJson ? out : err)(text);
    process.exitCode = EX_CONFIG;
    return;
  }
  const isWatched = process.stderr.isTTY && !asJson;
  const diagnosis = await diagnose({
    networks: readNetworks(chosen.NETWORKS_DIR, process.env),
    redisUrl: chosen.REDIS_URL,
    timeoutMs: limitS * 1000,
    open: (upstream) => openTransport(upstream, chosen),
    onProgress: (done, all) => {
      if (isWatched) err(done === all ? '\r\x1b[K' : `\rtested ${done} of ${all} …`);
    },
  });
  const shown = asJson
    ? `${JSON.stringify(diagnosis)}\n`
    : showDiagnosis(diagnosis, painter(process.stdout.isTTY, process.env));
  out(shown);
  if (!diagnosis.ok) process.exitCode = 1;
}

async function start(): Promise<void> {
  const chosen = settings();
  const log = openLog(chosen.LOG_LEVEL);
  const gateway = await openGateway(chosen, process.env, log);
  letYoungHeapGrow();
  // Ctrl-C is a person, who waits for it; SIGTERM is what Docker and Kubernetes send, with callers behind a balancer.
  const delayMs = drainDelayOf(chosen);
  // Twice the drain: the last resort when something does not let go.
  const timeoutMs = Math.min(delayMs + chosen.DRAIN_TIMEOUT_MS * 2, TIMER_MAX_MS);
  let isStopping = false;
  // A terminal that is closed sends SIGHUP, too, and then the gateway has to end.
  const reloads = !isatty(0) && !isatty(1);
  if (reloads) process.on('SIGHUP', () => void gateway.reload());
  const skip: 'SIGHUP'[] = reloads ? ['SIGHUP'] : [];
  const closing = closeWithGrace({ delay: timeoutMs, logger: false, skip }, async ({ err: error, signal }) => {
    if (error !== undefined) log.fatal(causeOf(error), 'unforeseen error, stopping');
    isStopping = true;
    log.info({ signal }, 'draining');
    removeDemo(chosen.DATA_DIR);
    await gateway.drain(signal === 'SIGTERM' ? delayMs : 0);
  });
  try {
    await printBanner(chosen, gateway, log, () => isStopping);
  } catch (error) {
    // It would end the process with 0 once nothing is left to do.
    closing.uninstall();
    await gateway.drain();
    throw error;
  }
}

async function printBanner(chosen: Settings, gateway: Gateway, log: Log, isStopping: () => boolean): Promise<void> {
  const isPrivate = isDevelopment(chosen);
  const developmentKey = isPrivate ? await ensureDevelopmentKey(gateway.keys, chosen.DATA_DIR) : undefined;
  const demo = await gateway.localChains.demo;
  if (isStopping()) return;
  const base = (slug: string): string => `${addressOf(chosen.HOST, gateway.port)}/${slug}`;
  let exampleCommand: string | undefined;
  if (demo !== undefined) {
    const { slug, chain } = demo;
    try {
      writeDemo(chosen.DATA_DIR, {
        baseUrl: base(slug),
        ...(developmentKey !== undefined && { key: developmentKey }),
        chain,
      });
    } catch (error) {
      // No reason not to serve: with Redis nothing else is kept there.
      log.warn(causeOf(error), 'DATA_DIR cannot be written: `gatehouse demo` will not work');
    }
    const { address, numberPosition } = chain.counter;
    const url = `${base(slug)}/v3/${developmentKey ?? '<key>'}`;
    exampleCommand = curlLine(url, 'eth_getStorageAt', [address, numberPosition, 'latest']);
  }
  const keyPlace =
    gateway.keys.kind === 'redis' ? 'in Redis (REDIS_URL)' : `in ${chosen.DATA_DIR}/keys.json, as digests only`;
  const { port, opsPort, networks } = gateway;
  const { leftOut } = gateway.localChains;
  out(
    banner({
      version,
      host: chosen.HOST,
      port,
      opsPort,
      networks,
      leftOut,
      keyPlace,
      developmentKey,
      tryIt: exampleCommand,
    }),
  );
}

/** Prints what a person can mend as it is; anything else is ours, and shows as such. */
function exitCodeFor(error: unknown): number {
  // Commander has printed its own.
  if (error instanceof CommanderError) return error.exitCode;
  const isConfiguration = [SettingsError, NetworkFilesError, KeyStoreError].some((kind) => error instanceof kind);
  if (isConfiguration || error instanceof DemoError || error instanceof NetworkFileError) {
    err(`${(error as Error).message}\n`);
    return isConfiguration ? EX_CONFIG : 1;
  }
  if (error instanceof Error && 'syscall' in error) {
    err(`${error.message}\n`);
    return 1;
  }
  err(`gatehouse: unforeseen: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 70;
}
