import type { SeenHead } from './header.ts';
import type { Headers } from './header-ring.ts';

/** A head that advanced within this many block times is current. */
const CURRENT_BLOCKS = 4;
const MIN_CURRENT_MS = 10_000;
/** Time between two polls of an upstream while there are many calls. */
const POLLED_MS = 2_000;
/** A head whose timestamp is older than the newest one by this and by the time for which a head is current: it is syncing. */
const SYNCING_MS = 60_000;
/** A block with a later timestamp is not accepted by nodes (geth, consensus/beacon: allowedFutureBlockTime). */
const MAX_FUTURE_MS = 15_000;

/** Heads within this distance are polled one after the other, while none is known to be current. A minimum for slow networks. */
const MIN_NEAR_BLOCKS = 16n;
const NEAR_MS = 30_000;
/** The network's blocks come at most this many times faster than before. */
const MAX_SPEEDUP = 4;
/** Block time if it is not known: one second, as on development chains and on the fastest networks after a pause. */
const DEFAULT_BLOCK_MS = 1_000;

/** The head of one upstream, and what else it reported. */
export interface Report {
  readonly group: string;
  readonly head: SeenHead;
  /** When its head last rose; -Infinity: not since it is known. */
  readonly roseAt: number;
  /** When it last reported a block that it had not reported before. */
  readonly movedAt: number;
  /** The hashes of the newest blocks that it has, by number, newest first: of its heads and their parents. */
  readonly hashes: ReadonlyMap<bigint, string>;
  /** Number from which on the hashes are those of ancestors of its head. Those below may have been replaced. */
  readonly linkedFrom: bigint;
  /** Whether the upstream was marked: its word alone does not raise the head. */
  readonly isMarked: boolean;
  /** Whether only the number of its head is known: it may have left the branch of its hashes, which was followed. */
  readonly isUncertain: boolean;
}

/** What follows for one upstream. Undefined members: nothing. */
export interface Standing {
  /** Height from which on the upstream has other blocks than the network: it is not used for them. */
  readonly leftAt?: bigint;
  /** Upstreams of at least two groups, and of more than its branch has, have another block there. */
  readonly hasLost?: true;
  /** Height above which the upstream is not used: its head is more than one block above those of the other groups. */
  readonly aheadOf?: bigint;
}

export interface Selection<R extends Report> {
  /** Report of the selected head; undefined: no head is known. */
  readonly head: R | undefined;
  /** Why the head replaces the followed branch at once: that branch lost, or no current upstream has it any more. */
  readonly leaves: 'lost' | 'gone' | undefined;
  /** Standings of the reports that have one. */
  readonly standings: ReadonlyMap<R, Standing>;
  /** The height from which groups have different blocks, and no branch has a majority. */
  readonly disputedAt: bigint | undefined;
  /** Reports whose heads may be outdated: others are above them. */
  readonly late: readonly R[];
}

/**
 * Selects the network's head, by what each upstream has reported. Groups have a vote each; those that are not current have
 * none, unless no group is.
 *
 * 1. A branch loses if at least two groups, and more than have it, have the same other block at a height. Without such a
 *    majority, the followed branch stays; it is replaced if no upstream has it. Against it, a group that has not reported a
 *    new block since has no vote: it is stuck on the branch before.
 * 2. The highest head of the branch is selected, if it is at most one block above the highest current head of another group.
 *    So no upstream that lags lowers the head, and none alone raises it by more.
 * 3. With one current group, or none, its head is selected if it is plausible: near the others, or younger by the time that so
 *    many blocks take.
 * @param reports of upstreams that respond, on the right chain, in order of preference
 * @param followed the chain that was followed before
 * @param blockMs time between blocks, if known
 * @param at time of the event
 * @param unixMs the same as Unix time, if block timestamps can be compared with it
 */
export function selectHead<R extends Report>(
  reports: readonly R[],
  followed: Headers,
  blockMs: number | undefined,
  at: number,
  unixMs?: number,
): Selection<R> {
  const current = currentOf(reports, blockMs, at, unixMs);
  const voters = current.length > 0 ? current : reports;
  const branches = groupsOf(voters) < 2 ? noBranches<R>() : compareBranches(reports, voters, followed);
  const { leaves, standings } = branches;
  const candidates = reports.filter((report) => !standings.has(report));
  const highestFirst = candidates.toSorted((one, other) => compare(other.head.number, one.head.number));
  let head: R | undefined;
  const late = new Set<R>();
  for (const [index, report] of highestFirst.entries()) {
    if (head !== undefined && !report.isMarked) continue;
    const others = current.filter((one) => {
      return one.group !== report.group && standings.get(one)?.leftAt === undefined && !areApart(one, report);
    });
    const highest = highestOf(others, blockMs, at);
    const isUnconfirmed = report.isMarked && !isFollowed(report, followed) && others.some((one) => !one.isMarked);
    if (highest !== undefined && (isUnconfirmed || report.head.number > highest + (report.isMarked ? 0n : 1n))) {
      const common = newestCommon(report, followed);
      standings.set(report, { aheadOf: common !== undefined && common < highest ? common : highest });
      if (!report.isMarked) for (const one of others) if (one.head.number < report.head.number) late.add(one);
      continue;
    }
    const lower = highestFirst.slice(index + 1);
    if (highest !== undefined || isPlausible(report, lower, followed, blockMs)) head ??= report;
  }
  return { head, leaves, standings, disputedAt: branches.disputedAt, late: [...late] };
}

/**
 * The highest of these heads; undefined: there is none. One that was reported longer ago than in a busy network counts as grown
 * at the pace of the network: its upstream is polled now, or hangs.
 */
function highestOf(reports: readonly Report[], blockMs: number | undefined, at: number): bigint | undefined {
  let highest: bigint | undefined;
  for (const { head } of reports) {
    const unpolledMs = blockMs === undefined ? 0 : at - head.at - POLLED_MS;
    const grown = unpolledMs > 0 && blockMs !== undefined ? BigInt(Math.floor(unpolledMs / blockMs)) : 0n;
    if (highest === undefined || head.number + grown > highest) highest = head.number + grown;
  }
  return highest;
}

function isFollowed({ head: { header } }: Report, followed: Headers): boolean {
  return header !== undefined && followed.has(header.hash);
}

/** Whether two upstreams have different blocks at the newest height of which both are known to have one. */
function areApart(one: Report, other: Report): boolean {
  if (one.isUncertain || other.isUncertain) return false;
  for (const [number, hash] of one.hashes) {
    if (number < one.linkedFrom || number < other.linkedFrom) return false;
    const its = other.hashes.get(number);
    if (its !== undefined) return its !== hash;
  }
  return false;
}

/** The distance in blocks, or in time, to which a block counts as near the head. */
const NEAR_HEAD_BLOCKS = 2;
const NEAR_HEAD_MS = 4_000;

/** Whether a block is so near a head that it can be served in place of it. */
export function isNearHead(number: bigint, head: bigint, blockMs: number | undefined): boolean {
  const behind = Number(head - number);
  return behind <= NEAR_HEAD_BLOCKS || behind * (blockMs ?? Infinity) <= NEAR_HEAD_MS;
}

/** How many groups have an upstream with this block, as its head or as an ancestor of it, as far as is known. */
export function groupsWith(reports: readonly Report[], number: bigint, hash: string, followed: Headers): number {
  return groupsOf(reports.filter((report) => hashAt(report, number, followed, reports) === hash));
}

/**
 * The upstream whose head is the newest witnessed block: one that so many groups have.
 * @param candidates those of the followed branch
 */
export function newestWitness<R extends Report>(
  candidates: readonly R[],
  reports: readonly R[],
  followed: Headers,
  groups: number,
): R | undefined {
  const highestFirst = candidates.toSorted((one, other) => compare(other.head.number, one.head.number));
  return highestFirst.find(
    ({ head: { header } }) =>
      header !== undefined && groupsWith(reports, header.number, header.hash, followed) >= groups,
  );
}

/** The newest block of an upstream that is followed, as far as is known. */
function newestCommon({ hashes }: Report, followed: Headers): bigint | undefined {
  for (const [number, hash] of hashes) if (followed.at(number)?.hash === hash) return number;
  return undefined;
}

/**
 * A head is current if it had risen within the last block times when it was last seen, or if its block was that young. One that is
 * far older than others is that of an upstream that is syncing. A timestamp in the future proves nothing.
 */
function currentOf<R extends Report>(
  reports: readonly R[],
  blockMs: number | undefined,
  at: number,
  unixMs: number | undefined,
): R[] {
  const currentMs = Math.max(MIN_CURRENT_MS, CURRENT_BLOCKS * (blockMs ?? 0));
  const latestMs = unixMs === undefined ? Infinity : unixMs + MAX_FUTURE_MS;
  const timesMs = reports.map(({ head }) =>
    head.timestamp === undefined ? undefined : Number(head.timestamp) * 1_000,
  );
  const newestMs = Math.max(...timesMs.map((timeMs) => Math.min(timeMs ?? -Infinity, latestMs)));
  return reports.filter(({ head, roseAt }, index) => {
    const timeMs = timesMs[index];
    if (timeMs !== undefined && timeMs < newestMs - SYNCING_MS - currentMs) return false;
    if (head.at - roseAt <= currentMs) return true;
    return unixMs !== undefined && timeMs !== undefined && timeMs >= unixMs - (at - head.at) - currentMs;
  });
}

interface Branches<R> {
  readonly leaves: Selection<never>['leaves'];
  readonly standings: Map<R, Standing>;
  readonly disputedAt: bigint | undefined;
}

function noBranches<R>(): Branches<R> {
  return { leaves: undefined, standings: new Map(), disputedAt: undefined };
}

/** Finds those that are on another branch than the one to follow. */
function compareBranches<R extends Report>(
  reports: readonly R[],
  voters: readonly R[],
  followed: Headers,
): Branches<R> {
  const hashes = (report: Report, number: bigint): string | undefined => hashAt(report, number, followed, reports);
  const having = (number: bigint, hash: string | undefined): R[] =>
    voters.filter((voter) => hashes(voter, number) === hash);
  const hasVote = (report: R, number: bigint): boolean => report.movedAt > followed.since(number);
  const count = (number: bigint, hash: string | undefined): number => {
    const isFollowed = hash === followed.at(number)?.hash;
    return groupsOf(having(number, hash).filter((voter) => isFollowed || hasVote(voter, number)));
  };
  const isHeld = (number: bigint): boolean =>
    reports.some((report) => hashes(report, number) === followed.at(number)?.hash);
  // The branch to follow, if it is another one: of the first in order that most groups have.
  let winner: { readonly report: R; readonly count: number; readonly hasWon: boolean } | undefined;
  for (const report of reports) {
    if (report.isUncertain) continue;
    for (const number of numbersApart(report, followed, hashes)) {
      const own = count(number, hashes(report, number));
      const others = count(number, followed.at(number)?.hash);
      const hasWon = own >= 2 && own > others;
      const isGone = others === 0 && having(number, hashes(report, number)).length > 0;
      // One that is not current may still have the followed block: those that only stood still do not replace it.
      const isBetter = hasWon || (isGone && (own > 0 || !isHeld(number)));
      if (isBetter && (winner === undefined || own > winner.count)) winner = { report, count: own, hasWon };
    }
  }
  const standings = new Map<R, Standing>();
  let disputedAt: bigint | undefined;
  for (const report of reports) {
    if (report.isUncertain) continue;
    const apart =
      winner === undefined
        ? numbersApart(report, followed, hashes).map((number) => [number, followed.at(number)?.hash] as const)
        : numbersBetween(report, winner.report, hashes);
    if (apart.length === 0) continue;
    const hasLost = apart.some(([number, hash]) => {
      const others = count(number, hash);
      return others >= 2 && others > count(number, hashes(report, number));
    });
    const common = winner === undefined ? newestCommon(report, followed) : undefined;
    const lowest = apart.at(-1)?.[0] ?? 0n;
    const leftAt = common === undefined || common >= lowest ? lowest : common + 1n;
    standings.set(report, hasLost ? { leftAt, hasLost } : { leftAt });
    if (hasLost || !voters.includes(report) || !hasVote(report, leftAt)) continue;
    if (disputedAt === undefined || leftAt < disputedAt) disputedAt = leftAt;
  }
  return { leaves: winner && (winner.hasWon ? 'lost' : 'gone'), standings, disputedAt };
}

type HashAt<R> = (report: R, number: bigint) => string | undefined;

/** The heights at which an upstream has other blocks than the followed ones; none if its newest known block is followed. */
function numbersApart<R extends Report>(report: R, followed: Headers, hashes: HashAt<R>): bigint[] {
  const apart: bigint[] = [];
  for (const number of report.hashes.keys()) {
    const known = followed.at(number)?.hash;
    const own = hashes(report, number);
    if (known === undefined || own === undefined) continue;
    if (known === own) break;
    apart.push(number);
  }
  return apart;
}

/** The heights at which an upstream has other blocks than another one, with the hashes of that. */
function numbersBetween<R extends Report>(report: R, other: R, hashes: HashAt<R>): (readonly [bigint, string])[] {
  const apart: (readonly [bigint, string])[] = [];
  const numbers = new Set([...report.hashes.keys(), ...other.hashes.keys()]);
  for (const number of [...numbers].sort(compare).reverse()) {
    const [own, its] = [hashes(report, number), hashes(other, number)];
    if (own === undefined || its === undefined) continue;
    if (own === its) break;
    apart.push([number, its]);
  }
  return apart;
}

/**
 * The hash that an upstream has at a height: by its own reports, or as an ancestor of a followed block or of one that another
 * upstream has. What it reported before a gap may have been replaced: undefined, as what it never reported.
 */
function hashAt(report: Report, number: bigint, followed: Headers, reports: readonly Report[]): string | undefined {
  const { hashes, head, linkedFrom } = report;
  if (number > head.number) return undefined;
  if (number >= linkedFrom) return hashes.get(number);
  const oldest = hashes.get(linkedFrom);
  if (oldest === undefined) return undefined;
  if (followed.at(linkedFrom)?.hash === oldest) return followed.at(number)?.hash;
  const other = reports.find((one) => one.linkedFrom < linkedFrom && one.hashes.get(linkedFrom) === oldest);
  return other && hashAt(other, number, followed, reports);
}

/** The number of their groups. */
export function groupsOf(reports: readonly Report[]): number {
  return new Set(reports.map(({ group }) => group)).size;
}

/** Whether a head may be that far above the lower ones: near them, or younger by the time that so many blocks take. */
function isPlausible(
  { head }: Report,
  lower: readonly Report[],
  followed: Headers,
  blockMs: number | undefined,
): boolean {
  const near = nearBlocks(blockMs);
  const next = lower[0]?.head;
  if (next === undefined) return true;
  const areAgreed = groupsOf(lower.filter((one) => next.number - one.head.number <= near)) > 1;
  if (!areAgreed && followed.head !== undefined && head.number <= followed.head.number + near) return true;
  const distance = head.number - next.number;
  if (distance <= near) return true;
  if (head.timestamp === undefined || next.timestamp === undefined) return false;
  const ms = Number(head.timestamp - next.timestamp) * 1_000;
  const paceMs = Math.min(blockMs ?? DEFAULT_BLOCK_MS, DEFAULT_BLOCK_MS * MAX_SPEEDUP);
  return ms > 0 && distance <= near + maxBlocksIn(ms, paceMs);
}

/** The distance in blocks that two heads may have by their polls. */
export function nearBlocks(blockMs: number | undefined): bigint {
  const blocks = BigInt(Math.ceil(NEAR_MS / (blockMs ?? NEAR_MS)));
  return blocks > MIN_NEAR_BLOCKS ? blocks : MIN_NEAR_BLOCKS;
}

/** The highest number that a block can plausibly have, some time after the network had this head. */
export function highestPlausible(last: SeenHead, at: number, blockMs: number | undefined): bigint {
  return last.number + nearBlocks(blockMs) + maxBlocksIn(at - last.at, blockMs ?? DEFAULT_BLOCK_MS);
}

function maxBlocksIn(ms: number, paceMs: number): bigint {
  return BigInt(Math.ceil((Math.max(ms, 0) * MAX_SPEEDUP) / paceMs));
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
