import { parseUrl } from '../../config/parse-url.ts';
import { reservedSlugs } from './slug.ts';

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
