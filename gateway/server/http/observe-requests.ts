import type { IncomingMessage } from 'node:http';
import type { KeyAccess } from '../../auth/key-access.ts';
import type { Network } from '../../networks/network.ts';
import { Explanation } from '../../observability/explanation.ts';

/** Creates an explanation if the request asks for one and its key has the capability `explain`. */
export function createExplanation(
  { headers, url = '' }: IncomingMessage,
  { capabilities }: KeyAccess,
  network: Network,
): Explanation | undefined {
  if (!capabilities.explain) return undefined;
  const isRequested = headers['x-gatehouse-explain'] !== undefined || /[?&]explain(?:[=&]|$)/.test(url);
  return isRequested ? new Explanation(network) : undefined;
}
