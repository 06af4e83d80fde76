import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../config/log.ts';
import { packageRoot } from '../config/package.ts';

/** A node of our own on this machine: anvil from npm, with a chain in memory that is gone when it stops. */
export interface LocalNode {
  readonly url: string;
  readonly pid: number | undefined;
  /** Resolves when the node answers; rejects, saying why, when it ends before that or takes too long. */
  readonly ready: Promise<void>;
  /** Ends the node; resolves when its process is gone. May be called twice, and at any time. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 10_000;
const PROBE_EVERY_MS = 20;
const KILL_TIMEOUT_MS = 2_000;
const MAX_ERROR_CHARS = 500;

/** The platforms that anvil is published for, by Node's `platform-arch`. */
const anvilPackages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64/bin/anvil',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64/bin/anvil',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64/bin/anvil',
  'linux-x64': '@foundry-rs/anvil-linux-amd64/bin/anvil',
  'win32-x64': '@foundry-rs/anvil-win32-amd64/bin/anvil.exe',
};

/** The path of anvil's binary; undefined when it is not installed (production) or not made for this platform. */
export function findAnvil(): string | undefined {
  const binary = anvilPackages[`${process.platform}-${process.arch}`];
  if (binary === undefined) return undefined;
  try {
    // The binary itself, not the package's `bin`: that is a Node process in between, which a SIGKILL would orphan.
    return createRequire(join(packageRoot, 'package.json')).resolve(binary);
  } catch {
    return undefined;
  }
}

export async function startLocalNode({ chainId, log }: { chainId: number; log: Log }): Promise<LocalNode> {
  const binary = findAnvil();
  if (binary === undefined) throw new Error('anvil is not installed, or not made for this platform');

  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { file, args, options } = localNodeCommand(binary, { chainId, port });
  const child = spawn(file, args, options);
  const ended = whenEnded(child);
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);

  let state: 'starting' | 'ready' | 'stopping' = 'starting';
  const ready = whenReady(url, chainId, ended).then(() => {
    if (state === 'starting') state = 'ready';
  });
  // Whoever waits for it hears of it; when nobody does, a chain that did not start must not end the gateway.
  ready.catch(() => undefined);

  void ended.then((reason) => {
    process.off('exit', killAtExit);
    if (state === 'ready') log.warn({ reason }, 'the local node ended by itself');
  });

  async function stop(): Promise<void> {
    state = 'stopping';
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), KILL_TIMEOUT_MS);
    await ended;
    clearTimeout(kill);
  }

  return { url, pid: child.pid, ready, stop };
}

/**
 * How anvil is started so that it neither ends too early nor stays behind:
 *
 * - In a process group of its own (`detached`), so that Ctrl-C in a terminal reaches the gateway alone, which needs the
 *   node until its last calls are answered.
 * - Behind a lifeline (descriptor 3), a pipe whose other end only we hold. A shell in the background reads from it: a
 *   line says that the node has ended, an end without a line that we are gone, however we died, and so must the node.
 *   The node takes the place of the shell that was started (`exec`), so it has the process id that we know.
 *
 * Windows has no such shell: there, the node outlives a gateway that was killed.
 */
export function localNodeCommand(
  binary: string,
  { chainId, port }: { chainId: number; port: number },
): { file: string; args: string[]; options: SpawnOptions } {
  const anvilArgs = ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), '--quiet'];
  anvilArgs.push('--no-cors'); // else any page in this machine's browser could write to the chain
  anvilArgs.push('--max-persisted-states', '0'); // else old states pile up in ~/.foundry, and stay there
  // Nothing of our environment: it may hold secrets, and FOUNDRY_… settings that change how anvil behaves.
  const coalesced = { env: {}, cwd: '/', windowsHide: true } satisfies SpawnOptions;

  if (process.platform === 'win32') {
    return { file: binary, args: anvilArgs, options: { ...coalesced, stdio: ['ignore', 'ignore', 'pipe'] } };
  }
  const script = '{ read -r _ <&3 || kill -9 $$; } 2>/dev/null & exec "$@" 3<&-';
  return {
    file: '/bin/sh',
    args: ['-c', script, 'sh', binary, ...anvilArgs],
    options: { ...coalesced, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
  };
}

/** One JSON-RPC call to a node of ours, for what is off the hot path. */
export async function callLocalNode(url: string, method: string, params: unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const upstreamResponse = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (upstreamResponse.error !== undefined) throw new Error(`${method}: ${upstreamResponse.error.message}`);
  return upstreamResponse.result;
}

/** Resolves, never rejects, with the reason in words. */
function whenEnded(child: ChildProcess): Promise<string> {
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_ERROR_CHARS);
  });
  const lifeline = child.stdio[3] as Writable | undefined;
  lifeline?.on('error', () => undefined); // the reader was killed: nothing left to tell it

  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(`it could not be started (${error.code ?? error.name})`);
    });
    child.once('exit', () => lifeline?.end('\n'));
    // Not `exit`: its last words may still be under way then.
    child.once('close', (code, signal) => {
      const words = complaint.trim().replaceAll(/\s+/g, ' ');
      resolve((signal === null ? `exit code ${code ?? -1}` : signal) + (words === '' ? '' : `: ${words}`));
    });
  });
}

async function whenReady(url: string, chainId: number, ended: Promise<string>): Promise<void> {
  const probing = new AbortController();
  const reason = await Promise.race([
    untilAnswered(url, chainId, probing.signal),
    ended.then((why) => `it ended before it answered: ${why}`),
    delay(READY_TIMEOUT_MS, `it did not answer within ${READY_TIMEOUT_MS / 1000} s`, { signal: probing.signal }),
  ]);
  probing.abort();
  if (reason !== undefined) throw new Error(`the local node did not start: ${reason}`);
}

async function untilAnswered(url: string, chainId: number, signal: AbortSignal): Promise<undefined> {
  const expected = `0x${chainId.toString(16)}`;
  while (!signal.aborted) {
    const response = await callLocalNode(url, 'eth_chainId').catch(() => undefined);
    if (response === expected) return;
    await delay(PROBE_EVERY_MS);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
