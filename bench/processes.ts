import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const children = new Set<ChildProcess>();
process.once('exit', stopAll);
// A signal ends a process without `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Starts a program. It ends with this process, or by `stopAll`. @param stdio default: only standard error is shown */
export function start(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  stdio: StdioOptions = ['ignore', 'ignore', 'inherit'],
): ChildProcess {
  const child = spawn(file, args, { env, stdio });
  child.on('error', (error) => {
    console.error(`${file}: ${error.message}`);
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export function stopAll(): void {
  for (const child of children) child.kill('SIGTERM');
}

/** Sends SIGTERM to all programs and waits until they end. */
export async function stopAllAndWait(): Promise<void> {
  await Promise.all([...children].map(stop));
}

/** Sends SIGTERM to a program and waits until it ends. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** Removal of a folder, also while programs end that write to it. */
export function removeFolder(folder: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let attempt = 1; ; attempt++) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      Atomics.wait(pause, 0, 0, 100);
    }
  }
}

export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined || child.exitCode !== null) throw new Error(`${child.spawnfile} did not start`);
  return child.pid;
}

/** Loopback ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await delay(50);
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}

/** User and system time of a process, from clock ticks (100 per second on Linux). */
export function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Resident memory of a process in MB (1,000,000 bytes). */
export function residentMb(pid: number): number {
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / 1e6;
}

/** The number after `--name` on the command line. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
}

/** The texts after each `--name` on the command line. */
export function texts(name: string): string[] {
  return process.argv.flatMap((one, at, all) => (one === `--${name}` ? [all[at + 1] ?? ''] : []));
}

/** The command of this run, for a page: with its arguments, and without paths of this machine. */
export function commandLine(script: string): string {
  const args = process.argv.slice(2).map((text) => text.replace(/^(.+)=.*\/.*$/, '$1=PATH'));
  const quoted = args.map((text) => (text.includes(' ') ? `"${text}"` : text));
  return [script, ...(args.length > 0 && !script.includes(' -- ') ? ['--'] : []), ...quoted].join(' ');
}

/** The Node that runs the programs under test: that of `--node PATH`, or this one. */
export const node = texts('node')[0] ?? process.execPath;

/** Waits up to a minute until a GET of this URL returns 200. */
export async function untilReady(url: string): Promise<void> {
  await untilFetched(url, ({ ok }) => Promise.resolve(ok));
}

/** Waits up to a minute until a call to this URL gets a result. */
export async function untilServing(url: string): Promise<void> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
  };
  await untilFetched(url, async (response) => (await response.text()).includes('"0x1"'), init);
}

async function untilFetched(
  url: string,
  accepts: (response: Response) => Promise<boolean>,
  init?: RequestInit,
): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    const isReady = await fetch(url, init).then(accepts, () => false);
    if (isReady) return;
    await delay(25);
  }
  throw new Error(`${url} did not become ready`);
}

/** Waits up to ten seconds until this port accepts connections. */
export async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await delay(25);
  }
  throw new Error(`port ${port} does not accept connections`);
}
