import { providerNames, providers, type ProviderName } from './providers.generated.ts';

/** Options of an upstream that a provider's URLs may have. */
export const urlOptions = ['key', 'endpoint'] as const;

export type UrlOption = (typeof urlOptions)[number];

/** The providers that serve a chain. */
export function providersOf(chainId: number): ProviderName[] {
  return providerNames.filter((name) => providers[name].chains[chainId] !== undefined);
}

/** The options that the URLs of a provider require. */
export function requiredOptions(name: ProviderName): UrlOption[] {
  return urlOptions.filter((option) => providers[name].url.includes(`{${option}}`));
}
