import { reservedSlugs } from './network-config.ts';

/** Host with the port where one is given, and path without a slash at its end. */
export function splitBaseUrl(baseUrl: string): { host: string; path: string } {
  // Not by `URL`, which drops the port where it is the scheme's own: `https://a:443` is meant to match that port only.
  const [, host = '', path = ''] = /^https?:\/\/([^/]+)(\/.*)?$/.exec(baseUrl) ?? [];
  return { host: host.toLowerCase(), path: path.replace(/\/{2,}/g, '/').replace(/\/$/, '') };
}

/** What is wrong with a base URL by itself, if anything; its rough form is checked by the schema. */
export function checkBaseUrl(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return 'expected http or https URL without query';
  const { host, path } = splitBaseUrl(baseUrl);
  const asSent = new URL(baseUrl);
  const pathAsSent = splitBaseUrl(`http://host${asSent.pathname}`).path;
  if (host.replace(/:(80|443)$/, '') !== asSent.host.replace(/:(80|443)$/, '') || path !== pathAsSent) {
    return `a client would ask for ${asSent.origin}${pathAsSent}; write it so`;
  }
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (last === 'v3' || last === 'ws') return `a base URL ends before /${last}, which the gateway adds by itself`;
  const first = path.split('/')[1] ?? '';
  return reservedSlugs.has(first) ? `/${first} is a path of the gateway itself` : undefined;
}
