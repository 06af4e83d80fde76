import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseUrl } from '../../config/parse-url.ts';

/** Returns the host as clients send it, without the scheme's default port, and the path without a trailing slash. */
export function splitBaseUrl(baseUrl: string): { host: string; path: string } {
  const [, scheme, authority = '', path = ''] = /^(https?):\/\/([^/]+)(\/.*)?$/.exec(baseUrl) ?? [];
  const host = authority.replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  return { host: host.toLowerCase(), path: path.replace(/\/{2,}/g, '/').replace(/\/$/, '') };
}

/** Checks one base URL beyond the pattern in the schema. @returns a message, or undefined if it is valid */
export function checkBaseUrl(baseUrl: string): string | undefined {
  const asSent = parseUrl(baseUrl);
  if (asSent === undefined) return 'expected http or https URL without query';
  const { host, path } = splitBaseUrl(baseUrl);
  const pathAsSent = splitBaseUrl(`http://host${asSent.pathname}`).path;
  if (host !== asSent.host || path !== pathAsSent) {
    return `clients send this as ${asSent.origin}${pathAsSent}; write that`;
  }
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (last === 'v3' || last === 'ws') return `remove /${last}: the gateway adds it`;
  const first = path.split('/')[1] ?? '';
  return reservedSlugs.has(first) ? `/${first} is reserved for the gateway` : undefined;
}

/** First path segments that the gateway uses itself, on the main port or the ops port. No network can have one of these slugs. */
export const reservedSlugs: ReadonlySet<string> = new Set([
  'v3',
  'ws',
  'metrics',
  'livez',
  'readyz',
  'healthz',
  'openrpc.json',
  'openrpc',
  'rpc',
  'admin',
  'keys',
  'docs',
  'status',
  'networks',
  'usage',
  'upstreams',
  'calls',
  'events',
]);

/** Whether a file name has the form of a slug. Does not check `reservedSlugs`. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}

/** Headers of the connection or the body. The gateway sets them. */
const gatewayHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Checks a header. @param value after variable expansion */
export function checkHeader(value: string | undefined, name: string | number): string | undefined {
  if (gatewayHeaders.has(String(name).toLowerCase())) return 'the gateway sets this header itself';
  return value === undefined || /^[ -~]*$/.test(value)
    ? undefined
    : 'after variable expansion, the value has a character that no header may have, such as a line break';
}

/** @returns a check of URLs after variable expansion. Problems do not show the URL, which may contain a provider's key. */
export function checkUrl(scheme: 'http' | 'ws'): (url: string | undefined) => string | undefined {
  return (url) => {
    if (url === undefined) return undefined;
    const isOfScheme = url.startsWith(`${scheme}://`) || url.startsWith(`${scheme}s://`);
    const parsed = isOfScheme && !/\s/.test(url) ? parseUrl(url) : undefined;
    if (parsed === undefined) {
      return `expected ${scheme} or ${scheme}s URL after variable expansion`;
    }
    const { username, password } = parsed;
    return [username, password].every(isDecodable) ? undefined : 'write % in user or password as %25';
  };
}

/** Checks the URL of a proxy. @param url after variable expansion */
export function checkProxy(url: string | undefined): string | undefined {
  const problem = checkUrl('http')(url);
  if (url === undefined || problem !== undefined) return problem;
  const { protocol, pathname, search } = new URL(url);
  if (protocol !== 'http:') return 'expected http URL: connections to the proxy itself have no TLS';
  return pathname + search === '/' ? undefined : 'expected host and port of the proxy, without a path';
}

const certificates = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/** Checks certificates, or a private key. @param text of the file  @param name `ca`, `cert` or `key` */
export function checkPem(text: string | undefined, name: string | number): string | undefined {
  if (text === undefined) return undefined;
  if (name === 'key') {
    return isReadable(() => createPrivateKey(text))
      ? undefined
      : 'expected a private key in PEM form, without a passphrase';
  }
  const count = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count === 0) return 'expected certificates in PEM form';
  const found = text.match(certificates) ?? [];
  return found.length === count && found.every((one) => isReadable(() => new X509Certificate(one)))
    ? undefined
    : 'a certificate cannot be read, or the file is not complete';
}

/** Whether the key is that of the first certificate. A text that is empty or cannot be read has a diagnostic of its own. */
export function isKeyOf(cert = '', key = ''): boolean {
  try {
    return cert === '' || key === '' || new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return true;
  }
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function isDecodable(text: string): boolean {
  return isReadable(() => decodeURIComponent(text));
}
