import { createRequire } from 'node:module';
import { parseUrl } from '../gateway/config/parse-url.ts';
import type { KnownChain } from '../gateway/network-files/known-chain.ts';

/** The members of viem's description of a chain that are used here. */
interface ViemChain {
  readonly id: number;
  readonly name: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: { readonly default: { readonly http: readonly string[] } };
  readonly blockExplorers?: { readonly default: { readonly url: string } };
  /** Member of chains of the ZK stack. */
  readonly custom?: { readonly getEip712Domain?: unknown };
}

/**
 * The chains of viem by chain id. viem is a development dependency: the generated file makes it unnecessary at run time.
 * Chains without an https URL, such as local ones, are left out. If several have one id, the first by viem's name is used.
 */
export function knownChains(): Readonly<Partial<Record<string, KnownChain>>> {
  // Not `import`: the compiler would then read the types of all 740 chains.
  const exported = createRequire(import.meta.url)('viem/chains') as Readonly<Record<string, unknown>>;
  const chains: Partial<Record<string, KnownChain>> = {};
  for (const name of Object.keys(exported).toSorted()) {
    const chain = exported[name];
    if (!isChain(chain)) continue;
    const rpc = chain.rpcUrls.default.http.filter((url) => url.startsWith('https://') && parseUrl(url) !== undefined);
    if (rpc.length > 0) chains[chain.id] ??= knownChain(chain, rpc);
  }
  return chains;
}

function knownChain(chain: ViemChain, rpc: readonly string[]): KnownChain {
  const explorer = chain.blockExplorers?.default.url;
  return {
    name: chain.name.trim(),
    currency: chain.nativeCurrency,
    ...(explorer?.startsWith('https://') === true && { explorer }),
    rpc,
    ...(chain.custom?.getEip712Domain !== undefined && { zks: true }),
  };
}

function isChain(value: unknown): value is ViemChain {
  return typeof value === 'object' && value !== null && 'id' in value && 'rpcUrls' in value;
}
