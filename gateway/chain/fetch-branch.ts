import { nodeMethods } from '../spec/methods.generated.ts';
import { parseHeader, type Header } from './header.ts';
import type { Headers } from './header-ring.ts';

/** Maximum number of parents fetched by hash, one after the other. Reorgs of public networks are not that deep. */
const MAX_WALK = 128;
/** With a larger gap, the chain restarts at the head. */
const MAX_GAP = 512;
/** Blocks of a gap that are fetched at the same time. */
const CONCURRENT_FETCHES = 8;
/** The upstream that reported a head has its ancestors. If it returns null, another node behind its URL may have them. */
const MAX_REPEATED_FETCHES = 3;

/** The part of an upstream that is needed here. */
export interface HeaderSource {
  /**
   * @param params as JSON text
   * @param isPoll its errors concern the upstream as a whole
   * @throws Error if there is no result within the timeout of the upstream
   */
  fetchResult(method: string, params: string, isPoll?: boolean): Promise<unknown>;
}

/**
 * Fetches the blocks from the known headers to a head.
 * @param sources the one that reported the head is first. One that fails is removed
 * @param fetched blocks by hash that were fetched before for the same gap; receives more
 * @returns oldest first. If no parent is known: from the height of the oldest known block
 */
export async function fetchBranch(
  head: Header,
  headers: Headers,
  sources: HeaderSource[],
  fetched: Map<string, Header>,
): Promise<Header[] | 'unknown' | 'too-long'> {
  const oldest = headers.oldest?.number ?? 0n;
  const first = (headers.head?.number ?? 0n) + 1n;
  if (head.number < oldest || head.number - first > MAX_GAP) return 'too-long';
  await fetchNumbered(first, head.number, sources, fetched);
  const branch = [head];
  let walked = 0;
  for (;;) {
    const [{ parentHash, number }] = branch as [Header];
    if (headers.has(parentHash) || number === oldest) return branch;
    const known = fetched.get(parentHash);
    if (known === undefined && ++walked > MAX_WALK) return 'too-long';
    const parent = known ?? (await fetchHeader(nodeMethods.blockByHash, parentHash, sources));
    // Heights that fall by one end the walk: a hostile upstream may send headers that are parents of each other.
    if (parent?.hash !== parentHash || parent.number !== number - 1n) return 'unknown';
    fetched.set(parentHash, parent);
    branch.unshift(parent);
  }
}

/** Fetches missing blocks by number, 8 at a time. One after the other by hash, a gap of 50 blocks would take seconds. */
async function fetchNumbered(
  from: bigint,
  to: bigint,
  sources: HeaderSource[],
  fetched: Map<string, Header>,
): Promise<void> {
  const numbers = new Set([...fetched.values()].map(({ number }) => number));
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const number = next++;
      if (numbers.has(number)) continue;
      const header = await fetchHeader(nodeMethods.blockByNumber, `0x${number.toString(16)}`, sources);
      if (header !== undefined) fetched.set(header.hash, header);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_FETCHES }, worker));
}

/** Fetches a header from the first source that has it; the first one is asked again at the end. */
export async function fetchHeader(method: string, block: string, sources: HeaderSource[]): Promise<Header | undefined> {
  const repeated = sources.slice(0, 1).flatMap((reporter) => Array<HeaderSource>(MAX_REPEATED_FETCHES).fill(reporter));
  for (const source of [...sources, ...repeated]) {
    const at = sources.indexOf(source);
    if (at === -1) continue;
    try {
      const header = parseHeader(await source.fetchResult(method, `["${block}",false]`));
      if (header !== undefined) return header;
    } catch {
      sources.splice(at, 1); // so that the next blocks do not wait for it
    }
  }
  return undefined;
}
