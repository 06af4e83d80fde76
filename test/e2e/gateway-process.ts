import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { eventually } from '../support/eventually.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { tracked } from '../support/child-processes.ts';
import type { Ran } from '../support/run-command.ts';

const ownProgram = join(packageRoot, 'bin/gatehouse.js');

/** A `gatehouse` command that runs or has ended. */
export interface GatehouseProcess {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ended>;
  signal(name: NodeJS.Signals): void;
}

export interface Ended {
  /** Null if a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Gateway extends GatehouseProcess {
  /** `http://127.0.0.1:<port>`, from the banner. */
  readonly address: string;
  readonly banner: string;
  /** Sends SIGTERM, and waits for the end. */
  stop(): Promise<Ended>;
}

/** A working directory for one test, with the files of its processes. */
export class Workplace extends CommandFolder {
  readonly #bin: string;
  readonly #processes = new Set<ChildProcess>();

  /** @param bin another program than that of this checkout */
  constructor(bin = ownProgram) {
    super();
    this.#bin = bin;
  }

  /** Starts `gatehouse <args>` in this folder. From the environment of this process, it gets PATH only. */
  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}): GatehouseProcess {
    const child = tracked(
      spawn(process.execPath, [this.#bin, ...args], {
        cwd: this.folder,
        env: { PATH: process.env['PATH'], ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    this.#processes.add(child);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code, signal) => {
        this.#processes.delete(child);
        resolve({ code, signal, stdout, stderr });
      });
    });
    return {
      pid: child.pid ?? -1,
      stdout: () => stdout,
      stderr: () => stderr,
      ended,
      signal: (name) => void child.kill(name),
    };
  }

  /** Runs a command in the process of the test; that of another program in its own process. */
  override async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    if (this.#bin === ownProgram) return super.run(args, env);
    const { code, stdout, stderr } = await this.spawn(args, env).ended;
    return { code: code ?? -1, stdout, stderr };
  }

  /** Starts a gateway, on a free port unless `PORT` is given, and waits for its banner. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<Gateway> {
    const started = this.spawn(['start'], { PORT: '0', ...env });
    await untilStarted(started, () => isFull(started.stdout()));
    const banner = started.stdout();
    const address = /^Gatehouse \S+ listens on (\S+)$/m.exec(banner)?.[1];
    if (address === undefined) throw new Error(`the banner has no address:\n${banner}`);
    const stop = (): Promise<Ended> => {
      started.signal('SIGTERM');
      return started.ended;
    };
    return { ...started, banner, address: address.replace('0.0.0.0', '127.0.0.1'), stop };
  }

  /** Stops running processes, and removes the folder. */
  override async close(): Promise<void> {
    const ends = [...this.#processes].map((child) => new Promise((resolve) => child.once('close', resolve)));
    // Not SIGKILL, so that a gateway stops its local chain.
    for (const child of this.#processes) child.kill('SIGTERM');
    await Promise.all(ends);
    await super.close();
  }
}

/** Waits for the start of a process. @throws Error with its exit and output if it ends before, or takes a minute (rejects with it) */
export async function untilStarted(
  started: Pick<GatehouseProcess, 'stdout' | 'stderr'> & { readonly ended: Promise<Pick<Ended, 'code'>> },
  isStarted: () => boolean,
): Promise<void> {
  const failure = await Promise.race([
    started.ended.then(({ code }) => `ended with code ${code}`),
    eventually(isStarted, 60_000).then(
      () => undefined,
      () => 'did not start within 60 s',
    ),
  ]);
  if (failure !== undefined) throw new Error(`the process ${failure}:\n${started.stdout()}${started.stderr()}`);
}

/** The banner is written at once, so that it is complete once its last part has begun. */
function isFull(stdout: string): boolean {
  return stdout.includes('\nKeys: ') && stdout.endsWith('\n');
}

/** Ids of the processes of this machine with a text in their command line. */
export function processesWith(text: string): number[] {
  return commandLines()
    .filter(([, line]) => line.includes(text))
    .map(([pid]) => pid);
}

function commandLines(): [pid: number, line: string][] {
  if (existsSync('/proc/self/cmdline')) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map((pid) => [Number(pid), commandLine(pid)]);
  }
  const lines = execFileSync('ps', ['-Ao', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.map((line) => [parseInt(line, 10), line]);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended meanwhile
  }
}
