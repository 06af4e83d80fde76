import type { UpstreamConfig } from './network-config.ts';
import type { Mistake } from './read-network.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Fills `${NAME}` and `${NAME:-default}` in an upstream's URL and headers from the environment. */
export function expandVariables(
  upstream: UpstreamConfig,
  path: Mistake['path'],
  env: Env,
  mistakes: Mistake[],
): UpstreamConfig {
  const expand = (text: string, at: Mistake['path']): string =>
    text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
      const value = env[name];
      if (value !== undefined && value !== '') return value;
      if (fallback !== undefined) return fallback;
      mistakes.push({ path: at, message: `the environment has no ${name}; set it, or write \${${name}:-default}` });
      return '';
    });
  const { url, headers } = upstream;
  const expanded: { -readonly [Name in keyof UpstreamConfig]: UpstreamConfig[Name] } = { ...upstream };
  if (url !== undefined) expanded.url = checkUrl(expand(url, [...path, 'url']), [...path, 'url'], mistakes);
  if (headers !== undefined) {
    const entries = Object.entries(headers).map(([name, value]) => [name, expand(value, [...path, 'headers', name])]);
    expanded.headers = Object.fromEntries(entries) as Record<string, string>;
  }
  return expanded;
}

function checkUrl(url: string, path: Mistake['path'], mistakes: Mistake[]): string {
  // The value is not shown: it may hold a provider's key.
  if (!/^https?:/.test(url) || !URL.canParse(url))
    mistakes.push({ path, message: 'url: expected an http or https URL once variables are filled in' });
  return url;
}
