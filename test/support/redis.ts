import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { tracked } from './child-processes.ts';

/** A Redis process of one test, without data on disk. The test must call `stop()`. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends it with SIGKILL, as a crash would. Its data is lost. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port, empty. */
  readonly restart: () => Promise<void>;
  /** Pauses it with SIGSTOP: connections stay open and nothing responds. */
  readonly pause: () => void;
  readonly resume: () => void;
  /**
   * Sends a command on a connection of its own and returns the response as redis-cli prints it: an element per line.
   * @throws ReplyError the error of Redis
   */
  readonly cli: (...args: string[]) => Promise<string>;
  readonly stop: () => Promise<void>;
}

export interface RedisStart {
  readonly port?: number;
  /** A configuration file, which a Sentinel also writes. */
  readonly config?: string;
  /** Additional arguments of redis-server. */
  readonly args?: readonly string[];
  /** Text in its output once it is ready. */
  readonly ready?: string;
}

/** Starts a Redis without persistence on a loopback port, by default a free one. */
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
    cli: (...args) => sendCommand(`redis://127.0.0.1:${port}`, ...args),
    stop: kill,
  };
}

/** A loopback port that is free, below those that systems give to outgoing connections and to servers on port 0. */
export async function freePort(): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 20_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
}

/** `cli` of a Redis at a URL, which may have a user and a password. */
export async function sendCommand(url: string, name = '', ...args: string[]): Promise<string> {
  const options = { enableReadyCheck: false, disableClientInfo: true, retryStrategy: null, maxRetriesPerRequest: 0 };
  const client = new Redis(url, { ...options, protocol: 2, lazyConnect: true });
  // The call rejects with it too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return linesOf(await client.call(name, ...args)).trim();
  } finally {
    client.disconnect();
  }
}

function linesOf(response: unknown): string {
  if (Array.isArray(response)) return response.map(linesOf).join('\n');
  // ioredis makes an object of what HGETALL returns.
  if (typeof response === 'object' && response !== null) return Object.entries(response).flat().map(linesOf).join('\n');
  return response === null ? '' : String(response as string | number);
}

async function launch(
  port: number,
  { config, args: more = [], ready = 'Ready to accept connections' }: RedisStart,
): Promise<ChildProcess> {
  // A replica writes a dump there, which another Redis in the same folder would load.
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
  // A Sentinel, the only kind with a configuration file, does not accept --save and --appendonly.
  const args = config === undefined ? [...address, '--save', '', '--appendonly', 'no'] : [config, ...address];
  const child = tracked(spawn(inject('redisServer'), [...args, ...more], { stdio: ['ignore', 'pipe', 'pipe'] }));
  child.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
  });

  let output = '';
  await new Promise<void>((resolve, reject) => {
    const onOutput = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes(ready)) resolve();
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error(`redis-server on port ${port} did not start:\n${output}`));
    });
  });
  return child;
}
