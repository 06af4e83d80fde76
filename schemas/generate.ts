import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { artefacts } from './artefacts.ts';
import { docsPages } from './docs-tables.ts';
import { findProblems } from './find-problems.ts';
import { findStaleWasm } from './find-stale-wasm.ts';
import { metricsPage } from './metrics-page.ts';
import { readSources } from './read-sources.ts';

function isStale(path: string, text: string): boolean {
  try {
    return readFileSync(join(packageRoot, path), 'utf8') !== text;
  } catch {
    return true;
  }
}

function write(path: string, text: string): void {
  const target = join(packageRoot, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  console.log(`wrote ${path}`);
}

function fail(sentences: readonly string[]): void {
  if (sentences.length > 0) process.exitCode = 1;
  for (const sentence of sentences) console.error(sentence);
}

/** Writes the generated files that have changed; with `--check`, only reports them. */
function generate(checkOnly: boolean): void {
  const sources = readSources(join(packageRoot, 'schemas'));
  const problems = findProblems(sources);
  if (problems.length > 0) {
    fail(problems);
    return;
  }
  const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');
  const networks = join(packageRoot, 'networks');
  const pages = docsPages({ ...sources, networks }, read);
  const written = [...artefacts(sources), ...pages, ['docs/reference/metrics.md', metricsPage()] as const];
  const stale = written.filter(([path, text]) => isStale(path, text));
  if (checkOnly) fail(stale.map(([path]) => `${path} is stale: run \`npm run generate\``));
  else for (const [path, text] of stale) write(path, text);
  // It has another command: its compiler is not among the packages of the root.
  fail(findStaleWasm(read));
}

function main(args: readonly string[]): void {
  try {
    generate(args.includes('--check'));
  } catch (error) {
    // An error in a YAML file needs its message only, not the stack.
    fail([error instanceof Error ? error.message : String(error)]);
  }
}

main(process.argv.slice(2));
