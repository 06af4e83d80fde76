import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { onPath } from '../support/find-program.ts';
import { tracked } from '../support/child-processes.ts';

/** A client in another language, and the program that uses it. Packages and build outputs are outside of the repository. */
export interface Language {
  readonly name: string;
  /** Programs that build and run it. */
  readonly tools: readonly string[];
  readonly build: () => Promise<void>;
  readonly command: readonly [string, ...string[]];
}

/** What a program prints: JSON, one line for each step. */
export interface Step {
  readonly step: string;
  readonly result?: unknown;
  readonly error?: string;
}

const MAX_RUN_MS = 240_000;

function language(
  name: string,
  tools: readonly string[],
  make: (source: string, output: string) => Pick<Language, 'build' | 'command'>,
): Language {
  const output = join(tmpdir(), 'gatehouse-languages', name);
  return { name, tools, ...make(join(import.meta.dirname, name.replace('.', '')), output) };
}

/** @throws Error (rejects with it) if the command fails */
async function run(source: string, env: Record<string, string>, command: string, ...args: string[]): Promise<void> {
  const child = tracked(
    spawn(command, args, {
      cwd: source,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}`);
}

export const languages: readonly Language[] = [
  language('web3.py', ['python3'], (source, output) => ({
    async build() {
      if (!existsSync(output)) await run(source, {}, 'python3', '-m', 'venv', output);
      await run(source, {}, join(output, 'bin/pip'), 'install', '--quiet', '-r', 'requirements.txt');
    },
    command: [join(output, 'bin/python'), join(source, 'day.py')],
  })),
  language('go-ethereum', ['go'], (source, output) => ({
    async build() {
      await run(source, {}, 'go', 'build', '-o', output, '.');
    },
    command: [output],
  })),
  language('alloy', ['cargo'], (source, output) => ({
    async build() {
      await run(source, { CARGO_TARGET_DIR: output }, 'cargo', 'build', '--quiet');
    },
    command: [join(output, 'debug/gatehouse-alloy-day')],
  })),
  language('web3j', ['mvn', 'java'], (source, output) => ({
    async build() {
      const dependencies = `-DoutputDirectory=${join(output, 'dependencies')}`;
      const goals = ['compile', 'dependency:copy-dependencies'];
      await run(source, {}, 'mvn', '-q', '-B', `-DbuildFolder=${output}`, ...goals, dependencies);
    },
    command: ['java', '-cp', [join(output, 'classes'), join(output, 'dependencies/*')].join(delimiter), 'Day'],
  })),
];

/** @throws Error that names every missing program */
export function requireTools(): void {
  const missing = languages.flatMap(({ name, tools }) =>
    tools.filter((tool) => onPath([tool]) === undefined).map((tool) => `${tool} (for ${name})`),
  );
  if (missing.length > 0) throw new Error(`npm run test:all -- languages needs on PATH: ${missing.join(', ')}`);
  mkdirSync(join(tmpdir(), 'gatehouse-languages'), { recursive: true });
}

/**
 * Runs a program until it ends. @param input what the program reads from its standard input, as JSON  @param onStep called for each step
 * @throws Error with the end of its standard error if it prints nothing
 */
export async function runDay(
  { name, command: [command, ...args] }: Language,
  mode: 'day' | 'reject' | 'close' | 'limit' | 'restart',
  input: object,
  onStep?: (step: Step) => unknown,
): Promise<Step[]> {
  const child = tracked(
    spawn(command, [...args, mode], {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: MAX_RUN_MS,
      killSignal: 'SIGKILL',
    }),
  );
  child.stdin.end(JSON.stringify(input));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2_000);
  });
  const steps: Step[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const step = JSON.parse(line) as Step;
    steps.push(step);
    onStep?.(step);
  });
  await once(child, 'close');
  if (steps.length === 0) throw new Error(`${name} printed nothing: ${errors}`);
  return steps;
}
