import { runCommand as run } from '../../gateway/program.ts';

/** What a command printed, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The whole environment of the command. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Working directory. Default: that of this process. */
  readonly folder?: string;
  /** Standard input. */
  readonly input?: string;
}

/** Ends with the command that runs. A process has one working directory, so that commands run one after the other. */
let last: Promise<unknown> = Promise.resolve();

/** Runs `gatehouse <args>` in this process, which costs a hundredth of a process. It must not be a `start` that succeeds. */
export function runCommand(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran = last.then(() => runAlone(args, options));
  last = ran.catch(() => undefined);
  return ran;
}

async function runAlone(args: readonly string[], { env = {}, folder, input = '' }: RunOptions): Promise<Ran> {
  const before = process.cwd();
  // Threads have no working directory of their own.
  if (folder !== undefined) process.chdir(folder);
  let [stdout, stderr] = ['', ''];
  const stdin = (async function* () {
    await Promise.resolve();
    yield Buffer.from(input);
  })();
  try {
    const code = await run(args, {
      ...{ env, stdin },
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
    });
    return { code, stdout, stderr };
  } finally {
    if (folder !== undefined) process.chdir(before);
  }
}
