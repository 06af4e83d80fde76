// `npm run bench -- NAME`: one of the benches and their pages. Without a name: the scenarios of docs/benchmarks.md.
import { spawnSync } from 'node:child_process';

const format = 'prettier --write --log-level warn docs';
const generate = `${format} && npm run -s generate`;

/** Programs below dist/bench/, with the command that finishes the pages that they write. */
const benches = {
  scenarios: { program: 'run' },
  batches: { program: 'batch-delay' },
  'call-path': { program: 'call-path' },
  capacity: { program: 'capacity/capacity' },
  failover: { program: 'failover', after: generate },
  fairness: { program: 'fairness/fair-shares' },
  indexer: { program: 'indexer', after: generate },
  machine: { program: 'machine', after: generate },
  mutations: { program: 'soak/find-mutations' },
  replicas: { program: 'replicas/replicas' },
  simulation: { program: 'simulation/simulation' },
  soak: { program: 'soak/soak' },
  sockets: { program: 'subscriptions', args: ['--write'], after: format },
  stalls: { program: 'stalls/stalls' },
  steps: { program: 'steps' },
  transactions: { program: 'transactions', after: generate },
  verify: { program: 'verify', after: generate },
};
/** Tests of faults, which measure the tables of docs/measured/faults.md. */
const faults = 'vitest run --no-file-parallelism --reporter=dot test/faults/';

const [first = '', ...rest] = process.argv.slice(2);
const isOption = first === '' || first.startsWith('-');
const name = isOption ? 'scenarios' : first;
const args = isOption ? process.argv.slice(2) : rest;
const bench = benches[name];
if (bench === undefined && name !== 'faults') {
  console.error(`npm run bench -- NAME: ${[...Object.keys(benches), 'faults'].join(', ')}`);
  process.exit(2);
}

function run(command, commandArgs, env = {}) {
  const options = { stdio: 'inherit', shell: commandArgs === undefined, env: { ...process.env, ...env } };
  const { status } = spawnSync(command, commandArgs ?? [], options);
  if (status !== 0) process.exit(status ?? 1);
}

if (bench === undefined) {
  run('command -v redis-server || command -v valkey-server || { echo "install Redis or Valkey first" >&2; exit 1; }');
  run(faults, undefined, { WRITE_DOCS: 'yes' });
  run(generate);
} else {
  // Without rolldown's list of its 100 files: warnings and errors only.
  run('npm run -s compile', undefined, { CONSOLA_LEVEL: '1' });
  run(process.execPath, [`dist/bench/${bench.program}.js`, ...(bench.args ?? []), ...args]);
  if (bench.after !== undefined) run(bench.after);
}
