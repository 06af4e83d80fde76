import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { JWT_SECRET } from './engine.ts';
import { tracked } from '../support/child-processes.ts';

/** A geth process on a data folder, which remains when the process ends. */
export interface GethProcess {
  readonly url: string;
  readonly socketUrl: string;
  readonly engineUrl: string;
  /** @param signal geth writes its state to disk after SIGTERM, and not after SIGKILL */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface GethStart {
  readonly binary: string;
  /** The data folder, after `initGeth`. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly apis: string;
  /** Port of HTTP and WebSocket. */
  readonly port: number;
  readonly enginePort: number;
}

const READY_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;

/** Writes the genesis block of a new chain into a data folder. */
export function initGeth(
  { binary, folder, args }: Pick<GethStart, 'binary' | 'folder' | 'args'>,
  genesis: string,
): void {
  const file = join(folder, 'genesis.json');
  writeFileSync(file, genesis);
  execFileSync(binary, ['--datadir', folder, ...args, 'init', file], { stdio: 'pipe' });
}

/** Starts geth, and waits until it responds. */
export async function startGethProcess(start: GethStart): Promise<GethProcess> {
  const { binary, folder, args, apis, port, enginePort } = start;
  writeFileSync(join(folder, 'jwt'), JWT_SECRET);
  const child = tracked(
    spawn(
      binary,
      [
        ...['--datadir', folder, ...args, '--nodiscover', '--nat', 'none', '--port', '0', '--ipcdisable'],
        ...['--http', '--http.addr', '127.0.0.1', '--http.port', String(port), '--http.api', apis],
        ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', String(port), '--ws.api', apis],
        ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', String(enginePort)],
        ...['--authrpc.jwtsecret', join(folder, 'jwt'), '--verbosity', '2'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    ),
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-2_000);
  });
  const ended = once(child, 'exit');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop: GethProcess['stop'] = async (signal = 'SIGTERM') => {
    child.kill(signal);
    await eventually(hasEnded, STOP_TIMEOUT_MS).catch(() => child.kill('SIGKILL'));
    if (!hasEnded()) await ended;
  };

  const url = `http://127.0.0.1:${port}`;
  try {
    await untilResponding(url, () => !hasEnded());
  } catch (error) {
    await stop();
    throw new Error(`geth did not start: ${log}`, { cause: error });
  }
  return { url, socketUrl: `ws://127.0.0.1:${port}`, engineUrl: `http://127.0.0.1:${enginePort}`, stop };
}

async function untilResponding(url: string, isRunning: () => boolean): Promise<void> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
  const headers = { 'content-type': 'application/json' };
  await eventually(async () => {
    if (!isRunning()) throw new Error('the process has ended');
    return (await fetch(url, { method: 'POST', headers, body }).catch(() => undefined))?.ok === true;
  }, READY_TIMEOUT_MS);
}
