import { mkdtempSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readMetrics } from '../../test/metrics/read-metrics.ts';
import { removeFolder, stopAllAndWait } from '../processes.ts';
import { Random } from '../random.ts';
import { runChainFaults } from './chain-faults.ts';
import { ChainNetwork } from './chain-network.ts';
import { CheckedNetwork, networks } from './checked-network.ts';
import { KnownLoad } from './known-load.ts';
import { ProcessDelay } from './process-delay.ts';
import { RecentEvents } from './recent-events.ts';
import { SoakGateway } from './soak-gateway.ts';
import { verdictOf, type RunResult } from './verdict.ts';
import { verifiedResults } from './verified-results.ts';
import { Violations } from './violations.ts';

/**
 * Runs gateways for minutes against scripted chains whose nodes lag, stop, come back, reorg and restart, and checks every
 * response and notification against the true chain. Exits with 1 after a violation, a wrong or missing response, growing
 * memory, or a blocked event loop, and with 2 if the machine had too much other load to find them.
 *
 *   npm run bench -- soak [--seed 1 --minutes 3 --faults on|off --gateways 1|2 --workers 2 --verify off|enforce
 *     --block-ms 1000 --shown 5 --events]
 *
 * With `--verify enforce`, results are proven before they are returned, and none may be disproved: the nodes never lie.
 * `--events` prints the last 200 events of the network before each shown violation.
 */
const ATTEMPT_TIMEOUT_MS = 1_000;
/** Faults end before the run does, by the time after which the gateway knows all nodes again. */
const CALM_MS = 25_000;
/** Calls that nodes of the known calls get from the gateway itself. */
const methodsOfGateway = ['eth_getBlockByNumber', 'eth_chainId'];

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    minutes: text,
    faults: text,
    gateways: text,
    workers: text,
    verify: text,
    'block-ms': text,
    shown: text,
    events: { type: 'boolean' },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const forMs = Number(values.minutes ?? 3) * 60_000;
const hasFaults = values.faults !== 'off';
const blockMs = Number(values['block-ms'] ?? 1_000);
const verify = values.verify === 'enforce' ? 'enforce' : undefined;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'));
const closing: (() => Promise<unknown>)[] = [];
let startedAt = performance.now();
try {
  const verdict = verdictOf(await soak());
  console.log(verdict.text);
  process.exitCode = verdict.exitCode;
} finally {
  await stopAllAndWait();
  for (const close of closing) await close();
  removeFolder(folder);
}

function openEvents(): RecentEvents | undefined {
  return values.events === true ? new RecentEvents() : undefined;
}

async function soak(): Promise<RunResult> {
  const load = {
    seed,
    minutes: forMs / 60_000,
    faults: hasFaults,
    gateways: Number(values.gateways ?? 1),
    workers: Number(values.workers ?? 1),
    blockMs,
    verify,
  };
  console.log(`${JSON.stringify(load)}, ${cpus()[0]?.model ?? '?'} × ${cpus().length}, ${process.version}`);
  // If processes are delayed by half of the attempt timeout, a working node may miss that timeout.
  const processDelay = new ProcessDelay(ATTEMPT_TIMEOUT_MS / 2);
  closing.push(() => {
    processDelay.stop();
    return Promise.resolve();
  });
  processDelay.watch(process.pid);
  const wasDelayed = (since: number): boolean => processDelay.wasDelayed(since);
  const random = new Random(seed);
  const chains: ChainNetwork[] = [];
  for (const options of networks) {
    const chain = await ChainNetwork.start(
      { ...options, blockMs, verify },
      new Random(random.between(1, 1e9)),
      openEvents(),
    );
    chains.push(chain);
    closing.push(() => chain.close());
  }
  const shown = Number(values.shown ?? 5);
  let wrongShown = 0;
  const knownEvents = openEvents();
  const known = await KnownLoad.start({
    ...{ seed, hasFaults, timeoutMs: ATTEMPT_TIMEOUT_MS, wasDelayed },
    events: knownEvents,
    onWrong: (wrong, call) => {
      if (wrongShown++ >= shown) return;
      if (knownEvents !== undefined) console.log(knownEvents.describe(startedAt, [call, ...methodsOfGateway]));
      console.log(`${((performance.now() - startedAt) / 1_000).toFixed(2)} s known calls: ${wrong}`);
    },
  });
  closing.push(() => known.close());
  for (const chain of chains) chain.mine();

  const gateways: SoakGateway[] = [];
  const slugs = ['known', ...chains.map(({ options }) => options.name)];
  for (let index = 0; index < load.gateways; index++) {
    const name = `gateway-${index}`;
    const files = Object.fromEntries(chains.map((chain) => [chain.options.name, chain.file(name)]));
    const env = { WORKERS: String(load.workers) };
    const gateway = await SoakGateway.start(name, folder, { known: known.file(name), ...files }, { env });
    for (const pid of gateway.pids) processDelay.watch(pid);
    gateways.push(gateway);
  }
  // A process that has just started is slow, and does not know the heads of its upstreams.
  for (const gateway of gateways) for (const slug of slugs) await gateway.untilServing(slug);
  startedAt = performance.now();
  const deadline = startedAt + forMs;
  const faultDeadline = hasFaults ? deadline - CALM_MS : startedAt;
  const checks = gateways.flatMap((gateway) =>
    chains.map((chain) => {
      const violations = new Violations(shown, startedAt, (violation) => {
        if (chain.events !== undefined) console.log(chain.events.describe(startedAt));
        console.log(`${gateway.name} ${chain.options.name}: ${violation} [${[...chain.activeFaults].join(', ')}]`);
      });
      return new CheckedNetwork(gateway, chain, violations, wasDelayed);
    }),
  );
  const running = checks.map((check) => check.run(random, deadline));
  const faults = chains.map(async (chain) => {
    const counts = await runChainFaults(chain, new Random(random.between(1, 1e9)), faultDeadline);
    return `${chain.options.name} ${JSON.stringify(counts)}`;
  });
  const knownUrls = gateways.map((gateway) => gateway.urlOf('known'));
  await Promise.all([
    ...running,
    known.run(knownUrls, deadline),
    ...gateways.map((gateway) => gateway.sample(startedAt, forMs)),
  ]);
  console.log(`faults: ${(await Promise.all(faults)).join(', ')}`);
  for (const { name, violations, checker, ends } of checks) {
    checker.checkMeanLag(performance.now(), name);
    const { checked, errors, excused, olderStates, lag } = checker.counts;
    const lagText = `lag of latest: mean ${lag.mean.toFixed(2)}, worst ${lag.worst} blocks, ${lag.samples} samples`;
    console.log(
      `${name}: ${checked} reads, ${errors} errors, ${excused} excused by a delay, ${olderStates} of state older than before; ${lagText}; ended: ${JSON.stringify(ends)}`,
    );
    for (const line of violations.summary()) console.log(`  ${line}`);
  }
  const { maxMs, waitPercent } = processDelay;
  console.log(`this process, with the callers and nodes, was delayed by up to ${maxMs.toFixed(0)} ms`);
  console.log(`of all processes, one waited for a CPU for ${waitPercent.toFixed(0)} % of the time`);
  const total = checks.reduce((sum, { violations }) => sum + violations.total, 0);
  const failures = [
    ...(total > 0 ? [`${total} violations`] : []),
    ...known.failures(),
    ...gateways.flatMap((gateway) => gateway.failures(verify !== undefined)),
    ...(await Promise.all(gateways.map(verificationFailures))).flat(),
  ];
  const reads = checks.map(({ name, checker: { counts } }) => {
    return { kind: `reads of ${name}`, excused: counts.excused, total: counts.checked };
  });
  return { failures, outcomes: [...reads, known.excused], waitPercent };
}

async function verificationFailures(gateway: SoakGateway): Promise<string[]> {
  if (verify === undefined) return [];
  const { samples } = await readMetrics(gateway.address);
  return networks.flatMap(({ name }) => {
    const { proofs, disproved } = verifiedResults(samples, name);
    console.log(`${gateway.name} ${name}: verified ${JSON.stringify(proofs)}, ${disproved} disproved`);
    if (disproved > 0) return [`${name}: ${disproved} right results were disproved`];
    return (proofs['root'] ?? 0) > 0 ? [] : [`${name}: nothing was proven`];
  });
}
