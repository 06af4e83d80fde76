import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

/** The genesis of geth's development chain, with its newest forks. */
export function devGenesis(binary: string): Genesis {
  const text = execFileSync(binary, ['--dev', 'dumpgenesis'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(text) as Genesis;
}

/** A development chain with geth's newest forks that mines a block for each transaction. */
export function startDevGeth(binary: string, chainId: number, rich: string): Promise<Geth> {
  const { config, alloc, ...rest } = devGenesis(binary);
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
  const deleteFolder = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const own = args.filter((arg) => arg !== '--dev');
    initGeth({ binary, folder, args: own }, genesis);
    if (imported !== undefined) {
      execFileSync(binary, ['--datadir', folder, ...own, 'import', imported.chainFile], { stdio: 'pipe' });
    }
    const [port, enginePort] = [await freePort(), await freePort()];
    const alone = [...args, '--maxpeers', '0'];
    const geth = await startGethProcess({ binary, folder, args: alone, apis: APIS, port, enginePort });
    const stop = async (): Promise<void> => {
      await geth.stop();
      deleteFolder();
    };
    if (imported !== undefined) {
      const text = await postToEngine(geth.engineUrl, imported.head);
      if (!text.includes('"status":"VALID"')) {
        await stop();
        throw new Error(`geth rejected the head: ${text}`);
      }
    }
    return { ...geth, stop };
  } catch (error) {
    deleteFolder();
    throw error;
  }
}
