import type { Configuration } from '../network-files/configuration.ts';

const TIMEOUT_MS = 5_000;

/** Fetches the active configuration from a gateway's ops port; undefined if no gateway responds. */
export async function fetchActiveConfiguration(address: string): Promise<Configuration | undefined> {
  try {
    const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { configuration } = (await response.json()) as { configuration?: Configuration };
    return typeof configuration?.digest === 'string' ? configuration : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces a wildcard address by loopback. */
export function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

/** Makes a line for the operator. @param digest of the checked files */
export function describeActive({ digest: active, loadedAt, refused: rejected }: Configuration, digest: string): string {
  if (active === digest) return `these files are active in the running gateway, loaded ${loadedAt}\n`;
  const others = `other files are active in the running gateway, loaded ${loadedAt}`;
  if (rejected === null) return `${others}\n`;
  return `${others}; it rejected ${rejected.digest === digest ? 'these' : 'different files'} ${rejected.at}\n`;
}
