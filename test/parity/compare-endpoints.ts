import { findDifferences, type AllowedDifference } from './compare-outcomes.ts';
import type { CoreCall } from './core-calls.ts';
import type { RpcEndpoint } from './rpc-endpoint.ts';

/** Of a node that changes its mind meanwhile: the pending block has the time of day. */
const ATTEMPTS = 20;

/**
 * Sends every call to both and compares what comes back.
 * @returns every difference that is not allowed, as a sentence
 */
export async function compareEndpoints(
  node: RpcEndpoint,
  gateway: RpcEndpoint,
  calls: readonly CoreCall[],
  allowed: readonly AllowedDifference[],
  used: Set<AllowedDifference>,
): Promise<string[]> {
  const sentences: string[] = [];
  for (const call of calls) {
    const [ofNode, ofGateway] = await bothOutcomes(node, gateway, call);
    const found = findDifferences(call.method, ofNode, ofGateway, allowed, used);
    const params = typeof call.params === 'function' ? '(its own)' : JSON.stringify(call.params);
    sentences.push(...found.map((sentence) => `${gateway.name}: ${call.method} ${params} ${sentence}`));
  }
  return sentences;
}

async function bothOutcomes(
  node: RpcEndpoint,
  gateway: RpcEndpoint,
  { method, params }: CoreCall,
): Promise<[string, string]> {
  const ask = async (endpoint: RpcEndpoint): Promise<string> =>
    endpoint.request(method, typeof params === 'function' ? await params(endpoint) : params);
  const isOwn = typeof params === 'function' || /^eth_(new|subscribe)/.test(method);
  for (let attempt = 1; ; attempt++) {
    const before = await ask(node);
    const between = await ask(gateway);
    if (isOwn || before === between) return [before, between];
    const after = await ask(node);
    if (before === after || attempt === ATTEMPTS) return [after, between];
  }
}
