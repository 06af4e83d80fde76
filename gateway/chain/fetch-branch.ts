import { clock } from '../clock/clock.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { parseHeader, type Header } from './header.ts';
import type { Headers } from './header-ring.ts';

/** Maximum number of parents fetched by hash, one after the other. Reorgs of public networks are not that deep. */
const MAX_WALK = 512;
/** The same without watchers: each of them is a request that the operator pays for. */
const MAX_UNWATCHED_WALK = 128;
/** Maximum gap: with a larger one, the chain restarts at the head. */
const MAX_GAP = 512;
/** Blocks before the head that the first watcher's chain begins with: a reorg soon after needs no removed block of an upstream. */
const FIRST_HEADERS = 64;
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
 * Fetches the blocks from the known headers to a head. For watchers, if the branch begins below the oldest known block, its
 * removed blocks are fetched by hash too, down to the block that both branches have.
 * @param sources the one that reported the head is first. One that fails is removed
 * @param fetched blocks by hash that were fetched before for the same gap; receives more
 * @param watchedUntil watchers wait for the branch until then, by clock.now(). Undefined: there are none
 * @returns oldest first
 */
export async function fetchBranch(
  head: Header,
  headers: Headers,
  sources: HeaderSource[],
  fetched: Map<string, Header>,
  watchedUntil: number | undefined,
): Promise<Header[] | 'unknown' | 'too-long'> {
  const { oldest } = headers;
  const maxWalk = watchedUntil === undefined ? MAX_UNWATCHED_WALK : MAX_WALK;
  // A node that fails for removed blocks may be the only one with the new branch.
  const removedSources = [...sources];
  const first = (headers.head?.number ?? 0n) + 1n;
  if (oldest === undefined || head.number - first > MAX_GAP || oldest.number - head.number > MAX_WALK)
    return 'too-long';
  await fetchNumbered(first, head.number, sources, fetched);
  const branch = [head];
  let removed = oldest;
  let walked = 0;
  for (;;) {
    const [added] = branch as [Header];
    if (headers.has(added.parentHash)) return branch;
    if (added.number === 0n) return 'too-long'; // it is another chain
    if (added.number === removed.number && added.parentHash === removed.parentHash) return branch;
    const isAbove = added.number > removed.number;
    if (!isAbove && watchedUntil === undefined) return 'too-long';
    const isFetched = isAbove && fetched.has(added.parentHash);
    if (!isFetched && watchedUntil !== undefined && clock.now() >= watchedUntil) return 'unknown';
    if (!isFetched && ++walked > maxWalk) return 'too-long';
    const [parent, removedParent] = await Promise.all([
      added.number < removed.number ? added : fetchParent(added, sources, fetched),
      isAbove ? removed : fetchParent(removed, removedSources, fetched),
    ]);
    if (removedParent === undefined) return 'too-long';
    if (parent === undefined) return 'unknown';
    removed = removedParent;
    if (parent !== added) branch.unshift(parent);
  }
}

/** Number of blocks to fetch before the oldest known one. */
export function missingAncestors({ list, oldest }: Headers): number {
  return Math.min(FIRST_HEADERS - list.length, Number(oldest?.number ?? 0));
}

/** The headers before the oldest known one, as far as the upstreams return them. @returns oldest first */
export async function fetchAncestors(headers: Headers, sources: HeaderSource[]): Promise<Header[]> {
  const ancestors: Header[] = [];
  const missing = missingAncestors(headers);
  let { oldest } = headers;
  while (oldest !== undefined && ancestors.length < missing) {
    const { number } = oldest;
    const count = Math.min(CONCURRENT_FETCHES, Number(number));
    const numbers = Array.from({ length: count }, (_, index) => number - 1n - BigInt(index));
    for (const header of await Promise.all(numbers.map((one) => fetchNumber(one, sources)))) {
      if (header?.hash !== oldest.parentHash || header.number !== oldest.number - 1n) return ancestors;
      ancestors.unshift((oldest = header));
    }
  }
  return ancestors;
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
      const header = await fetchNumber(number, sources);
      if (header !== undefined) fetched.set(header.hash, header);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_FETCHES }, worker));
}

/** Heights that fall by one end a walk: a hostile upstream may send headers that are parents of each other. */
async function fetchParent(
  { number, parentHash }: Header,
  sources: HeaderSource[],
  fetched: Map<string, Header>,
): Promise<Header | undefined> {
  const parent = fetched.get(parentHash) ?? (await fetchHeader(nodeMethods.blockByHash, parentHash, sources));
  if (parent?.hash !== parentHash || parent.number !== number - 1n) return undefined;
  fetched.set(parentHash, parent);
  return parent;
}

function fetchNumber(number: bigint, sources: HeaderSource[]): Promise<Header | undefined> {
  return fetchHeader(nodeMethods.blockByNumber, `0x${number.toString(16)}`, sources);
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
