import type { Block, ScriptedChain } from './scripted-chain.ts';
import type { SeenHead, SeenLog } from './witness.ts';

/**
 * Follows what a client saw, and complains of each step that no chain makes.
 * @returns what was wrong: heads without their parent, heads and logs twice, logs that are taken back but were not told
 */
export function complaintsAbout(heads: readonly SeenHead[], logs: readonly SeenLog[]): string[] {
  const complaints: string[] = [];
  const seen = new Set<string>();
  for (const [at, head] of heads.entries()) {
    if (seen.has(head.hash)) complaints.push(`head ${head.number} ${head.hash} comes twice`);
    if (at > 0 && !seen.has(head.parentHash)) complaints.push(`head ${head.number} comes without its parent`);
    seen.add(head.hash);
  }
  const told = new Set<string>();
  for (const { blockHash, index, removed } of logs) {
    const name = `${blockHash} ${index}`;
    if (removed ? !told.delete(name) : told.has(name))
      complaints.push(`log ${name} ${removed ? 'is taken back unseen' : 'comes twice'}`);
    if (!removed) told.add(name);
  }
  return complaints;
}

/** The logs that are left after all that was taken back, oldest first. */
export function leftOf(logs: readonly SeenLog[]): string[] {
  const left: string[] = [];
  for (const { blockHash, index, removed } of logs) {
    const name = `${blockHash} ${index}`;
    if (!removed) left.push(name);
    else if (left.at(-1) === name) left.pop();
    // Taken back out of order: it stays, and shows.
  }
  return left;
}

/** The hashes of the branch that the last head ends, oldest first, as far back as was told. */
export function leftOfHeads(heads: readonly SeenHead[]): string[] {
  const byHash = new Map(heads.map((head) => [head.hash, head]));
  const left: string[] = [];
  for (let head = heads.at(-1); head !== undefined; head = byHash.get(head.parentHash)) left.unshift(head.hash);
  return left;
}

/** What there is to see, from a block on. */
export function truthOf(chain: ScriptedChain, from: number, address: string): { heads: string[]; logs: string[] } {
  const blocks: readonly Block[] = chain.canonical.slice(from);
  return {
    heads: blocks.map(({ header }) => header.hash),
    logs: blocks.flatMap(({ header, logs }) =>
      logs.flatMap((log, index) => (log['address'] === address ? [`${header.hash} ${index}`] : [])),
    ),
  };
}
