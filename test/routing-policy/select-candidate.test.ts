import { describe, expect, it } from 'vitest';
import type { CallNeeds, CandidateState, NetworkState } from '../../gateway/routing-policy/candidate.ts';
import { selectCandidate, type Candidates } from '../../gateway/routing-policy/select-candidate.ts';
import { skipReasonNames, skipReasonOf } from '../../gateway/routing-policy/skip-reasons.ts';

/** An upstream at the head, without a skip reason for any call. */
const healthy: CandidateState = {
  isDrained: false,
  isExcluded: false,
  isPreferred: false,
  hasCapacity: true,
  isMethodMarked: false,
  isArchive: false,
  lacksBlocks: false,
  head: 1_000,
  leftAt: undefined,
  hasLost: false,
  aheadOf: undefined,
  isHeadUncertain: false,
  lag: 0,
  isTagOlder: false,
  circuit: 'closed',
  isOnOtherChain: false,
};
const network: NetworkState = { head: 1_000, newestServed: 1_000, maxLag: 8, hasArchives: false };
const archives = { hasArchives: true };

const anyBlock: CallNeeds = {
  blocks: undefined,
  listsLogs: false,
  isHeadNumber: false,
  isPassThrough: false,
  sends: false,
  purpose: 'attempt',
};
const from = (lowest: number, highest = lowest, readsState = false): Partial<CallNeeds> => {
  return { blocks: { lowest, highest, readsState } };
};
const stateAt = (block: number): Partial<CallNeeds> => from(block, block, true);
const upTo = (tag: string): Partial<CallNeeds> => {
  return { blocks: { lowest: Infinity, highest: -Infinity, readsState: false, tag } };
};
const latest = upTo('latest');
const finalized = upTo('finalized');
const logsUpTo = (highest: number): Partial<CallNeeds> => ({ ...from(1, highest), listsLogs: true });
const send: Partial<CallNeeds> = { sends: true };
const hedge: Partial<CallNeeds> = { purpose: 'hedge' };
const closedRetry: Partial<CallNeeds> = { purpose: 'closed-retry' };

const a = {};
const full = { hasCapacity: false };
const marked = { isMethodMarked: true };
const open = { circuit: 'open' } as const;
const trialDue = { circuit: 'trial-due' } as const;
const otherChain = { ...open, isOnOtherChain: true };
const preferred = { isPreferred: true };
const tried = { isTried: true };
const drained = { isDrained: true };
const excluded = { isExcluded: true };
const at = (head: number | undefined, lag = 0): Partial<CandidateState> => ({ head, lag });

type Candidate = CandidateState & { readonly letter: string };

/** The order in which upstreams are selected, as text: letters are the ranking. `!` behind a skip reason: not even a last resort. */
function orderOf(
  candidates: readonly (Partial<CandidateState> & { readonly isTried?: boolean })[],
  callNeeds: Partial<CallNeeds>,
  inNetwork: Partial<NetworkState> = {},
): string {
  const all = candidates.map((state, index) => ({ ...healthy, ...state, letter: 'abcd'[index] ?? '?' }));
  const input = { needs: { ...anyBlock, ...callNeeds }, network: { ...network, ...inNetwork } };
  let ranked: Candidate[] = all.filter(({ isTried }) => isTried !== true);
  const order: string[] = [];
  for (;;) {
    const selected = select(ranked, input);
    if (selected === undefined) break;
    const { upstream, skipReason } = selected;
    order.push(upstream.letter + (skipReason === undefined ? '' : `:${skipReason}`));
    ranked = ranked.filter((one) => one !== upstream);
  }
  const unusable = ranked.map((one) => `${one.letter}:${skipReasonOf(one, input.needs, input.network) ?? ''}!`);
  return [...order, ...unusable].join(' ');
}

function select(ranked: readonly Candidate[], input: Pick<Candidates<Candidate>, 'needs' | 'network'>) {
  const preferred = ranked.find(({ isPreferred }) => isPreferred);
  return selectCandidate({ ...input, ranked, preferred, stateOf: (candidate) => candidate });
}

type SelectionCase = [
  name: string,
  candidates: (Partial<CandidateState> & { readonly isTried?: boolean })[],
  needs: Partial<CallNeeds>,
  network: Partial<NetworkState>,
  order: string,
];

const rows: SelectionCase[] = [
  // Order
  ['healthy upstreams are in the order of the ranking', [a, a, a], {}, {}, 'a b c'],
  ['tried ones are left out', [tried, a, { ...tried, ...open }], {}, {}, 'b'],
  ['the preferred one is first', [a, preferred, a], {}, {}, 'b a c'],
  ['none are left', [tried, tried], {}, {}, ''],
  // Limits
  ['an upstream at its limit is never used', [full, a], {}, {}, 'b a:at-limit!'],
  ['the limit is the first reason', [{ ...full, ...marked, ...open, lag: 9 }], {}, {}, 'a:at-limit!'],
  // Methods
  ['a marked upstream is a last resort', [marked, a], {}, {}, 'b a:unsupported-method'],
  // Blocks
  ['a block above its head is missing', [at(999), a], from(1_000), {}, 'b a:missing-block'],
  ['a block at its head is not', [at(999), a], from(999), {}, 'a b'],
  ['the upper end of a range counts', [at(999), a], from(1, 1_000), {}, 'b a:missing-block'],
  ['a block above every head may be new anywhere', [at(999), a], from(1_001), {}, 'a b'],
  ['an unknown head has every block', [at(undefined), a], from(1_000), {}, 'a b'],
  ['blocks that were reported missing', [{ lacksBlocks: true }, a], from(5), {}, 'b a:missing-block'],
  ['an archive has them all the same', [{ lacksBlocks: true, isArchive: true }, a], from(5), {}, 'a b'],
  ['old state is at archives', [a, { isArchive: true }], stateAt(872), archives, 'b a:missing-block'],
  ['recent state is everywhere', [a, { isArchive: true }], stateAt(873), archives, 'a b'],
  ['old blocks are everywhere', [a, { isArchive: true }], from(5), archives, 'a b'],
  ['old state without an archive may be anywhere', [a, a], stateAt(5), {}, 'a b'],
  // The network file
  [
    'an excluded upstream never gets the call',
    [{ ...excluded, ...preferred }, full],
    send,
    {},
    'a:excluded! b:at-limit!',
  ],
  ['whatever the purpose', [excluded, a], hedge, {}, 'b a:excluded!'],
  ['a drained upstream never gets the call', [{ ...drained, ...preferred }, full], {}, {}, 'a:drained! b:at-limit!'],
  // Lag
  ['a lag up to the limit is allowed', [at(992, 8), a], {}, {}, 'a b'],
  ['a lag above it is not', [at(991, 9), a], {}, {}, 'b a:behind'],
  ['latest needs the newest served block', [at(999, 1), a], latest, {}, 'b a:stale!'],
  ['also of a marked upstream', [{ ...at(999, 1), ...marked }, tried], latest, {}, 'a:stale!'],
  ['also if no caller was served it', [at(999, 1), a], latest, { newestServed: 0 }, 'b a:behind'],
  ['not one that may have lost blocks', [{ isHeadUncertain: true }, a], latest, {}, 'b a:stale!'],
  ['one whose head is not known has every block', [{ ...at(undefined), isHeadUncertain: true }, a], latest, {}, 'a b'],
  ['which may be above the head', [at(999, 1), at(1_005)], latest, { newestServed: 1_005 }, 'b a:stale!'],
  ['the number of the head is raised', [at(999, 1), a], { ...latest, isHeadNumber: true }, {}, 'b a:behind'],
  ['safe and finalized blocks are a last resort there', [at(999, 1), a], finalized, {}, 'b a:behind'],
  ['and pass-through methods', [at(999, 1), a], { isPassThrough: true }, { newestServed: 0 }, 'b a:behind'],
  ['a list of logs needs the end of the range', [at(999), a], logsUpTo(1_000), {}, 'b a:stale!'],
  ['or the head, if the range ends above it', [at(999), a], logsUpTo(1_001), {}, 'b a:stale!'],
  ['the newest of lagging heads is first', [at(990), at(998), at(992)], finalized, {}, 'b:behind c:behind a:behind'],
  ['also for a pass-through method', [at(990), at(998)], { isPassThrough: true }, {}, 'b:behind a:behind'],
  ['but not for other calls', [at(980, 20), at(990, 10)], {}, {}, 'a:behind b:behind'],
  [
    'and after closed circuits with any lag',
    [{ ...at(999, 1), ...open }, at(900, 100)],
    finalized,
    {},
    'b:behind a:circuit-open',
  ],
  ['an unknown head is not behind', [at(undefined), a], latest, {}, 'a b'],
  ['an older safe or finalized block', [{ isTagOlder: true }, a], latest, {}, 'b a:behind'],
  ['only calls for a tag need them', [{ ...at(999, 1), isTagOlder: true }, a], from(900), {}, 'a b'],
  // Branches
  ['other blocks at the block of the call, without a majority', [{ leftAt: 900 }, a], from(900), {}, 'b a:disputed'],
  ['not below', [{ leftAt: 900 }, a], from(899), {}, 'a b'],
  [
    'before one that lacks the block',
    [at(999), { ...at(1_005), leftAt: 900 }],
    from(1_000),
    {},
    'b:disputed a:missing-block',
  ],
  ['a last resort for a tag', [{ leftAt: 1_000 }, tried], latest, {}, 'a:disputed'],
  ['other blocks than most groups', [{ leftAt: 900, hasLost: true }, a], from(900), {}, 'b a:other-branch!'],
  ['never for a tag', [{ leftAt: 1_000, hasLost: true }, tried], latest, {}, 'a:other-branch!'],
  [
    'nor for a pass-through method',
    [{ leftAt: 1_000, hasLost: true }, a],
    { isPassThrough: true },
    {},
    'b a:other-branch!',
  ],
  ['a head far above those of all other groups', [{ ...at(1_012), aheadOf: 1_000 }, a], latest, {}, 'b a:ahead'],
  ['blocks up to those may be anywhere', [{ ...at(1_012), aheadOf: 1_000 }, a], from(1_000), {}, 'a b'],
  // Circuits
  ['an open circuit is a last resort', [open, a], {}, {}, 'b a:circuit-open'],
  ['a trial that is due is like a closed circuit', [trialDue, a], {}, {}, 'a b'],
  ['a transaction is no trial', [trialDue, a], send, {}, 'b a:circuit-open'],
  ['another chain is never used', [otherChain, a], {}, {}, 'b a:other-chain!'],
  ['after the cooldown the chain is checked again', [{ ...otherChain, ...trialDue }], {}, {}, 'a'],
  // Last resorts
  ['closed circuits are before open ones', [open, marked, a], {}, {}, 'c b:unsupported-method a:circuit-open'],
  [
    'an open circuit is after closed ones with any reason',
    [{ ...marked, ...open }, at(980, 20)],
    {},
    {},
    'b:behind a:circuit-open',
  ],
  ['equal ones are in the order of the ranking', [at(980, 20), marked], {}, {}, 'a:behind b:unsupported-method'],
  ['all at their limit', [full, full], {}, {}, 'a:at-limit! b:at-limit!'],
  [
    'an open circuit is before missing blocks',
    [at(999), { ...open, ...at(1_000) }],
    from(1_000),
    {},
    'b:circuit-open a:missing-block',
  ],
  [
    'a list with gaps is no last resort',
    [at(999), { ...open, ...at(1_000) }],
    logsUpTo(1_000),
    {},
    'b:circuit-open a:stale!',
  ],
  // The preferred upstream
  [
    'it may be behind, marked and without the block',
    [a, { ...preferred, ...marked, ...at(980, 20), lacksBlocks: true }],
    latest,
    {},
    'b a',
  ],
  ['it is skipped at its limit', [a, { ...preferred, ...full }], {}, {}, 'a b:at-limit!'],
  ['it is skipped with an open circuit', [a, { ...preferred, ...open }], {}, {}, 'a b:circuit-open'],
  // Hedges and retries without budget
  ['a hedge needs a closed circuit', [tried, trialDue, a], hedge, {}, 'c b:circuit-open!'],
  ['a hedge has no last resort', [marked, a], hedge, {}, 'b a:unsupported-method!'],
  ['a retry without budget needs a closed circuit', [trialDue, a], closedRetry, {}, 'b a:circuit-open!'],
  [
    'its last resorts have closed circuits',
    [{ ...marked, ...open }, marked],
    closedRetry,
    {},
    'b:unsupported-method a:circuit-open!',
  ],
];

describe('the routing policy', () => {
  it.each(rows)('%s', (_name, candidates, needs, inNetwork, order) => {
    expect(orderOf(candidates, needs, inNetwork)).toBe(order);
  });

  it('has a row above for each skip reason', () => {
    const orders = rows.map(([, , , , order]) => order).join(' ');
    expect(skipReasonNames.filter((reason) => !orders.includes(`:${reason}`))).toEqual([]);
  });

  it('changes no state', () => {
    const frozen = [open, trialDue, full].map((state) => Object.freeze({ ...healthy, ...state, letter: 'a' }));
    const input = { needs: Object.freeze(anyBlock), network: Object.freeze(network) };
    expect(select(Object.freeze(frozen), input)).toEqual(select(frozen, input));
  });
});
