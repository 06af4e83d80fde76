import type { NetworkConfig } from './network-config.ts';
import { reservedSlugs } from './network-config.ts';
import { splitBaseUrl } from './find-network.ts';

/** Base URLs that two networks claim, or that a path of the gateway itself stands at. */
export function findConflicts(networks: readonly NetworkConfig[]): { slug: string; mistake: string }[] {
  const conflicts: { slug: string; mistake: string }[] = [];
  const claims = new Map<string, string>();
  const slugs = new Set(networks.map((network) => network.slug));
  for (const { slug, baseUrls } of networks) {
    for (const baseUrl of baseUrls) {
      const { host, path } = splitBaseUrl(baseUrl);
      const first = path.split('/')[1] ?? '';
      const claimedBy = claims.get(host + path);
      if (claimedBy !== undefined) {
        conflicts.push({ slug, mistake: `baseUrls: ${baseUrl} is claimed by ${claimedBy} too` });
      } else if (path !== '' && reservedSlugs.has(first)) {
        conflicts.push({ slug, mistake: `baseUrls: ${baseUrl}: /${first} is a path of the gateway itself` });
      } else if (path === `/${first}` && first !== slug && slugs.has(first)) {
        conflicts.push({ slug, mistake: `baseUrls: ${baseUrl} is where ${first} always answers` });
      }
      claims.set(host + path, slug);
    }
  }
  return conflicts;
}
