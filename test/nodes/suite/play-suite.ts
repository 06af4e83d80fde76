import { findDifferences, type AllowedDifference } from '../../parity/compare-outcomes.ts';
import type { RpcEndpoint } from '../../parity/rpc-endpoint.ts';
import type { Conversation } from './conversations.ts';

/** The outcomes of each conversation, by its name. */
export type Outcomes = ReadonlyMap<string, readonly string[]>;

/** What the comparison with the outcomes of geth found. */
export interface Comparison {
  equal: number;
  /** Conversations with differences that are all allowed, by the reason. */
  readonly allowed: Map<AllowedDifference, Set<string>>;
  /** Differences that are not allowed, as sentences. */
  readonly different: string[];
}

/** Sends all requests, one after the other. */
export async function playSuite(endpoint: RpcEndpoint, conversations: readonly Conversation[]): Promise<Outcomes> {
  const outcomes = new Map<string, string[]>();
  for (const { name, exchanges } of conversations) {
    const own: string[] = [];
    for (const { request } of exchanges) own.push(await endpoint.send(request));
    outcomes.set(name, own);
  }
  return outcomes;
}

/** Compares byte for byte, except for allowed differences. */
export function compareOutcomes(
  conversations: readonly Conversation[],
  node: Outcomes,
  gateway: Outcomes,
  rows: readonly AllowedDifference[],
): Comparison {
  const comparison: Comparison = { equal: 0, allowed: new Map(), different: [] };
  for (const { name, exchanges } of conversations) {
    const used = new Set<AllowedDifference>();
    const sentences = exchanges.flatMap(({ method }, index) =>
      findDifferences(method, outcomeAt(node, name, index), outcomeAt(gateway, name, index), rows, used),
    );
    comparison.different.push(...sentences.map((sentence) => `${name} ${sentence}`));
    if (sentences.length > 0) continue;
    if (used.size === 0) comparison.equal++;
    for (const row of used) comparison.allowed.set(row, (comparison.allowed.get(row) ?? new Set()).add(name));
  }
  return comparison;
}

function outcomeAt(outcomes: Outcomes, name: string, index: number): string {
  const outcome = outcomes.get(name)?.[index];
  if (outcome === undefined) throw new Error(`${name} was not played`);
  return outcome;
}
