import type { IncomingMessage } from 'node:http';
import type { KeyAccess } from '../../auth/key-access.ts';
import type { Network } from '../../networks/network.ts';
import { Explanation } from '../../observability/explanation.ts';

/** What the calls of a request went through, where the key may ask for that and the request does: undefined elsewhere. */
export function createExplanation(
  { headers, url = '' }: IncomingMessage,
  { canExplain: mayExplain }: KeyAccess,
  { config, upstreams }: Network,
): Explanation | undefined {
  if (!mayExplain) return undefined;
  const isRequested = headers['x-gatehouse-explain'] !== undefined || /[?&]explain(?:[=&]|$)/.test(url);
  const names = upstreams.all.map(({ name }) => name);
  return isRequested ? new Explanation(config.slug, names) : undefined;
}
