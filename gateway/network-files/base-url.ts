import { reservedSlugs } from './network-config.ts';

/** Host as clients name it, with the port unless it is the scheme's own, and path without a slash at its end. */
export function splitBaseUrl(baseUrl: string): { host: string; path: string } {
  const [, scheme, given = '', path = ''] = /^(https?):\/\/([^/]+)(\/.*)?$/.exec(baseUrl) ?? [];
  const host = given.replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  return { host: host.toLowerCase(), path: path.replace(/\/{2,}/g, '/').replace(/\/$/, '') };
}

/** What is wrong with a base URL by itself, if anything; its rough form is checked by the schema. */
export function checkBaseUrl(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return 'expected http or https URL without query';
  const { host, path } = splitBaseUrl(baseUrl);
  const asSent = new URL(baseUrl);
  const pathAsSent = splitBaseUrl(`http://host${asSent.pathname}`).path;
  if (host !== asSent.host || path !== pathAsSent) {
    return `a client would ask for ${asSent.origin}${pathAsSent}; write it so`;
  }
  const last = path.slice(path.lastIndexOf('/') + 1);
  if (last === 'v3' || last === 'ws') return `a base URL ends before /${last}, which the gateway adds by itself`;
  const first = path.split('/')[1] ?? '';
  return reservedSlugs.has(first) ? `/${first} is a path of the gateway itself` : undefined;
}
