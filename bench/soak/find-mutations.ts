import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { removeFolder, stopAllAndWait } from '../processes.ts';
import { Random } from '../random.ts';
import { runChainFaults } from './chain-faults.ts';
import { ChainNetwork } from './chain-network.ts';
import { CheckedNetwork, networks } from './checked-network.ts';
import { EDITS_VARIABLE } from './mutation-hooks.ts';
import { mutations, type Mutation } from './mutations.ts';
import { SoakGateway } from './soak-gateway.ts';
import { Violations, type ViolationKind } from './violations.ts';

/**
 * Takes one mend after the other out of a gateway, and shows that the checker of the soak finds the defect. Exits with 1 if
 * it does not find one in time.
 *
 *   npm run bench -- mutations [--seed 1 --seconds 120 --only <name>]
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { seed: text, seconds: text, only: text } });
const seed = Number(values.seed ?? 1);
const forMs = Number(values.seconds ?? 120) * 1_000;
const BLOCK_MS = 1_000;

interface Found {
  readonly kind: ViolationKind;
  readonly afterMs: number;
}

const only = mutations.find(({ name }) => name === values.only);
if (only === undefined) process.exitCode = runAll();
else {
  const found = await findViolation(only);
  const result = found === undefined ? 'NOT FOUND' : `${found.kind} after ${(found.afterMs / 1_000).toFixed(0)} s`;
  console.log(`| ${only.takenOut} | \`${only.network}\` | ${result} |`);
  process.exit(found === undefined ? 1 : 0);
}

/** Each in a process of its own. @returns 1 if a defect was not found */
function runAll(): number {
  const script = fileURLToPath(import.meta.url);
  const statuses = mutations.map(({ name }) => {
    const args = [script, ...process.argv.slice(2), '--only', name];
    return spawnSync(process.execPath, args, { stdio: 'inherit' }).status;
  });
  return statuses.every((status) => status === 0) ? 0 : 1;
}

/** Kind of the violation; undefined: the checker found none of the kinds in time. */
async function findViolation({ name, edits, network, kinds }: Mutation): Promise<Found | undefined> {
  const options = networks.find((one) => one.name === network);
  if (options === undefined) throw new Error(`there is no network ${network}`);
  const random = new Random(seed);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutation-'));
  const chain = await ChainNetwork.start({ ...options, blockMs: BLOCK_MS }, new Random(random.between(1, 1e9)));
  try {
    chain.mine();
    const hooks = new URL('mutation-hooks.js', import.meta.url).href;
    const changed = { args: ['--import', hooks], env: { [EDITS_VARIABLE]: JSON.stringify(edits) } };
    const gateway = await SoakGateway.start(name, folder, { [network]: chain.file() }, changed);
    await gateway.untilServing(network);
    const startedAt = performance.now();
    const deadline = startedAt + forMs;
    const finding = new Promise<Found>((resolve) => {
      const violations = new Violations(Infinity, startedAt, () => {
        const kind = violations.kinds.find((one) => kinds.includes(one));
        if (kind !== undefined) resolve({ kind, afterMs: performance.now() - startedAt });
      });
      const checked = new CheckedNetwork(gateway, chain, violations, () => false);
      // Calls fail when the gateway stops.
      checked.run(random, deadline).catch(() => undefined);
    });
    void runChainFaults(chain, random, deadline);
    return await Promise.race([finding, delay(forMs, undefined)]);
  } finally {
    await stopAllAndWait();
    await chain.close();
    removeFolder(folder);
  }
}
