import { formatPath, type Diagnostic, type Path } from '../diagnostics/diagnostic.ts';
import { isKeyOf } from '../options/check-upstream-text.ts';
import type { upstreamOptions } from '../options/network-options.ts';
import type { ValuesOf } from '../options/option.ts';

type ConnectionOptions = Pick<ValuesOf<typeof upstreamOptions>, 'url' | 'websocketUrl' | 'tls' | 'proxyUrl' | 'spawn'>;

/** Checks `tls` and `proxyUrl` of an upstream beside its other options: each has an effect, and the key is that of `cert`. */
export function checkConnection(upstream: ConnectionOptions, path: Path): Diagnostic[] {
  const { url, websocketUrl, tls, proxyUrl, spawn } = upstream;
  const report = (name: string, problem: string): Diagnostic[] => {
    const at = [...path, name];
    return [{ path: at, message: `${formatPath(at)}: ${problem}` }];
  };
  const urls = [url, websocketUrl].filter((one) => one !== undefined && one !== '');
  const hasTls = urls.length === 0 || urls.some((one) => /^(https|wss):/.test(one ?? ''));
  const isSpawned = spawn !== undefined;
  return [
    ...(tls !== undefined && (isSpawned || !hasTls) ? report('tls', 'no URL of the upstream is https or wss') : []),
    ...(proxyUrl !== undefined && isSpawned ? report('proxyUrl', 'a spawned node is reached without a proxy') : []),
    ...(tls !== undefined && !isPair(tls) ? report('tls', 'the private key does not belong to the certificate') : []),
  ];
}

/** A text with a diagnostic of its own is empty. */
function isPair({ cert = '', key = '' }: NonNullable<ConnectionOptions['tls']>): boolean {
  if (cert === '' || key === '') return true;
  try {
    return isKeyOf(cert, key);
  } catch {
    return true;
  }
}
