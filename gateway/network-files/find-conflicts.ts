import { checkBaseUrl, splitBaseUrl } from './base-url.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { NetworkConfig } from './network-config.ts';

/** Base URLs that two networks claim. Those that are wrong by themselves are left out: that is told elsewhere. */
export function findConflicts(networks: readonly NetworkConfig[]): { slug: string; diagnostic: Diagnostic }[] {
  const conflicts: { slug: string; diagnostic: Diagnostic }[] = [];
  const claims = new Map<string, string>();
  const slugs = new Set(networks.map((network) => network.slug));
  for (const { slug, baseUrls } of networks) {
    baseUrls.forEach((baseUrl, index) => {
      if (checkBaseUrl(baseUrl) !== undefined) return;
      const { host, path } = splitBaseUrl(baseUrl);
      const problem = describeConflict(path, slug, slugs, claims.get(host + path));
      claims.set(host + path, claims.get(host + path) ?? slug);
      if (problem === undefined) return;
      const message = `baseUrls[${index}]: ${baseUrl} ${problem}`;
      conflicts.push({ slug, diagnostic: { path: ['baseUrls', index], message } });
    });
  }
  return conflicts;
}

/** @param path of the base URL @param claimedBy the network that has listed it before */
function describeConflict(
  path: string,
  slug: string,
  slugs: ReadonlySet<string>,
  claimedBy: string | undefined,
): string | undefined {
  // A network may list its own address twice: with https and http, with and without a slash.
  if (claimedBy !== undefined && claimedBy !== slug) return `is a base URL of ${claimedBy} too`;
  const firstSegment = path.slice(1);
  return firstSegment !== slug && slugs.has(firstSegment)
    ? `is taken: ${firstSegment} answers there on every host`
    : undefined;
}
