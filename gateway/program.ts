import { resolve } from 'node:path';
import { Argument, Command } from 'commander';
import { backupCommands } from './cli/backup.ts';
import { addressOf } from './cli/banner.ts';
import { cacheCommand } from './cli/cache.ts';
import { checkNetworks, listNetworks, readNetworks } from './cli/check.ts';
import { printable } from './cli/columns.ts';
import { examples, type CommandContext } from './cli/command-context.ts';
import { commandName } from './cli/command-name.ts';
import { completionScript, shells } from './cli/completion.ts';
import { exitCodeFor } from './cli/exit-code-for.ts';
import { CommandError, exitCodes } from './cli/exit-codes.ts';
import { fetchActiveConfiguration, reachable, runningGatewayCommands } from './cli/running-gateway.ts';
import { upstreamsCommand } from './cli/upstreams.ts';
import { keysCommand } from './cli/keys.ts';
import { addWithProviders, initWithProviders } from './cli/init-with-providers.ts';
import {
  addGivenNetwork,
  addNetwork,
  initNetworks,
  readChainId,
  type GivenNetwork,
  type WrittenFiles,
} from './cli/network-files.ts';
import { usageCommand } from './cli/usage.ts';
import { version } from './config/package.ts';
import { painter, showDiagnosis } from './cli/show-diagnosis.ts';
import { processBounds } from './config/process-bounds.ts';
import { readSettings, SettingsError, type Settings } from './config/settings.ts';
import { isPackageFolder, NetworkFilesError } from './network-files/load-networks.ts';
import { readUnits } from './network-files/read-units.ts';
import { methodFacts } from './spec/method-facts.ts';
import { lookupUnits } from './spec/request-units.ts';

const NO_DEMO = 'no gateway with a local chain is running here: run `npm start` first, then this in another shell';

/** What a command uses of its process. */
export interface CommandProcess {
  /** Settings, and values for `${NAME}` in network files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly stdout: Output;
  readonly stderr: Output;
}

interface Output {
  /** Whether it is a terminal. */
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Runs `gatehouse <args>`, and prints its errors. A gateway serves on after the end.
 * @returns the exit code
 */
export async function runCommand(
  args: readonly string[],
  { env, stdin, stdout, stderr }: CommandProcess,
): Promise<number> {
  const out = (text: string): void => void stdout.write(printable(text));
  const err = (text: string): void => void stderr.write(printable(text));
  const settings = (): Settings => readSettings(env);
  let exitCode: number = exitCodes.ok.code;
  const context: CommandContext = {
    ...{ settings, input: stdin, out, err, callUrl, lookupUnits: pricedLookup },
    setExitCode: (code) => (exitCode = code),
    networks: () => readNetworks(settings().NETWORKS_DIR, env),
  };

  const program = new Command('gatehouse')
    .description('A self-hosted, multi-network JSON-RPC gateway')
    .version(version)
    .showSuggestionAfterError();
  program
    .command('start')
    .description('Start the gateway (settings are environment variables: see docs/reference/settings.md)')
    .addHelpText('after', examples('start'))
    .action(async () => {
      const active = settings();
      requireNetworks(active);
      // The other commands do not load it: they start in half of the time.
      const { start } = await import('./start.ts');
      await start(active, env);
    });
  program
    .command('demo')
    .description('Print curl commands to try on the local chain of a running gateway')
    .option('--key <key>', 'used in place of the development key')
    .option('--json', 'print an array of the lines on one line')
    .addHelpText('after', examples('demo | sh', 'demo --key <key>'))
    .action(async ({ key, json }: { key?: string; json?: true }) => {
      const { loadLocalChain } = await import('./networks/local-chains.ts');
      const lines = (await loadLocalChain())?.demoLines(settings().DATA_DIR, key);
      if (lines === undefined) throw new CommandError(NO_DEMO);
      out(json ? `${JSON.stringify(lines)}\n` : `${lines.join('\n')}\n`);
    });
  for (const command of runningGatewayCommands(context)) program.addCommand(command);
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
      const { HOST, OPS_HOST = HOST, OPS_PORT } = active;
      const running =
        OPS_PORT === undefined ? undefined : await fetchActiveConfiguration(addressOf(reachable(OPS_HOST), OPS_PORT));
      const { ok, text } = checkNetworks(active, env, json, running);
      (ok || json ? out : err)(text);
      if (!ok) exitCode = exitCodes.configuration.code;
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
      out(listNetworks(context.networks(), json === true));
    });
  networksCommand
    .command('add')
    .description('Write the file of a network by its chain id: of a known one, or of any one with --url')
    .argument('<chainId>', '8453 for Base')
    .option('--provider <names>', 'upstreams of these providers, best first, in place of public ones: alchemy,drpc')
    .option('--url <urls>', 'upstreams at these URLs, best first; the chain id of each is checked')
    .option('--name <name>', 'with --url: name of the network; default: that of the known chain')
    .option('--currency <symbol>', 'with --url: symbol of its currency, for wallets')
    .option('--explorer <url>', 'with --url: block explorer, for wallets and pages')
    .option('--slug <slug>', 'name of the file and path of the network on every host')
    .option('--json', 'print {"files":…,"variables":…} on one line')
    .addHelpText(
      'after',
      examples(
        'networks add 8453',
        'networks add 8453 --provider alchemy,drpc',
        'networks add 424242 --url http://10.0.0.5:8545 --name "Our chain" --currency OUR',
      ),
    )
    .action(async (given: string, options: Partial<GivenNetwork> & { provider?: string; json?: true }) => {
      const { provider, url, slug, json } = options;
      const [folder, chainId] = [settings().NETWORKS_DIR, readChainId(given)];
      const isOfUrl = [options.name, options.currency, options.explorer].some((value) => value !== undefined);
      if (url === undefined ? isOfUrl : provider !== undefined)
        throw new CommandError('--name, --currency and --explorer belong to --url, and --provider does not');
      if (url !== undefined) printFiles(await addGivenNetwork(folder, env, chainId, { ...options, url }), json);
      else if (provider === undefined) printFiles(addNetwork(folder, env, given, slug), json);
      else printFiles(addWithProviders(folder, env, chainId, provider, slug), json);
    });
  for (const make of [upstreamsCommand, cacheCommand, usageCommand, keysCommand]) program.addCommand(make(context));
  for (const command of backupCommands(context)) program.addCommand(command);
  program
    .command('completion')
    .description('Print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', examples('completion bash > /etc/bash_completion.d/gatehouse', 'completion zsh >> ~/.zshrc'))
    .action((shell: (typeof shells)[number]) => {
      out(completionScript(program, shell));
    });

  function printFiles({ text, files, variables }: WrittenFiles, json: true | undefined): void {
    out(json ? `${JSON.stringify({ files, variables })}\n` : text);
  }

  /** The URL of the first network that a key may use. Undefined if the network files here are invalid or have none. */
  function callUrl(key: string, slugs: string | undefined): string | undefined {
    const { NETWORKS_DIR, HOST, PORT } = settings();
    try {
      const allowed = slugs?.split(',').map((slug) => slug.trim());
      const network = readNetworks(NETWORKS_DIR, env).find(({ slug }) => allowed?.includes(slug) !== false);
      const base = network && (network.baseUrls[0] ?? `${addressOf(reachable(HOST), PORT)}/${network.slug}`);
      return base && `${base}/v3/${key}`;
    } catch (error) {
      if (error instanceof NetworkFilesError) return undefined;
      throw error;
    }
  }

  /** One unit if the file of UNITS_FILE is invalid: `check` says so. */
  function pricedLookup(): number {
    try {
      return lookupUnits([readUnits(settings().UNITS_FILE, undefined, methodFacts)]);
    } catch (error) {
      if (error instanceof NetworkFilesError) return 1;
      throw error;
    }
  }

  /** `check --live` and `doctor`. Validates the files first, because they are the most likely cause of a failure. */
  async function runDoctor(asJson: boolean, limit: string): Promise<void> {
    const limitS = Number(limit);
    if (!(limitS >= 0.1 && limitS <= 600)) throw new SettingsError(['--limit: expected seconds, from 0.1 to 600']);
    const active = settings();
    requireNetworks(active);
    const { ok, text } = checkNetworks(active, env, asJson);
    if (!ok) {
      (asJson ? out : err)(text);
      exitCode = exitCodes.configuration.code;
      return;
    }
    const connections = active.UPSTREAM_CONNECTIONS;
    const responseMaxBytes = processBounds.upstreamResponseMaxBytes;
    const showsProgress = stderr.isTTY === true && !asJson;
    const [{ diagnose }, { openTransport }] = await Promise.all([
      import('./doctor/diagnose.ts'),
      import('./networks/open-transport.ts'),
    ]);
    const diagnosis = await diagnose({
      networks: readNetworks(active.NETWORKS_DIR, env),
      settings: active,
      timeoutMs: limitS * 1000,
      open: (upstream) => openTransport(upstream, { connections, responseMaxBytes }),
      onProgress: (done, all) => {
        if (showsProgress) stderr.write(done === all ? '\r\x1b[K' : `\rtested ${done} of ${all} …`);
      },
    });
    if (asJson) out(`${JSON.stringify(diagnosis)}\n`);
    else stdout.write(showDiagnosis(diagnosis, painter(stdout.isTTY === true, env)));
    if (!diagnosis.ok) exitCode = exitCodes.failed.code;
  }

  setUp(program);
  try {
    // Without a command, the help is the result, not an error.
    await program.parseAsync(args.length > 0 ? args : ['--help'], { from: 'user' });
    return exitCode;
  } catch (error) {
    return exitCodeFor(error, err, settings);
  }

  /** A command that is made apart does not inherit these from the program. */
  function setUp(command: Command): void {
    command.exitOverride().configureOutput({ writeOut: out, writeErr: err });
    for (const one of command.commands) setUp(one);
  }
}

/**
 * Requires network files: in production, a folder of them that does not exist is a mistake. Elsewhere the package's own are a
 * first try.
 */
function requireNetworks({ NODE_ENV, NETWORKS_DIR }: Settings): void {
  if (NODE_ENV !== 'production' || !isPackageFolder(NETWORKS_DIR)) return;
  const text = `there is no folder ${resolve(NETWORKS_DIR)}: ${commandName} init writes it, or set NETWORKS_DIR`;
  throw new SettingsError([text]);
}
