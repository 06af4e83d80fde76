import type { IncomingMessage } from 'node:http';
import type { KeyAccess } from '../keys/key-access.ts';
import type { ServedNetwork } from '../served-network.ts';
import { Explanation } from '../upstream/explanation.ts';

/** What the calls of a request went through, where the key may ask for that and the request does: undefined elsewhere. */
export function explanationFor(
  { headers, url = '' }: IncomingMessage,
  { mayExplain }: KeyAccess,
  { config, upstreams }: ServedNetwork,
): Explanation | undefined {
  if (!mayExplain) return undefined;
  const isAsked = headers['x-gatehouse-explain'] !== undefined || /[?&]explain(?:[=&]|$)/.test(url);
  const names = upstreams.all.map(({ name }) => name);
  return isAsked ? new Explanation(config.slug, names) : undefined;
}
