import { checkBaseUrl, splitBaseUrl } from './options/base-url.ts';
import type { Diagnostic } from './diagnostics/diagnostic.ts';
import type { NetworkConfig } from './network-config.ts';

/** Finds base URLs that belong to two networks. Skips invalid base URLs, because `readNetwork` reports those. */
export function findConflicts(networks: readonly NetworkConfig[]): { slug: string; diagnostic: Diagnostic }[] {
  const conflicts: { slug: string; diagnostic: Diagnostic }[] = [];
  const owners = new Map<string, string>();
  const slugs = new Set(networks.map((network) => network.slug));
  for (const { slug, baseUrls } of networks) {
    baseUrls.forEach((baseUrl, index) => {
      if (checkBaseUrl(baseUrl) !== undefined) return;
      const { host, path } = splitBaseUrl(baseUrl);
      const problem = describeConflict(path, slug, slugs, owners.get(host + path));
      owners.set(host + path, owners.get(host + path) ?? slug);
      if (problem === undefined) return;
      const message = `baseUrls[${index}]: ${baseUrl} ${problem}`;
      conflicts.push({ slug, diagnostic: { path: ['baseUrls', index], message } });
    });
  }
  return conflicts;
}

/** @param path of the base URL @param owner slug of the first network with this base URL */
function describeConflict(
  path: string,
  slug: string,
  slugs: ReadonlySet<string>,
  owner: string | undefined,
): string | undefined {
  // One network may list an address twice: with https and http, or with and without a trailing slash.
  if (owner !== undefined && owner !== slug) return `is also a base URL of ${owner}`;
  const firstSegment = path.slice(1);
  return firstSegment !== slug && slugs.has(firstSegment)
    ? `is taken: network ${firstSegment} has this path on every host`
    : undefined;
}
