import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../config/package.ts';

/** Public facts about a chain. */
export interface KnownChain {
  readonly name: string;
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  /** URL of a block explorer. */
  readonly explorer?: string;
  /** Public endpoints, https. */
  readonly rpc: readonly string[];
  /** The chain has the zks methods. */
  readonly zks?: true;
}

const cache = new Map<number, KnownChain | undefined>();

/** Chain of an id; undefined for chain ids outside viem's list, from which `npm run generate` creates the file. */
export function knownChain(chainId: number): KnownChain | undefined {
  if (!cache.has(chainId)) cache.set(chainId, readChain(chainId));
  return cache.get(chainId);
}

function readChain(chainId: number): KnownChain | undefined {
  const text = readFileSync(join(packageRoot, 'schemas/generated/chains.json'), 'utf8');
  const line = text.split('\n').find((candidate) => candidate.startsWith(`"${chainId}": `));
  return line === undefined ? undefined : (JSON.parse(line.slice(line.indexOf(' ')).replace(/,$/, '')) as KnownChain);
}
