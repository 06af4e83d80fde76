import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/redis.ts';
import { postToEngine } from './engine.ts';
import { initGeth, startGethProcess, type GethProcess } from './geth-process.ts';

/** A geth process with a chain in a temporary folder, which `stop()` deletes. */
export type Geth = Pick<GethProcess, 'url' | 'socketUrl' | 'stop'>;

export interface Genesis {
  readonly config: { readonly chainId: number; readonly [name: string]: unknown };
  readonly alloc: Readonly<Record<string, { readonly balance: string; readonly code?: string }>>;
  readonly [name: string]: unknown;
}

const APIS = 'eth,net,web3';
/** Namespaces of all methods in the conversations of execution-apis. */
const SUITE_APIS = 'eth,net,web3,debug,txpool,testing';

/** The genesis of geth's development chain, with its newest forks. */
export function devGenesis(binary: string): Genesis {
  const text = execFileSync(binary, ['--dev', 'dumpgenesis'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(text) as Genesis;
}

/** A development chain with geth's newest forks that mines a block for each transaction. */
export function startDevGeth(binary: string, chainId: number, rich: string, apis = APIS): Promise<Geth> {
  const { config, alloc, ...rest } = devGenesis(binary);
  const genesis = {
    ...rest,
    config: { ...config, chainId },
    alloc: { ...alloc, [rich.slice(2)]: { balance: `0x${(10n ** 21n).toString(16)}` } },
  };
  const folder = makeFolder();
  const args = ['--networkid', String(chainId)];
  initGeth({ binary, folder: folder.path, args }, JSON.stringify(genesis));
  return startGeth(folder, binary, ['--dev', ...args], apis);
}

/** The chain of execution-apis, with all forks from Frontier to Osaka. */
export interface SuiteChain {
  readonly chainId: number;
  /** Starts a geth on a copy of the imported chain, so that what it is sent stays in that copy. */
  start(): Promise<Geth>;
  delete(): void;
}

/** Imports the chain of execution-apis. @param suite holds genesis.json, chain.rlp, headfcu.json */
export function importSuiteChain(binary: string, suite: string): SuiteChain {
  const genesis = readFileSync(join(suite, 'genesis.json'), 'utf8');
  const head = readFileSync(join(suite, 'headfcu.json'), 'utf8');
  const { chainId } = (JSON.parse(genesis) as Genesis).config;
  const args = ['--state.scheme', 'path', '--gcmode', 'archive', '--syncmode', 'full', '--networkid', String(chainId)];
  const imported = makeFolder();
  try {
    initGeth({ binary, folder: imported.path, args }, genesis);
    execFileSync(binary, ['--datadir', imported.path, ...args, 'import', join(suite, 'chain.rlp')], { stdio: 'pipe' });
  } catch (error) {
    imported.delete();
    throw error;
  }
  return {
    chainId,
    async start() {
      const folder = makeFolder();
      cpSync(imported.path, folder.path, { recursive: true });
      const geth = await startGeth(folder, binary, [...args, '--rpc.allow-unprotected-txs'], SUITE_APIS);
      const text = await postToEngine(geth.engineUrl, head);
      if (text.includes('"status":"VALID"')) return geth;
      await geth.stop();
      throw new Error(`geth rejected the head: ${text}`);
    },
    delete: () => {
      imported.delete();
    },
  };
}

interface Folder {
  readonly path: string;
  delete(): void;
}

function makeFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-geth-'));
  return {
    path,
    delete: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** @param folder deleted by `stop()`, and if geth does not start */
async function startGeth(folder: Folder, binary: string, args: readonly string[], apis: string): Promise<GethProcess> {
  try {
    const [port, enginePort] = [await freePort(), await freePort()];
    const alone = [...args, '--maxpeers', '0'];
    const geth = await startGethProcess({ binary, folder: folder.path, args: alone, apis, port, enginePort });
    const stop = async (): Promise<void> => {
      await geth.stop();
      folder.delete();
    };
    return { ...geth, stop };
  } catch (error) {
    folder.delete();
    throw error;
  }
}
