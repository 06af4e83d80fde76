import type { Block, ScriptedChain } from './scripted-chain.ts';
import type { SeenHead, SeenLog } from './witness.ts';

/**
 * Checks that the events of a client are consistent.
 * @returns heads without their parent, duplicate heads and logs, and removals of logs that were not delivered
 */
export function findProblems(heads: readonly SeenHead[], logs: readonly SeenLog[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const [at, head] of heads.entries()) {
    if (seen.has(head.hash)) problems.push(`head ${head.number} ${head.hash} is a duplicate`);
    if (at > 0 && !seen.has(head.parentHash)) problems.push(`head ${head.number} has no parent`);
    seen.add(head.hash);
  }
  const delivered = new Set<string>();
  for (const { blockHash, index, removed } of logs) {
    const name = `${blockHash} ${index}`;
    if (removed ? !delivered.delete(name) : delivered.has(name))
      problems.push(`log ${name} ${removed ? 'is removed but was not delivered' : 'is a duplicate'}`);
    if (!removed) delivered.add(name);
  }
  return problems;
}

/** The logs without the removed ones, oldest first. */
export function remainingLogs(logs: readonly SeenLog[]): string[] {
  const left: string[] = [];
  for (const { blockHash, index, removed } of logs) {
    const name = `${blockHash} ${index}`;
    if (!removed) left.push(name);
    else if (left.at(-1) === name) left.pop();
    // A removal in the wrong order leaves the log here, and fails the test.
  }
  return left;
}

/** The hashes of the branch of the last head, oldest first, back to the first delivered head. */
export function remainingHeads(heads: readonly SeenHead[]): string[] {
  const byHash = new Map(heads.map((head) => [head.hash, head]));
  const left: string[] = [];
  for (let head = heads.at(-1); head !== undefined; head = byHash.get(head.parentHash)) left.unshift(head.hash);
  return left;
}

/** The events of the canonical chain, starting at a block. */
export function expectedEvents(
  chain: ScriptedChain,
  from: number,
  address: string,
): { heads: string[]; logs: string[] } {
  const blocks: readonly Block[] = chain.canonical.slice(from);
  return {
    heads: blocks.map(({ header }) => header.hash),
    logs: blocks.flatMap(({ header, logs }) =>
      logs.flatMap((log, index) => (log['address'] === address ? [`${header.hash} ${index}`] : [])),
    ),
  };
}
