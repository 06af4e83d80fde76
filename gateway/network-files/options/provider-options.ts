import { providerNames } from '../providers/providers.generated.ts';
import { oneOf, text, type UpstreamOption } from './option.ts';

/** Shorter texts are no keys, but placeholders. The redaction of URLs relies on this length. */
const MIN_KEY_CHARS = 16;

/** Options of an upstream that `expandProvider` replaces by its URLs: no other code reads them. */
export const providerOptions = {
  provider: {
    ...oneOf(...providerNames),
    description:
      'Instead of url: a provider, see docs/networks.md. Its URL for the chain is used, with its WebSocket URL if there is one.',
    replaces: 'upstream',
  },
  key: {
    ...text('key without spaces, such as `${ALCHEMY_KEY}`', '^[^\\s]+$'),
    description: 'Key for the provider, usually `${NAME}` from the environment or `${file:/path}`.',
    hasVariables: true,
    check: checkKey,
    replaces: 'upstream',
  },
  endpoint: {
    ...text('name of an endpoint: letters, digits and hyphens', '^[^\\s]+$'),
    description: "Name of your endpoint, if the provider's URLs have one.",
    hasVariables: true,
    check: checkEndpoint,
    replaces: 'upstream',
  },
} as const satisfies Readonly<Record<string, UpstreamOption>>;

/** A key is a part of a URL, so that it must not need encoding. @param key after variable expansion */
function checkKey(key: string | undefined): string | undefined {
  if (key === undefined || (key.length >= MIN_KEY_CHARS && /^[\w.~-]+$/.test(key))) return undefined;
  return `expected the key alone, not a URL: ${MIN_KEY_CHARS} or more letters, digits, hyphens, dots and underscores`;
}

function checkEndpoint(name: string | undefined): string | undefined {
  return name === undefined || /^[a-z0-9-]+$/i.test(name) ? undefined : 'expected the name alone, not a URL';
}
