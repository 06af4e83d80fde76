import { runCommand } from '../support/run-command.ts';

export interface KeysRun {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

/**
 * Runs `gatehouse keys <args>` in this process.
 * @param settings NETWORKS_DIR defaults to a folder that does not exist, so that `--networks` accepts any slug
 */
export async function runKeys(
  settings: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  input = '',
): Promise<KeysRun> {
  const env = { NETWORKS_DIR: 'no-such-folder', ...settings };
  const { stdout: out, stderr: err, code: exitCode } = await runCommand(['keys', ...args], { env, input });
  return { out, err, exitCode };
}
