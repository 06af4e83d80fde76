import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { inject } from 'vitest';

/** A real Redis of a test's own. Whoever starts one calls `stop()` in the end; nothing of it stays. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Stops it at once, as a crash would; what it held is lost. */
  readonly kill: () => Promise<void>;
  /** Starts it anew on the same port, empty. */
  readonly restart: () => Promise<void>;
  /** Lets it hang: connections stay, nothing answers. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Runs redis-cli against it, as an operator would, and gives what that printed. */
  readonly cli: (...args: string[]) => Promise<string>;
  readonly stop: () => Promise<void>;
}

export interface RedisStart {
  readonly port?: number;
  /** A file that it reads first, and writes into. */
  readonly config?: string;
  /** More of what redis-server takes. */
  readonly args?: readonly string[];
  /** What it says when it is there. */
  readonly ready?: string;
}

const running = new Set<ChildProcess>();
// Where a run is broken off, `stop()` may never be called.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a Redis that keeps nothing on disk, on a loopback port: a free one unless `port` is given. */
export async function startRedis(options: RedisStart = {}): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  let child = await launch(port, options);

  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    restart: async () => {
      await kill();
      child = await launch(port, options);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    cli: async (...args) => {
      const program = inject('redisServer').replace(/-server$/, '-cli');
      const { stdout } = await promisify(execFile)(program, ['-p', String(port), ...args]);
      return stdout.trim();
    },
    stop: kill,
  };
}

/** A port on the loopback address that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function launch(
  port: number,
  { config, args: more = [], ready = 'Ready to accept connections' }: RedisStart,
): Promise<ChildProcess> {
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', tmpdir()];
  // A Sentinel, which has a file, knows nothing of the others.
  const args = config === undefined ? [...address, '--save', '', '--appendonly', 'no'] : [config, ...address];
  const child = spawn(inject('redisServer'), [...args, ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('exit', () => running.delete(child));

  let said = '';
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      if (said.includes(ready)) resolve();
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error(`redis-server on port ${port} did not start:\n${said}`));
    });
  });
  return child;
}
