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
