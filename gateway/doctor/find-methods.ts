import { clock } from '../clock/clock.ts';
import { isObject } from '../collections/is-object.ts';
import { knownMethods } from './known-methods.ts';
import type { ProbeClient, ProbeResult } from './probe-client.ts';

/** No node has one of these methods. The first that the upstream's rules permit is sent. */
const noMethods = ['debug_gatehouseNoSuchMethod', 'eth_gatehouseNoSuchMethod'];
/** A node that lacks this many methods of a namespace is assumed to lack the others. */
const MAX_MISSES = 3;

interface FoundMethods {
  readonly found: readonly string[];
  /** Their request failed, as by a timeout: the node may have them. */
  readonly failed: readonly string[];
}

/**
 * Finds out which methods outside the spec an upstream has: it requests each without parameters, of the namespaces that
 * `rpc_modules` names, or of all if the node does not know that method. An error about parameters shows that it has one.
 * @param served methods that need no request
 * @param deadline by clock.now(); methods that are not tested by then are not found
 * @returns undefined if the upstream does not distinguish unknown methods, or not by the deadline
 */
export async function findMethods(
  probeClient: ProbeClient,
  served: readonly string[],
  deadline: number,
): Promise<FoundMethods | undefined> {
  const client = probeClient.until(deadline);
  const noMethod = noMethods.find((method) => client.permits(method));
  if (noMethod === undefined || !isUnsupported(await client.request(noMethod, []))) return undefined;
  const modules = modulesIn(await client.request('rpc_modules', []));
  const all = await Promise.all(
    Object.entries(knownMethods).map(async ([namespace, methods]): Promise<FoundMethods> => {
      const others = methods.filter((method) => !served.includes(method) && client.permits(method));
      if (modules?.has(namespace) === false) return { found: [], failed: [] };
      return methodsOf(client, others, deadline);
    }),
  );
  return { found: all.flatMap(({ found }) => found), failed: all.flatMap(({ failed }) => failed) };
}

/** One at a time: a public endpoint limits the rate. */
async function methodsOf(client: ProbeClient, methods: readonly string[], deadline: number): Promise<FoundMethods> {
  const found: string[] = [];
  const failed: string[] = [];
  for (const [index, method] of methods.entries()) {
    if ((index === MAX_MISSES && found.length === 0) || clock.now() >= deadline) break;
    const probed = await client.request(method, []);
    if (hasMethod(probed)) found.push(method);
    else if (!isUnsupported(probed)) failed.push(method);
  }
  return { found, failed };
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
