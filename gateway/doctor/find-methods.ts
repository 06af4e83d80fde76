import { isObject } from '../collections/is-object.ts';
import { knownMethods } from './known-methods.ts';
import type { ProbeClient, ProbeResult } from './probe-client.ts';

/** No node has this method. */
const NO_METHOD = 'debug_gatehouseNoSuchMethod';
/** A node that lacks this many methods of a namespace is assumed to lack the others. */
const MAX_MISSES = 3;

/**
 * Finds out which methods outside the spec an upstream has: it requests each without parameters, of the namespaces that
 * `rpc_modules` names, or of all if the node does not know that method. An error about parameters shows that it has one.
 * @param served methods that need no request
 * @param deadline on the clock of performance.now(); methods that are not tested by then are not found
 * @returns undefined if the upstream does not distinguish unknown methods
 */
export async function findMethods(
  probeClient: ProbeClient,
  served: readonly string[],
  deadline: number,
): Promise<string[] | undefined> {
  const client = probeClient.until(deadline);
  if (!isUnsupported(await client.request(NO_METHOD, []))) return undefined;
  const modules = modulesIn(await client.request('rpc_modules', []));
  const namespaces = Object.entries(knownMethods).filter(([namespace]) => modules?.has(namespace) !== false);
  const found = await Promise.all(
    namespaces.map(([, methods]) => {
      const others = methods.filter((method) => !served.includes(method) && client.permits(method));
      return methodsOf(client, others, deadline);
    }),
  );
  return found.flat();
}

/** One at a time: a public endpoint limits the rate. */
async function methodsOf(client: ProbeClient, methods: readonly string[], deadline: number): Promise<string[]> {
  const found: string[] = [];
  for (const [index, method] of methods.entries()) {
    if ((index === MAX_MISSES && found.length === 0) || performance.now() >= deadline) break;
    if (hasMethod(await client.request(method, []))) found.push(method);
  }
  return found;
}

/** Namespaces that the node serves. The methods of the spec are in several, so those of `eth` and `net` always count. */
function modulesIn(probed: ProbeResult): ReadonlySet<string> | undefined {
  const result = 'failure' in probed ? undefined : probed.result;
  if (!isObject(result)) return undefined;
  return new Set([...Object.keys(result), 'eth', 'net']);
}

function isUnsupported(probed: ProbeResult): boolean {
  return 'failure' in probed && probed.failure === 'unsupported';
}

/** Whether the response shows that the node has the method. Errors about the connection or the plan show nothing. */
function hasMethod(probed: ProbeResult): boolean {
  if (!('failure' in probed)) return true;
  return ['error', 'unknown', 'node-state', 'no-block', 'not-found'].includes(probed.failure);
}
