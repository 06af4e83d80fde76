import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../support/eventually.ts';
import type { ToolFolder } from './tool-folder.ts';
import { tracked } from '../support/child-processes.ts';

const START_TIMEOUT_MS = 180_000;

export interface HardhatNode {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts `hardhat node` in a folder on a free port: real node software that mines any number of blocks at once. */
export async function startHardhatNode(tools: ToolFolder, chainId: number): Promise<HardhatNode> {
  const args = ['node', '--hostname', '127.0.0.1', '--port', '0', '--chain-id', String(chainId)];
  const [file, ...words] = tools.hardhatCommand(args);
  const env = { ...tools.env, CI: 'true', NO_COLOR: '1', GATEWAY_URL: 'http://127.0.0.1' };
  const child = tracked(spawn(file, words, { cwd: tools.path, env, stdio: ['ignore', 'pipe', 'inherit'] }));
  const exited = once(child, 'exit');
  let url: string | undefined;
  let printed = '';
  // The node prints each request, and the addresses of its accounts with their keys.
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (url === undefined) printed += text;
    url ??= /JSON-RPC server at (http:\S+?)\/?\s/.exec(printed)?.[1];
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  try {
    await eventually(() => url !== undefined || child.exitCode !== null, START_TIMEOUT_MS);
    if (url === undefined) throw new Error(`hardhat node ended: ${printed}`);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
