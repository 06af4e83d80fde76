import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { CallObject, Client } from './client.ts';
import { tracked } from '../support/child-processes.ts';

/** cast has no command that watches blocks. `cast logs` uses `eth_subscribe`. */
export const castClient: Client = {
  name: 'cast',
  open({ http, ws, privateKey }) {
    async function cast(...args: string[]): Promise<string> {
      const { stdout } = await promisify(execFile)(castBinary(), [...args, '--rpc-url', http], { timeout: 15_000 });
      return stdout.trim();
    }
    return Promise.resolve({
      chainId: async () => Number(await cast('chain-id')),
      blockNumber: async () => Number(await cast('block-number')),
      balance: async (address) => BigInt(await cast('balance', address)),
      storage: (address, position) => cast('storage', address, position),
      transactionsIn: async (hash) =>
        (JSON.parse(await cast('block', hash, '--json')) as { transactions: string[] }).transactions,
      countLogs: async (address) =>
        (JSON.parse(await cast('logs', '--json', '--from-block', '0', '--address', address)) as object[]).length,
      call: (call) => cast('call', ...callArgs(call)),
      estimate: async (call) => BigInt(await cast('estimate', ...callArgs(call))),
      async send({ to, data = '0x' }) {
        const receipt = await cast('send', '--json', '--private-key', privateKey, to, data);
        const { status, blockNumber } = JSON.parse(receipt) as { status: string; blockNumber: string };
        return { hasSucceeded: status === '0x1', block: Number(blockNumber) };
      },
      watchLogs(address, seen) {
        const args = ['logs', '--subscribe', '--address', address, '--rpc-url', ws];
        const child = tracked(spawn(castBinary(), args, { stdio: ['ignore', 'pipe', 'inherit'] }));
        const ended = once(child, 'exit');
        // YAML, because the JSON output delays each log until the next one.
        createInterface({ input: child.stdout }).on('line', (line) => {
          const [, number] = /^\s*blockNumber: (\d+)/.exec(line) ?? [];
          if (number !== undefined) seen(Number(number));
        });
        return Promise.resolve(() => {
          child.kill();
          return ended;
        });
      },
      close: () => Promise.resolve(),
    });
  },
};

function callArgs({ from, to, data = '0x' }: CallObject): string[] {
  return ['--from', from, to, data];
}

/** The native binary: the package's `bin` would start an additional Node process for each call. */
function castBinary(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = process.platform === 'win32' ? 'cast.exe' : 'cast';
  return createRequire(import.meta.url).resolve(`@foundry-rs/cast-${process.platform}-${cpu}/bin/${name}`);
}
