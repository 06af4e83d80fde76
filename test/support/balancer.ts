import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { findProgram, type Program } from './find-program.ts';
import { freePort } from './redis.ts';
import { tracked } from './child-processes.ts';

/** A real load balancer process in front of several gateways. The test must call `stop()`. */
export interface Balancer {
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  /** What it wrote to standard error. */
  errorOutput(): string;
  stop(): Promise<void>;
}

export interface BalancerKind {
  readonly program: Program;
  /** @param folder for the balancer's own files */
  readonly configuration: (folder: string, port: number) => string;
  readonly args: (folder: string, configuration: string) => readonly string[];
}

export async function startBalancer({ program, configuration, args }: BalancerKind): Promise<Balancer> {
  const path = findProgram(program);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-balancer-'));
  const port = await freePort();
  const file = join(folder, 'configuration');
  writeFileSync(file, configuration(folder, port));
  const child = tracked(spawn(path, args(folder, file), { stdio: ['ignore', 'ignore', 'pipe'] }));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  };
  await eventually(() => isOpen(port), 5_000).catch(async () => {
    await stop();
    throw new Error(`${path} did not start:\n${errors}`);
  });
  return { address: `http://127.0.0.1:${port}`, errorOutput: () => errors, stop };
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}
