import type { Provider } from '../gateway/network-files/options/provider.ts';

/** A provider of `provider-urls.yaml`, with a source for each list of chains. */
export interface ProviderSource extends Pick<Provider, 'url' | 'websocketUrl' | 'keyPerChain'> {
  readonly name: string;
  readonly lists: readonly ChainList[];
}

interface ChainList {
  /** Where the names of these chains were read. */
  readonly source: string;
  /** The source has WebSocket URLs of these chains too. */
  readonly websocket?: true;
  readonly chains: Readonly<Record<string, string>>;
}

/** The providers without their sources, as a module: one line for each chain, so that a diff shows each change. */
export function providerModule(sources: readonly ProviderSource[]): string {
  const names = sources.map(({ name }) => name);
  const providers = Object.fromEntries(sources.map((source) => [source.name, providerOf(source)]));
  return [
    '// Generated from schemas/provider-urls.yaml by `npm run generate`. Do not edit.',
    "import type { Provider } from './provider.ts';",
    '',
    `export const providerNames = [${names.map((name) => `'${name}'`).join(', ')}] as const;`,
    '',
    'export type ProviderName = (typeof providerNames)[number];',
    '',
    `export const providers: Readonly<Record<ProviderName, Provider>> = ${JSON.stringify(providers, undefined, 2)};`,
    '',
  ].join('\n');
}

function providerOf({ url, websocketUrl, keyPerChain, lists }: ProviderSource): Provider {
  const chains = lists.flatMap((list) => Object.entries(list.chains));
  const withWebSocket = lists.flatMap(({ websocket, chains: named }) => (websocket === true ? Object.keys(named) : []));
  return {
    url,
    ...(websocketUrl !== undefined && { websocketUrl }),
    ...(keyPerChain !== undefined && { keyPerChain }),
    chains: Object.fromEntries(chains),
    ...(withWebSocket.length > 0 && { websocketChains: withWebSocket.map(Number) }),
  };
}
