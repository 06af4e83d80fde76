import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { tracked } from '../support/child-processes.ts';

export interface Ponder {
  /** Number of indexed events, as it prints: its database and its server have one thread. */
  indexed(): number;
  /** Whether it follows the newest blocks, after all that were final when it started. */
  isLive(): boolean;
  readRows(): Promise<readonly Row[]>;
  /** The errors that it has printed, without warnings: on a slow machine, it sends a request again after 10 s. */
  errors(): readonly string[];
  stop(): Promise<void>;
}

/** An event of the counter, as the handler of `ponder-project` stores it. */
export interface Row {
  readonly number: number;
  readonly block: number;
  readonly blockHash: string;
}

/** Places where ponder looks for the files of `ponder-project`. */
const places: Readonly<Record<string, string>> = {
  'package.json': 'package.json',
  'config.js': 'ponder.config.js',
  'schema.js': 'ponder.schema.ts',
  'handlers.js': 'src/handlers.js',
  'api.js': 'src/api/index.ts',
};

/** Folder of this module, also for the compiled one. */
const here = join(packageRoot, 'test/clients');

/** The folder of a package: of `node_modules` here, or of the root. */
function folderOf(name: string): string {
  const [own, root] = [here, packageRoot].map((folder) => join(folder, 'node_modules', name)) as [string, string];
  return existsSync(own) ? own : root;
}

/** Starts `ponder start`, with its database, in a temporary folder. @param env for its configuration @param port on which it serves its rows */
export function startPonder(env: Readonly<Record<string, string>>, port: number): Ponder {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ponder-'));
  for (const [file, place] of Object.entries(places)) {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    cpSync(join(here, 'ponder-project', file), join(folder, place));
  }
  mkdirSync(join(folder, 'node_modules'));
  for (const name of ['hono', 'ponder', 'viem']) symlinkSync(folderOf(name), join(folder, 'node_modules', name));
  const cli = join(folderOf('ponder'), 'dist/esm/bin/ponder.js');
  const options = ['--config', 'ponder.config.js', '--log-format', 'json'];
  const args = [cli, 'start', '-p', String(port), '-H', '127.0.0.1', '--schema', 'test', ...options];
  const common = { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder, PONDER_TELEMETRY_DISABLED: 'true' };
  const child = tracked(
    spawn(process.execPath, args, {
      cwd: folder,
      env: { ...common, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const exited = once(child, 'exit');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (printed += text.toString()));
  return {
    indexed() {
      if (child.exitCode !== null) throw new Error(`ponder ended: ${printed}`);
      return sum(printed.matchAll(/"msg":"Indexed block(?: range)?",[^\n]*"event_count":(\d+)/g));
    },
    isLive: () => printed.includes('"msg":"Started live indexing"'),
    async readRows() {
      return (await (await fetch(`http://127.0.0.1:${port}/numbers`)).json()) as readonly Row[];
    },
    errors: () => printed.split('\n').filter((line) => /^\{"level":[56]0,/.test(line)),
    async stop() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function sum(matches: Iterable<readonly string[]>): number {
  let total = 0;
  for (const [, number] of matches) total += Number(number);
  return total;
}
