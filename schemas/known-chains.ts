import { createRequire } from 'node:module';
import type { KnownChain } from '../gateway/network-files/chains/known-chain.ts';

/** What we take of a chain as viem describes it. */
interface ViemChain {
  readonly id: number;
  readonly name: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: { readonly default: { readonly http: readonly string[] } };
  readonly blockExplorers?: { readonly default: { readonly url: string } };
  /** Chains of the ZK stack have this. */
  readonly custom?: { readonly getEip712Domain?: unknown };
}

/**
 * Chains by id, as viem has them: a development package, so that what is written here need not be installed. Chains on
 * somebody's own machine are left out; where several have one id, the first by viem's name for it stands.
 */
export function knownChains(): Readonly<Partial<Record<string, KnownChain>>> {
  // Not `import`: that would have the compiler read the types of all 740, at each first start.
  const exported = createRequire(import.meta.url)('viem/chains') as Readonly<Record<string, unknown>>;
  const chains: Partial<Record<string, KnownChain>> = {};
  for (const name of Object.keys(exported).toSorted()) {
    const chain = exported[name];
    if (!isChain(chain)) continue;
    const rpc = chain.rpcUrls.default.http.filter((url) => url.startsWith('https://') && URL.canParse(url));
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
