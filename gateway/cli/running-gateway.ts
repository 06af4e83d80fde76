import type { Configuration } from '../network-files/configuration.ts';

const TIMEOUT_MS = 1_000;

/** Of the gateway whose ops port this is: which files it has in force. Undefined where none says so. */
export async function fetchActiveConfiguration(address: string): Promise<Configuration | undefined> {
  try {
    const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { configuration } = (await response.json()) as { configuration?: Configuration };
    return typeof configuration?.digest === 'string' ? configuration : undefined;
  } catch {
    return undefined;
  }
}

/** Who listens on all addresses is on this one, too. */
export function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

/** A line for people. @param digest of the files that were checked */
export function describeActive({ digest: active, loadedAt, refused: rejected }: Configuration, digest: string): string {
  if (active === digest) return `the running gateway has these files in force, read ${loadedAt}\n`;
  const others = `the running gateway has other files in force, read ${loadedAt}`;
  if (rejected === null) return `${others}\n`;
  return `${others}; it refused ${rejected.digest === digest ? 'these' : 'others'} ${rejected.at}\n`;
}
