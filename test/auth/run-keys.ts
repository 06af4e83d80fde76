import { exitCodeFor } from '../../gateway/cli/exit-code-for.ts';
import { keysCommand, type KeysCommandContext } from '../../gateway/cli/keys.ts';

export interface KeysRun {
  readonly out: string;
  readonly err: string;
  readonly exitCode: number;
}

type KeysSettings = ReturnType<KeysCommandContext['settings']>;

/**
 * Runs `gatehouse keys <args>` in this process.
 * @param settings NETWORKS_DIR defaults to a folder that does not exist, so that `--networks` accepts any slug
 * @param input standard input @param callUrl default: the networks are not known
 */
export async function runKeys(
  settings: Omit<KeysSettings, 'NETWORKS_DIR'> & Partial<KeysSettings>,
  args: readonly string[],
  input = '',
  callUrl?: KeysCommandContext['callUrl'],
): Promise<KeysRun> {
  let [out, err] = ['', ''];
  const command = keysCommand({
    settings: () => ({ NETWORKS_DIR: 'no-such-folder', ...settings }),
    input: (async function* () {
      await Promise.resolve();
      yield Buffer.from(input);
    })(),
    out: (text) => (out += text),
    err: (text) => (err += text),
    ...(callUrl !== undefined && { callUrl }),
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
    return { out, err, exitCode: 0 };
  } catch (error) {
    const exitCode = exitCodeFor(
      error,
      (text) => (err += text),
      () => ({ OPS_PORT: undefined }),
    );
    return { out, err, exitCode };
  }
}
