import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { freePort } from './redis.ts';
import { tracked } from './child-processes.ts';

export interface Ganache {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a ganache 7 process on a free port: real node software other than anvil. */
export async function startGanache({ chainId }: { chainId: number }): Promise<Ganache> {
  const cli = join(packageRoot, 'node_modules/ganache/dist/node/cli.js');
  const flags = [
    '--server.host=127.0.0.1',
    `--server.port=${await freePort()}`,
    `--chain.chainId=${chainId}`,
    '--wallet.seed=gatehouse',
  ];
  const child = tracked(spawn(process.execPath, [cli, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] }));
  const exited = once(child, 'exit');
  const port = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [, found] = /RPC Listening on 127\.0\.0\.1:(\d+)/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    exited.then(() => {
      reject(new Error(`ganache ended before it listened: ${output.slice(-500)}`));
    }, reject);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
