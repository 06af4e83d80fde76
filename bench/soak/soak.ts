import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stopAll } from '../processes.ts';
import { Random } from '../random.ts';
import { runChainFaults } from './chain-faults.ts';
import { ChainNetwork } from './chain-network.ts';
import { CheckedNetwork, networks } from './checked-network.ts';
import { KnownLoad } from './known-load.ts';
import { ProcessDelay } from './process-delay.ts';
import { SoakGateway } from './soak-gateway.ts';
import { Violations } from './violations.ts';

/**
 * Runs gateways for minutes against scripted chains whose nodes lag, stop, come back, reorg and restart, and checks every
 * response and notification against the true chain. Exits with 1 after a violation, a wrong or missing response, growing
 * memory, or a blocked event loop.
 *
 *   npm run soak [-- --seed 1 --minutes 3 --faults on|off --gateways 1|2 --block-ms 1000 --shown 5]
 */
const ATTEMPT_TIMEOUT_MS = 1_000;
/** Faults end before the run does, by the time after which the gateway knows all nodes again. */
const CALM_MS = 25_000;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { seed: text, minutes: text, faults: text, gateways: text, 'block-ms': text, shown: text },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const forMs = Number(values.minutes ?? 3) * 60_000;
const hasFaults = values.faults !== 'off';
const blockMs = Number(values['block-ms'] ?? 1_000);
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-soak-'));
const closing: (() => Promise<unknown>)[] = [];
try {
  const failures = await soak();
  console.log(failures.length === 0 ? 'passed' : failures.join('; '));
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  stopAll();
  for (const close of closing) await close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** @returns what was not as promised */
async function soak(): Promise<string[]> {
  const load = { seed, minutes: forMs / 60_000, faults: hasFaults, gateways: Number(values.gateways ?? 1), blockMs };
  console.log(`${JSON.stringify(load)}, ${cpus()[0]?.model ?? '?'} × ${cpus().length}, ${process.version}`);
  // If this process is delayed by half of the attempt timeout, a working node may miss that timeout.
  const processDelay = new ProcessDelay(ATTEMPT_TIMEOUT_MS / 2);
  closing.push(() => {
    processDelay.stop();
    return Promise.resolve();
  });
  const wasDelayed = (since: number): boolean => processDelay.wasDelayed(since);
  const random = new Random(seed);
  const chains: ChainNetwork[] = [];
  for (const options of networks) {
    const chain = await ChainNetwork.start({ ...options, blockMs }, new Random(random.between(1, 1e9)));
    chains.push(chain);
    closing.push(() => chain.close());
  }
  const shown = Number(values.shown ?? 5);
  let wrongShown = 0;
  const known = await KnownLoad.start({
    ...{ seed, hasFaults, timeoutMs: ATTEMPT_TIMEOUT_MS, wasDelayed },
    onWrong: (wrong) => {
      if (wrongShown++ < shown) console.error(`known calls: ${wrong}`);
    },
  });
  closing.push(() => known.close());
  for (const chain of chains) chain.mine();

  const files = { known: known.file() };
  for (const chain of chains) Object.assign(files, { [chain.options.name]: chain.file() });
  const gateways: SoakGateway[] = [];
  for (let index = 0; index < load.gateways; index++) {
    gateways.push(await SoakGateway.start(`gateway-${index}`, folder, files));
  }
  // A process that has just started is slow, and does not know the heads of its upstreams.
  for (const gateway of gateways) for (const slug of Object.keys(files)) await gateway.untilServing(slug);
  const startedAt = performance.now();
  const deadline = startedAt + forMs;
  const faultDeadline = hasFaults ? deadline - CALM_MS : startedAt;
  const checks = gateways.flatMap((gateway) =>
    chains.map((chain) => {
      const violations = new Violations(shown, startedAt, (violation) => {
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
    const { checked, errors, olderStates, lag } = checker.counts;
    const lagText = `lag of latest: mean ${lag.mean.toFixed(2)}, worst ${lag.worst} blocks, ${lag.samples} samples`;
    console.log(
      `${name}: ${checked} reads, ${errors} errors, ${olderStates} of state older than before; ${lagText}; ended: ${JSON.stringify(ends)}`,
    );
    for (const line of violations.summary()) console.log(`  ${line}`);
  }
  console.log(`this process, with the callers and nodes, was delayed by up to ${processDelay.maxMs.toFixed(0)} ms`);
  const total = checks.reduce((sum, { violations }) => sum + violations.total, 0);
  return [
    ...(total > 0 ? [`${total} violations`] : []),
    ...known.failures(),
    ...gateways.flatMap((gateway) => gateway.failures()),
  ];
}
