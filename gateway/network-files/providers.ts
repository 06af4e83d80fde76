import { type Diagnostic, formatPath, type Path } from './diagnostics.ts';
import type { networkOptions } from './options/network-options.ts';
import type { ValueOf } from './options/option.ts';
import { type ProviderName, providerNames, providers } from './options/providers.generated.ts';

type UpstreamEntry = ValueOf<typeof networkOptions.upstreams>[number];

/**
 * Makes an ordinary upstream, with a name and URLs, of one with `provider`. Its other options stay.
 * @param diagnostics what the provider does not serve, and options that its URLs lack or do not have, are added
 */
export function expandProvider(
  upstream: UpstreamEntry,
  chainId: number,
  path: Path,
  diagnostics: Diagnostic[],
): UpstreamEntry {
  const { provider, key, endpoint, ...others } = upstream;
  if (provider === undefined) return upstream;
  const values = { key, endpoint };
  diagnostics.push(...checkOptions(provider, values, path));
  const named = { ...others, name: others.name === '' ? provider : others.name };
  const { url, websocketUrl, chains, websocketChains = [] } = providers[provider];
  const chain = chains[chainId];
  if (chain === undefined) {
    diagnostics.push(notServed(provider, chainId, [...path, 'provider']));
    return named;
  }
  const fill = (pattern: string): string =>
    pattern.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'chain' ? chain : (values[name as UrlOption] ?? '')));
  return {
    ...named,
    url: fill(url),
    ...(websocketUrl !== undefined && websocketChains.includes(chainId) && { websocketUrl: fill(websocketUrl) }),
  };
}

/** An option that the provider's URLs need is missing, or one that they do not have is given. */
function checkOptions(provider: ProviderName, values: Partial<Record<UrlOption, unknown>>, path: Path): Diagnostic[] {
  const required = requiredOptions(provider);
  return urlOptions.flatMap((option): Diagnostic[] => {
    const at = [...path, option];
    const isGiven = values[option] !== undefined;
    if (isGiven === required.includes(option)) return [];
    if (!isGiven) return [{ path, message: `${formatPath(at)} is missing: URLs of ${provider} have one` }];
    return [{ path: at, isAtName: true, message: `${formatPath(at)}: remove it: URLs of ${provider} have none` }];
  });
}

function notServed(provider: ProviderName, chainId: number, path: Path): Diagnostic {
  const others = providersOf(chainId);
  const advice = others.length === 0 ? 'no known provider does: write its url' : `these do: ${others.join(', ')}`;
  return { path, message: `${formatPath(path)}: ${provider} does not serve chain ${chainId}; ${advice}` };
}

/** Options of an upstream that a provider's URLs may have. */
const urlOptions = ['key', 'endpoint'] as const;

export type UrlOption = (typeof urlOptions)[number];

/** The providers that serve a chain. */
export function providersOf(chainId: number): ProviderName[] {
  return providerNames.filter((name) => providers[name].chains[chainId] !== undefined);
}

/** The options that the URLs of a provider require. */
export function requiredOptions(name: ProviderName): UrlOption[] {
  return urlOptions.filter((option) => providers[name].url.includes(`{${option}}`));
}
