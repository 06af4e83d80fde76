import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CallNeeds, CandidateState, NetworkState } from '../../gateway/routing-policy/candidate.ts';
import { skipReasonNames, skipReasonOf, skipReasons } from '../../gateway/routing-policy/skip-reasons.ts';
import { propertyRuns } from '../support/property-runs.ts';

/** Mostly false, so that many candidates have no reason or only one. */
const seldom = fc.integer({ min: 0, max: 7 }).map((number) => number === 0);
const block = fc.constantFrom(0, 800, 990, 999, 1_000, 1_001);
const tag = fc.constantFrom(undefined, 'latest', 'safe');

const candidates: fc.Arbitrary<CandidateState> = fc.record({
  isDrained: seldom,
  isExcluded: seldom,
  isPreferred: fc.boolean(),
  hasCapacity: seldom.map((isUsedUp) => !isUsedUp),
  isMethodMarked: seldom,
  isArchive: fc.boolean(),
  lacksBlocks: seldom,
  head: fc.option(block, { nil: undefined }),
  leftAt: seldom.map((hasLeft) => (hasLeft ? 990 : undefined)),
  hasLost: fc.boolean(),
  aheadOf: seldom.map((isAhead) => (isAhead ? 990 : undefined)),
  isHeadUncertain: seldom,
  lag: fc.constantFrom(0, 0, 8, 9),
  isTagOlder: seldom,
  circuit: fc.constantFrom('closed', 'closed', 'closed', 'trial-due', 'open'),
  isOnOtherChain: seldom,
});
const blocks = fc.record({ lowest: block, highest: block, readsState: fc.boolean(), tag });
const needs: fc.Arbitrary<CallNeeds> = fc.record({
  blocks: fc.option(blocks, { nil: undefined }),
  listsLogs: fc.boolean(),
  isHeadNumber: fc.boolean(),
  isPassThrough: fc.boolean(),
  sends: fc.boolean(),
  purpose: fc.constantFrom('attempt', 'closed-retry', 'hedge'),
});
const networks: fc.Arbitrary<NetworkState> = fc.record({
  head: block,
  newestServed: block,
  maxLag: fc.constantFrom(0, 8),
  hasArchives: fc.boolean(),
});

it('the only upstream of a network has the same reasons by fewer rows', () => {
  const unknown = { leftAt: undefined, hasLost: false, aheadOf: undefined, head: undefined, isHeadUncertain: false };
  const only = { ...unknown, lag: 0, isArchive: false, lacksBlocks: false, isTagOlder: false };
  const network = { head: 0, newestServed: 0, maxLag: 0, hasArchives: false };
  fc.assert(
    fc.property(candidates, needs, (candidate, call) => {
      const state = { ...candidate, ...only };
      expect(skipReasonOf(state, call, { ...network, isAlone: true })).toBe(skipReasonOf(state, call, network));
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

it('the reason is that of the first row that applies', () => {
  const counts = { none: 0, some: 0 };
  const numRuns = propertyRuns(3_000);
  fc.assert(
    fc.property(candidates, needs, networks, (candidate, call, network) => {
      const expected = skipReasonNames.find((name) => skipReasons[name].applies(candidate, call, network));
      expect(skipReasonOf(candidate, call, network)).toBe(expected);
      counts[expected === undefined ? 'none' : 'some']++;
    }),
    { numRuns },
  );
  expect(Math.min(counts.none, counts.some)).toBeGreaterThan(numRuns / 60);
});
