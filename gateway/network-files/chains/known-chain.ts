import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package.ts';

/** What the world knows of a chain, whoever serves it. */
export interface KnownChain {
  readonly name: string;
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  /** Of a page that shows blocks and transactions. */
  readonly explorer?: string;
  /** Public endpoints, https. */
  readonly rpc: readonly string[];
  /** It has the zks methods. */
  readonly zks?: true;
}

const cache = new Map<number, KnownChain | undefined>();

/** Undefined where viem's list, of which this is made (`npm run generate`), does not have the chain id. */
export function knownChain(chainId: number): KnownChain | undefined {
  if (!cache.has(chainId)) cache.set(chainId, readChain(chainId));
  return cache.get(chainId);
}

function readChain(chainId: number): KnownChain | undefined {
  const text = readFileSync(join(packageRoot, 'schemas/generated/chains.json'), 'utf8');
  const line = text.split('\n').find((each) => each.startsWith(`"${chainId}": `));
  return line === undefined ? undefined : (JSON.parse(line.slice(line.indexOf(' ')).replace(/,$/, '')) as KnownChain);
}
