import { afterAll, describe, expect, it } from 'vitest';
import { Call } from '../../gateway/call/call.ts';
import type { Router } from '../../gateway/call/router.ts';
import { select, skipReasons } from '../../gateway/call/select.ts';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { CallRecord } from '../../gateway/observability/call-record.ts';
import { Ranking } from '../../gateway/routing/ranking.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { blocksNamedBy } from '../../gateway/upstreams/available-blocks.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { configOf } from '../network-files/load.ts';
import { ownLimits } from '../support/own-limits.ts';

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
      shared: ownLimits(config.name),
      transport,
      defaultTimeoutMs: 1_000,
      metrics: metrics.upstreamMetrics('test', config.name),
      log,
    });
    if (isTrue()) upstream.limits?.beginRequest();
    if (isTrue()) upstream.methods.recordFailure(name, 'unsupported', true, now);
    // A long time ago, a trial is due.
    const failedAt = [undefined, now, now - 100_000][random(5)];
    if (failedAt !== undefined) upstream.circuit.recordFailure('transport', failedAt);
    if (random(5) > 0) heads.set(upstream, 1_000n - BigInt(random(3) * 6));
    return upstream;
  });
  const view = {
    number: 1_000n,
    newestServed: BigInt(990 + random(20)),
    maxLag: 8,
    lagOf: (one: Upstream) => Number(1_000n - (heads.get(one) ?? 1_000n)),
    standingOf: () => ({}),
    headOf: (one: Upstream) => (heads.has(one) ? { number: heads.get(one) ?? 0n } : undefined),
  };
  const router = {
    all: upstreams,
    chain: { view },
    ranking: new Ranking(upstreams),
    hasArchives: upstreams.some(({ blocks }) => blocks.isArchive),
    headSources: upstreams,
    options: { maxLagBlocks: undefined },
  } as unknown as Router;
  const call = new Call(router, spec, params, Infinity);
  call.blocks = blocksNamedBy(spec, params);
  call.preferred = isTrue() ? upstreams[random(COUNT)] : undefined;
  call.tried = upstreams.filter(isTrue);
  return { call, router, upstreams, now };
}

const halfOpenIn = (upstreams: readonly Upstream[]): string[] =>
  upstreams.filter(({ circuit }) => circuit.state === 'half-open').map(({ name }) => name);

describe('the selection', () => {
  it('begins a trial of the selected upstream only', () => {
    let trials = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const { call, router, upstreams, now } = randomCase(seed);
      skipReasons(router, now);
      expect(halfOpenIn(upstreams)).toEqual([]);
      const selected = select(call, now);
      const begun = halfOpenIn(upstreams);
      expect(begun.filter((name) => name !== selected?.name)).toEqual([]);
      if (begun.length > 0) trials++;
    }
    expect(trials).toBeGreaterThan(10);
  });

  it.each([true, false])('records the skip reasons of a call, of all upstreams: %s', (needsAllSkipReasons) => {
    let reports = 0;
    let later = 0;
    for (let seed = 1; seed <= CASES; seed++) {
      const { call, upstreams, now } = randomCase(seed);
      call.tried = [];
      call.record = CallRecord.begin(call.method.name, 'test', '1', [{ needsAllSkipReasons }]);
      const selected = select(call, now);
      const reported = new Map(Object.entries(call.record.skipReasons));
      reports += reported.size;
      const ranked = upstreams.map(({ name }) => name);
      const isLater = (name: string): boolean => ranked.indexOf(name) > ranked.indexOf(selected?.name ?? '');
      if (selected !== undefined && !reported.has(selected.name) && [...reported.keys()].some(isLater)) later++;
    }
    expect(reports).toBeGreaterThan(100);
    // A preferred upstream may be later in the ranking.
    if (needsAllSkipReasons) expect(later).toBeGreaterThan(10);
    else expect(later).toBe(0);
  });
});
