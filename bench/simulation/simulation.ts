import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installClock } from '../../gateway/clock/clock.ts';
import { installRandom } from '../../gateway/clock/random.ts';
import { SimulatedClock } from '../../test/support/simulated-clock.ts';
import { SimulatedRandom } from '../../test/support/simulated-random.ts';
import { networks } from '../soak/checked-network.ts';
import { EDITS_VARIABLE } from '../soak/mutation-hooks.ts';
import { mutations } from '../soak/mutations.ts';
import { simulate } from './simulate.ts';

/**
 * Runs a network of the soak in simulated time: an hour takes seconds, and the same seed gives the same events. Prints the
 * result as JSON. Exits with 1 after a violation.
 *
 *   npm run bench -- simulation [--seed 1 --minutes 60 --network nodes|polled|pool|restarts --verify enforce|require --hostile
 *     --events --mutation <name>]
 *
 * With `--hostile`, one node at a time forges blocks. Then the exit code is 1 if a node with the blocks of the chain was marked, or a
 * result was wrong with `--verify require`.
 *
 * `--events` prints the last 200 events before each shown violation. `--mutation` takes a mend of `npm run bench -- mutations` out
 * of the gateway, and runs the network in which the defect shows.
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    minutes: text,
    network: text,
    mutation: text,
    verify: text,
    hostile: { type: 'boolean' },
    events: { type: 'boolean' },
  },
});
if (values.mutation !== undefined && process.env[EDITS_VARIABLE] === undefined) runMutation(values.mutation);
else await run(networkOf(values.network ?? 'nodes'));

/** Run in a process of its own, whose modules are changed when they are loaded. */
function runMutation(name: string): void {
  const mutation = mutations.find((one) => one.name === name);
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
  const hooks = new URL('../soak/mutation-hooks.js', import.meta.url).href;
  const args = ['--import', hooks, fileURLToPath(import.meta.url), '--network', mutation.network];
  const env = { ...process.env, [EDITS_VARIABLE]: JSON.stringify(mutation.edits) };
  const { status } = spawnSync(process.execPath, [...args, ...process.argv.slice(2)], { env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function networkOf(name: string): (typeof networks)[number] {
  const network = networks.find((one) => one.name === name);
  if (network === undefined) throw new Error(`there is no network ${name}`);
  return network;
}

async function run(known: (typeof networks)[number]): Promise<void> {
  const verify = (['enforce', 'require'] as const).find((level) => level === values.verify);
  const network = { ...known, verify, isHostile: values.hostile === true };
  const seed = Number(values.seed ?? 1);
  const clock = new SimulatedClock();
  installClock(clock);
  installRandom(new SimulatedRandom(seed));
  const options = { seed, minutes: Number(values.minutes ?? 60), network, showsEvents: values.events === true };
  const { texts, ...rest } = await clock.advanceUntil(simulate(options));
  for (const violation of texts) console.error(violation);
  console.log(JSON.stringify(rest));
  // With a hostile node, callers may get errors that are violations otherwise.
  const isWrong = rest.wrongMarks > 0 || (verify === 'require' && rest.kinds.includes('wrong'));
  process.exitCode = (values.hostile === true ? isWrong : rest.violations > 0) ? 1 : 0;
}
