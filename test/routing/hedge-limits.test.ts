import { afterAll, expect, it } from 'vitest';
import { Call } from '../../gateway/call/call.ts';
import { sendHedged } from '../../gateway/call/hedge.ts';
import type { Router } from '../../gateway/call/router.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { openLog } from '../../gateway/config/log.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { Ranking } from '../../gateway/routing/ranking.ts';
import { RetryBudget } from '../../gateway/routing/retry-budget.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { configOf } from '../network-files/load.ts';
import { simulateTime } from '../support/simulate-time.ts';

const time = simulateTime();
const metrics = new Metrics();
const log = openLog('silent');
const url = 'http://127.0.0.1:1';
/** Gets no request. */
const transport = new HttpUpstream({ url, connections: 1, headers: {}, responseMaxBytes: 1_000 });
afterAll(() => transport.close());

const failed: Outcome = { final: false, failure: 'transport', response: undefined };

/** A call at the first of two upstreams, which is hedged after 10 ms, if the shared rate of the second one permits it. */
function hedgedCall() {
  let decide: (shortage: object | undefined) => void = () => undefined;
  let charges = 0;
  const limiter = {
    charge: () => {
      charges++;
      return new Promise<{ shortage: object | undefined }>((resolve) => {
        decide = (shortage) => {
          resolve({ shortage });
        };
      });
    },
    take: () => undefined,
    waitMs: () => 0,
  };
  const names = ['one', 'two'];
  const limits = { perSecond: 1, concurrency: 1 };
  const { upstreams: configs } = configOf('test', { upstreams: names.map((name) => ({ name, url, limits })) });
  const upstreams = configs.map(
    (config) =>
      new Upstream(config, config, {
        ...{ chainId: 7, transport, defaultTimeoutMs: 1_000, log },
        shared: { name: config.name, limiter, leases: undefined },
        metrics: metrics.upstreamMetrics('test', config.name),
      }),
  );
  const [one, two] = upstreams as [Upstream, Upstream];
  const chain = {
    view: { newestServed: 0n, maxLag: 8, lagOf: () => 0, standingOf: () => ({}), headOf: () => undefined },
  };
  const router = {
    ...{ all: upstreams, chain, hasArchives: false, ranking: new Ranking(upstreams), budget: new RetryBudget() },
    options: { maxLagBlocks: undefined, metrics: { hedged: () => undefined } },
  } as unknown as Router;
  const spec = methods.find(({ name }) => name === 'eth_gasPrice');
  if (spec === undefined) throw new Error('no method eth_gasPrice');
  const call = new Call(router, spec, [], clock.now() + 9_000);
  Object.assign(call, { tried: [one], attempts: 1 });
  const sent: string[] = [];
  let end: (outcome: Outcome) => void = () => undefined;
  const ended = new Promise<Outcome>((resolve) => (end = resolve));
  const outcome = sendHedged(call, one, 10, (_call, upstream) => {
    sent.push(upstream.name);
    return ended;
  });
  return {
    call,
    two,
    sent,
    outcome,
    end,
    charges: () => charges,
    decide: (shortage?: object) => {
      decide(shortage);
    },
  };
}

it('a hedge that is not admitted is no attempt, so that the call may still be sent to this upstream', async () => {
  const { call, two, outcome, end, charges, decide } = hedgedCall();
  await time().advance(20);
  expect(charges()).toBe(1);
  decide({});
  await time().advance(0);
  end(failed);
  expect(await outcome).toBe(failed);
  expect([call.tried.map(({ name }) => name), call.attempts, call.isHedged]).toEqual([['one'], 1, false]);
  expect(two.limits?.hasCapacity()).toBe(true);
});

it('a response does not wait for the admission of a hedge, which then is not sent and leaves its slot and unit', async () => {
  const { two, sent, outcome, end, charges, decide } = hedgedCall();
  await time().advance(20);
  expect(charges()).toBe(1);
  end(failed);
  expect(await outcome).toBe(failed);
  expect(two.limits?.hasCapacity()).toBe(false);
  decide();
  await time().advance(0);
  expect(sent).toEqual(['one']);
  expect(two.limits?.admit()).toBe(true);
  expect(charges()).toBe(1);
});
