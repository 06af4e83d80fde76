// `npm run test:all -- NAMES`: the tests that `npm test` does not run, by name; without names, all of them.
// `--write` also writes their tables into docs/. Other arguments are passed on: `npm run test:all -- pages test/pages/pictures`.
import { spawnSync } from 'node:child_process';

const compile = 'npm run -s compile';
/** Version 7. `npx tsc` is it, or 6, which is there for its API: npm links one of both. */
const tsc = 'node node_modules/typescript-7/bin/tsc';
const packages = 'npm ci --prefix test/clients --engine-strict=false --no-audit --no-fund';
const fuzz = `${compile} && ${tsc} -p test/fuzz/tsconfig.build.json`;

/** Projects of vitest.config.ts, with the command that prepares them. Those with `run` are programs of their own. */
const tests = {
  redis: {},
  programs: {},
  properties: {},
  clients: { prepare: `${packages} && ${tsc} -p test/clients` },
  rejections: { prepare: packages },
  languages: {},
  nodes: {},
  pages: {},
  bench: {},
  long: {},
  helm: { prepare: 'npm ci --prefix test/helm --no-audit --no-fund' },
  walkthrough: {},
  recipes: { after: 'prettier --write --log-level warn docs' },
  hours: { prepare: compile },
  abuse: { prepare: `${compile} && ${tsc} -p test/abuse/tsconfig.build.json` },
  fuzz: { prepare: fuzz, run: ['node', 'dist/test/fuzz/fuzz.js'] },
  'fuzz-json': { prepare: fuzz, run: ['node', 'dist/test/fuzz/json.js'] },
  wasm: { prepare: 'npm ci --prefix wasm --no-audit --no-fund', run: ['node', 'wasm/compile.js'] },
  runtimes: { run: ['node', 'test/runtimes/run.js'] },
};

const args = process.argv.slice(2);
const names = args.filter((arg) => arg in tests);
const isWritten = args.includes('--write');
const others = args.filter((arg) => !(arg in tests) && arg !== '--write');
if (names.length === 0 && others.length > 0) {
  console.error(`npm run test:all -- NAMES: ${Object.keys(tests).join(', ')}`);
  process.exit(2);
}

function run(command, commandArgs, env = {}) {
  const shell = commandArgs === undefined;
  const options = { stdio: 'inherit', shell, env: { ...process.env, ...env } };
  return spawnSync(command, commandArgs ?? [], options).status === 0;
}

function passes(name) {
  const { prepare, run: program = ['vitest', 'run'], after } = tests[name];
  // A program of its own may start `npm test`.
  const env = { ...(tests[name].run === undefined && { TESTS: name }), ...(isWritten && { WRITE_DOCS: 'yes' }) };
  const [command, ...first] = program;
  const isPassed =
    (prepare === undefined || run(prepare)) &&
    run(command, [...first, ...others], env) &&
    (after === undefined || run(after));
  return isPassed && (!isWritten || run('prettier --write --log-level warn docs && npm run -s generate'));
}

const failed = (names.length > 0 ? names : Object.keys(tests)).filter((name) => !passes(name));
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exit(1);
}
