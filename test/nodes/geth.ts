import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/redis.ts';
import { eventually } from '../support/eventually.ts';

/** A geth process with a chain in a temporary folder, which `stop()` deletes. */
export interface Geth {
  readonly url: string;
  readonly socketUrl: string;
  stop(): Promise<void>;
}

interface Genesis {
  readonly config: { readonly chainId: number; readonly [name: string]: unknown };
  readonly alloc: Readonly<Record<string, { readonly balance: string }>>;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const APIS = 'eth,net,web3';
const JWT_SECRET = 'ab'.repeat(32);

/** A development chain with geth's newest forks that mines a block for each transaction. */
export function startDevGeth(binary: string, chainId: number, rich: string): Promise<Geth> {
  const text = execFileSync(binary, ['--dev', 'dumpgenesis'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { config, alloc, ...rest } = JSON.parse(text) as Genesis;
  const genesis = {
    ...rest,
    config: { ...config, chainId },
    alloc: { ...alloc, [rich.slice(2)]: { balance: `0x${(10n ** 21n).toString(16)}` } },
  };
  return startGeth(binary, JSON.stringify(genesis), ['--dev', '--networkid', String(chainId)]);
}

/** The chain of execution-apis, with all forks from Frontier to Osaka. @param folder holds genesis.json, chain.rlp, headfcu.json */
export async function startSuiteGeth(binary: string, folder: string): Promise<Geth> {
  const genesis = readFileSync(join(folder, 'genesis.json'), 'utf8');
  const { chainId } = (JSON.parse(genesis) as Genesis).config;
  const args = ['--state.scheme', 'path', '--gcmode', 'archive', '--syncmode', 'full', '--networkid', String(chainId)];
  return startGeth(binary, genesis, args, {
    chainFile: join(folder, 'chain.rlp'),
    head: readFileSync(join(folder, 'headfcu.json'), 'utf8'),
  });
}

/** @param imported the blocks to import, and the engine request that makes the last of them the head */
async function startGeth(
  binary: string,
  genesis: string,
  args: readonly string[],
  imported?: { readonly chainFile: string; readonly head: string },
): Promise<Geth> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-geth-'));
  const [port, enginePort] = [await freePort(), await freePort()];
  writeFileSync(join(folder, 'genesis.json'), genesis);
  writeFileSync(join(folder, 'jwt'), JWT_SECRET);
  const own = ['--datadir', folder, ...args.filter((arg) => arg !== '--dev')];
  execFileSync(binary, [...own, 'init', join(folder, 'genesis.json')], { stdio: 'pipe' });
  if (imported !== undefined) execFileSync(binary, [...own, 'import', imported.chainFile], { stdio: 'pipe' });

  const child = spawn(
    binary,
    [
      ...[
        '--datadir',
        folder,
        ...args,
        '--nodiscover',
        '--maxpeers',
        '0',
        '--nat',
        'none',
        '--port',
        '0',
        '--ipcdisable',
      ],
      ...['--http', '--http.addr', '127.0.0.1', '--http.port', String(port), '--http.api', APIS],
      ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', String(port), '--ws.api', APIS],
      ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', String(enginePort)],
      ...['--authrpc.jwtsecret', join(folder, 'jwt'), '--verbosity', '2'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-2_000);
  });
  const ended = once(child, 'exit');
  const killAtExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const stop = async (): Promise<void> => {
    process.off('exit', killAtExit);
    child.kill('SIGTERM');
    const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await eventually(hasEnded, STOP_TIMEOUT_MS).catch(() => child.kill('SIGKILL'));
    if (!hasEnded()) await ended;
    rmSync(folder, { recursive: true, force: true });
  };

  const url = `http://127.0.0.1:${port}`;
  try {
    await untilResponding(url, () => child.exitCode === null);
    if (imported !== undefined) await setHead(`http://127.0.0.1:${enginePort}`, imported.head);
  } catch (error) {
    await stop();
    throw new Error(`geth did not start: ${log}`, { cause: error });
  }
  return { url, socketUrl: `ws://127.0.0.1:${port}`, stop };
}

async function untilResponding(url: string, isRunning: () => boolean): Promise<void> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
  const headers = { 'content-type': 'application/json' };
  await eventually(async () => {
    if (!isRunning()) throw new Error('the process has ended');
    return (await fetch(url, { method: 'POST', headers, body }).catch(() => undefined))?.ok === true;
  }, READY_TIMEOUT_MS);
}

/** The engine API requires a JSON Web Token with the current time. */
async function setHead(url: string, request: string): Promise<void> {
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const payload = `${encode('{"alg":"HS256","typ":"JWT"}')}.${encode(`{"iat":${Math.floor(Date.now() / 1000)}}`)}`;
  const signature = createHmac('sha256', Buffer.from(JWT_SECRET, 'hex')).update(payload).digest('base64url');
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${payload}.${signature}` };
  const response = await fetch(url, { method: 'POST', headers, body: request });
  const text = await response.text();
  if (!text.includes('"status":"VALID"')) throw new Error(`geth rejected the head: ${text}`);
}
