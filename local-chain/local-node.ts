import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { clock } from '../gateway/clock/clock.ts';
import { findAnvil } from '../gateway/config/find-anvil.ts';
import type { Log } from '../gateway/config/log.ts';
import { ACCOUNT_BALANCE, AccountsFile, type FundedAccounts } from './funded-accounts.ts';

/** A node that the gateway runs on this machine: anvil from npm, with a chain in memory that ends with the process. */
export interface LocalNode {
  readonly url: string;
  readonly pid: number | undefined;
  /** Resolves when the node responds. Rejects with the reason if the node ends first or takes too long. */
  readonly ready: Promise<FundedAccounts>;
  /** Stops the node; resolves when its process has ended. May be called twice, and at any time. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 10_000;
const PROBE_INTERVAL_MS = 20;
const KILL_TIMEOUT_MS = 2_000;
const MAX_ERROR_CHARS = 500;

export async function startLocalNode({ chainId, log }: { chainId: number; log: Log }): Promise<LocalNode> {
  const binary = findAnvil();
  if (binary === undefined) throw new Error('anvil is not installed, or not published for this platform');

  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const accountsFile = new AccountsFile();
  const { file, args, options } = localNodeCommand(binary, { chainId, port, accountsPath: accountsFile.path });
  const child = spawn(file, args, options);
  const ended = whenEnded(child);
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);

  let state: 'starting' | 'ready' | 'stopping' = 'starting';
  const ready = whenReady(url, chainId, accountsFile, ended).then((accounts) => {
    if (state === 'starting') state = 'ready';
    accountsFile.remove();
    return accounts;
  });
  // Without this handler, a rejection that is not awaited would end the gateway.
  ready.catch(() => undefined);

  void ended.then((reason) => {
    process.off('exit', killAtExit);
    accountsFile.remove();
    if (state === 'ready') log.warn({ reason }, 'the local node ended unexpectedly');
  });

  async function stop(): Promise<void> {
    state = 'stopping';
    child.kill('SIGTERM');
    const kill = clock.setTimeout(() => child.kill('SIGKILL'), KILL_TIMEOUT_MS);
    await ended;
    clock.clearTimeout(kill);
  }

  return { url, pid: child.pid, ready, stop };
}

/**
 * The command that starts anvil so that it neither ends before the gateway nor outlives it:
 *
 * - Anvil has its own process group (`detached`). Ctrl-C in a terminal then reaches only the gateway, which needs the node
 *   until the last calls in progress have ended.
 * - Descriptor 3 is a lifeline: a pipe whose write end only the gateway has. A shell in the background reads from it. A
 *   line means that the node has ended. End of file without a line means that the gateway has died, and the shell kills
 *   the node. Anvil replaces the started shell (`exec`), so that it has the process id of `child`.
 *
 * Windows has no such shell: there, the node outlives a killed gateway.
 */
export function localNodeCommand(
  binary: string,
  { chainId, port, accountsPath }: { chainId: number; port: number; accountsPath?: string },
): { file: string; args: string[]; options: SpawnOptions } {
  const anvilArgs = ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), '--quiet'];
  anvilArgs.push('--no-cors'); // without it, any page in a browser of this machine could write to the chain
  anvilArgs.push('--max-persisted-states', '0'); // without it, old states accumulate in ~/.foundry
  anvilArgs.push('--balance', String(ACCOUNT_BALANCE));
  if (accountsPath !== undefined) anvilArgs.push('--config-out', accountsPath);
  // The environment is empty: the gateway's may have secrets, and FOUNDRY_… settings that change anvil's behaviour.
  const commonOptions = { env: {}, cwd: '/', windowsHide: true } satisfies SpawnOptions;

  if (process.platform === 'win32') {
    return { file: binary, args: anvilArgs, options: { ...commonOptions, stdio: ['ignore', 'ignore', 'pipe'] } };
  }
  const script = '{ read -r _ <&3 || kill -9 $$; } 2>/dev/null & exec "$@" 3<&-';
  return {
    file: '/bin/sh',
    args: ['-c', script, 'sh', binary, ...anvilArgs],
    options: { ...commonOptions, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
  };
}

/** Sends one JSON-RPC call to a local node. Not for the hot path. */
export async function callLocalNode(url: string, method: string, params: unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (body.error !== undefined) throw new Error(`${method}: ${body.error.message}`);
  return body.result;
}

/** Resolves with the reason as text when the process has ended; never rejects. */
function whenEnded(child: ChildProcess): Promise<string> {
  let errorText = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(-MAX_ERROR_CHARS);
  });
  const lifeline = child.stdio[3] as Writable | undefined;
  lifeline?.on('error', () => undefined); // the reading shell was killed

  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(`it could not be started (${error.code ?? error.name})`);
    });
    child.once('exit', () => lifeline?.end('\n'));
    // Not `exit`: standard error may not have been read completely then.
    child.once('close', (code, signal) => {
      const detail = errorText.trim().replaceAll(/\s+/g, ' ');
      resolve((signal === null ? `exit code ${code ?? -1}` : signal) + (detail === '' ? '' : `: ${detail}`));
    });
  });
}

async function whenReady(
  url: string,
  chainId: number,
  accountsFile: AccountsFile,
  ended: Promise<string>,
): Promise<FundedAccounts> {
  const probing = new AbortController();
  const result = await Promise.race([
    waitForResponse(url, chainId, accountsFile, probing.signal),
    ended.then((why) => `it ended before it responded: ${why}`),
    clock
      .sleep(READY_TIMEOUT_MS, { signal: probing.signal })
      .then(() => `it did not respond within ${READY_TIMEOUT_MS / 1000} s`),
  ]);
  probing.abort();
  if (typeof result === 'string') throw new Error(`the local node did not start: ${result}`);
  return result;
}

async function waitForResponse(
  url: string,
  chainId: number,
  accountsFile: AccountsFile,
  signal: AbortSignal,
): Promise<FundedAccounts | string> {
  const expected = `0x${chainId.toString(16)}`;
  while (!signal.aborted) {
    const response = await callLocalNode(url, 'eth_chainId').catch(() => undefined);
    const accounts = response === expected ? accountsFile.read() : undefined;
    if (accounts !== undefined) return accounts;
    await clock.sleep(PROBE_INTERVAL_MS);
  }
  return 'the wait for it was cancelled';
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
