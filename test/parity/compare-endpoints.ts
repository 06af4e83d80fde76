import { findDifferences, type AllowedDifference } from './compare-outcomes.ts';
import type { CoreCall } from './core-calls.ts';
import type { RpcEndpoint } from './rpc-endpoint.ts';

/** The limit of attempts if the node's own outcomes differ: the pending block contains the time of day. */
const MAX_ATTEMPTS = 20;

/**
 * Sends every call to both endpoints and compares the outcomes.
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
    const [ofNode, ofGateway] = await outcomesOf(node, gateway, call);
    const found = findDifferences(call.method, ofNode, ofGateway, allowed, used);
    const params = typeof call.params === 'function' ? '(its own)' : JSON.stringify(call.params);
    sentences.push(...found.map((sentence) => `${gateway.name}: ${call.method} ${params} ${sentence}`));
  }
  return sentences;
}

async function outcomesOf(
  node: RpcEndpoint,
  gateway: RpcEndpoint,
  { method, params }: CoreCall,
): Promise<[string, string]> {
  const request = async (endpoint: RpcEndpoint): Promise<string> =>
    endpoint.request(method, typeof params === 'function' ? await params(endpoint) : params);
  const isOwn = typeof params === 'function' || /^eth_(new|subscribe)/.test(method);
  for (let attempt = 1; ; attempt++) {
    const before = await request(node);
    const between = await request(gateway);
    if (isOwn || before === between) return [before, between];
    const after = await request(node);
    if (before === after || attempt === MAX_ATTEMPTS) return [after, between];
  }
}
