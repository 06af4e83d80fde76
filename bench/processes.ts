import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const children = new Set<ChildProcess>();

/** Starts a program that ends with this one, or before by `stopAll`. @param stdio errors are shown unless told otherwise */
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

export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined || child.exitCode !== null) throw new Error(`${child.spawnfile} did not start`);
  return child.pid;
}

/** Ports on the loopback address that nobody listened on a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await delay(50);
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}

/** The number after `--name` on the command line. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
}

/** Waits until the gateway at this port says that it is ready. */
export async function untilReady(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await delay(50);
  }
  throw new Error('the gateway did not become ready');
}
