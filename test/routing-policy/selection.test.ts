import { afterAll, describe, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { MonotonicReads } from '../../gateway/routing/monotonic-reads.ts';
import { createCall, createRoutedCall, type RoutedCall } from '../../gateway/routing/routed-call.ts';
import { UpstreamSelector } from '../../gateway/routing/select-upstream.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { blocksNamedBy } from '../../gateway/upstreams/available-blocks.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { configOf } from '../network-files/load.ts';

const COUNT = 3;
const CASES = 400;
const metrics = new Metrics();
const log = openLog('silent');
const configs = configOf('test', {
  upstreams: Array.from({ length: COUNT }, (_, index) => ({
    name: `node-${index}`,
    url: 'http://127.0.0.1:1',
    limits: { concurrency: 1 },
  })),
}).upstreams;
/** Gets no request. */
const transport = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 1, headers: {}, responseMaxBytes: 1_000 });
afterAll(() => transport.close());

const purposes = ['attempt', 'hedge', 'closed-retry'] as const;

/** A small generator, so that a failed case can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Three upstreams in random states, which get no request, and a call with random needs. */
function randomCase(seed: number) {
  const random = randomFrom(seed);
  const isTrue = (): boolean => random(4) === 0;
  const now = 1_000_000;
  const [name, params] = (
    [
      ['eth_getBalance', [`0x${'11'.repeat(20)}`, 'latest']],
      ['eth_getBalance', [`0x${'11'.repeat(20)}`, `0x${(random(1_000) + 1).toString(16)}`]],
      ['eth_gasPrice', []],
      ['eth_sendRawTransaction', ['0x00']],
    ] as const
  )[random(4)] ?? ['eth_gasPrice', []];
  const spec = methods.find((method) => method.name === name);
  if (spec === undefined) throw new Error(`no method ${name}`);
  const heads = new Map<Upstream, bigint>();
  const upstreams = configs.map((config) => {
    const upstream = new Upstream({ ...config, archive: isTrue() }, config, {
      chainId: 7,
      transport,
      defaultTimeoutMs: 1_000,
      metrics: metrics.upstreamMetrics('test', config.name),
      log,
    });
    if (isTrue()) upstream.limits?.beginRequest(now);
    if (isTrue()) upstream.methods.recordFailure(name, 'unsupported', true, now);
    // A long time ago, a trial is due.
    const failedAt = [undefined, now, now - 100_000][random(5)];
    if (failedAt !== undefined) upstream.circuit.recordFailure('transport', failedAt);
    if (random(5) > 0) heads.set(upstream, 1_000n - BigInt(random(3) * 6));
    return upstream;
  });
  const positions = {
    number: 1_000n,
    newestServed: { number: BigInt(990 + random(20)) },
    pace: { maxLag: 8 },
    lagOf: (one: Upstream) => Number(1_000n - (heads.get(one) ?? 1_000n)),
    headOf: (one: Upstream) => (heads.has(one) ? { number: heads.get(one) ?? 0n } : undefined),
    isBehind: () => false,
    catchUp: () => undefined,
    has: () => false,
    recordServed: () => undefined,
    hasAdvancedSince: () => false,
  };
  const monotonic = new MonotonicReads<Upstream>(positions, () => undefined);
  const selector = new UpstreamSelector(upstreams, positions, monotonic, {});
  const preferred = isTrue() ? upstreams[random(COUNT)] : undefined;
  const routedCall = createRoutedCall(createCall(spec, params, Infinity), blocksNamedBy(spec, params), preferred);
  routedCall.tried = upstreams.filter(isTrue);
  return { selector, routedCall, upstreams, now };
}

describe('the selection', () => {
  it.each(purposes)('of %s is the first usable upstream in the order of the policy', (purpose) => {
    const selectedReasons = new Set<string>();
    for (let seed = 1; seed <= CASES; seed++) {
      const { selector, routedCall, now } = randomCase(seed);
      const first = selector.order(routedCall, now, purpose).find(({ isUsable }) => isUsable);
      expect(selector.select(routedCall, now, purpose)?.name, `seed ${seed}`).toBe(first?.candidate.upstream.name);
      selectedReasons.add(first === undefined ? 'none' : (first.skipReason ?? 'healthy'));
    }
    // The cases contain upstreams without and with a skip reason, and calls without an upstream.
    expect(selectedReasons.has('healthy') && selectedReasons.has('none')).toBe(true);
    expect(selectedReasons.size).toBeGreaterThan(purpose === 'hedge' ? 1 : 3);
  });

  it('begins a trial of the selected upstream only', () => {
    let trials = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const { selector, routedCall, upstreams, now } = randomCase(seed);
      const halfOpen = (): Upstream[] => upstreams.filter(({ circuit }) => circuit.state === 'half-open');
      const ordered = selector.order(routedCall, now);
      expect(halfOpen()).toEqual([]);
      const first = ordered.find(({ isUsable }) => isUsable);
      selector.select(routedCall, now);
      const isTrial = first?.skipReason === undefined && first?.candidate.circuit === 'trial-due';
      expect(halfOpen().map(({ name }) => name)).toEqual(isTrial ? [first.candidate.upstream.name] : []);
      if (isTrial) trials++;
    }
    expect(trials).toBeGreaterThan(10);
  });

  it.each([true, false])(
    'reports skip reasons to the observer of a call, of all upstreams: %s',
    (needsAllSkipReasons) => {
      let later = 0;
      for (let seed = 1; seed <= CASES; seed++) {
        const { selector, routedCall, now } = randomCase(seed);
        const reported: [string, string][] = [];
        const observer = {
          needsAllSkipReasons,
          skipped: (upstream: string, reason: string) => void reported.push([upstream, reason]),
        } as unknown as RoutedCall['observer'];
        const first = { ...routedCall, tried: [], observer };
        const ordered = selector.order(first, now);
        selector.select(first, now);
        const skipped = ordered.filter(({ skipReason }) => skipReason !== undefined);
        const all = skipped.map(({ candidate, skipReason }) => [candidate.upstream.name, skipReason]);
        if (needsAllSkipReasons) expect(reported).toEqual(all);
        else expect(all).toEqual(expect.arrayContaining(reported));
        if (reported.length < all.length || (needsAllSkipReasons && ordered[0]?.skipReason === undefined)) later++;
      }
      expect(later).toBeGreaterThan(10);
    },
  );
});
