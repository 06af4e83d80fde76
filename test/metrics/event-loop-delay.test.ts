import { setTimeout as sleep } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { turnBudget } from '../../gateway/event-loop/turn-budget.ts';
import { measureEventLoopDelay, NEVER_MS } from '../../gateway/metrics/event-loop-delay.ts';
import { blockEventLoop } from '../support/block-event-loop.ts';
import { elasticClock } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';

/** The gauges of a process without work. Its clock stands still, and the histogram measures real time. */
function openGauges() {
  const time = elasticClock();
  time.stop();
  onTestFinished(() => {
    time.run();
  });
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER_MS });
  measureEventLoopDelay(register);
  return {
    time,
    work: async () => {
      turnBudget.begin();
      // The clock was at most 100 ms ahead of its timers when it stopped.
      await time.advance(600);
    },
    /** @returns the maximum in milliseconds */
    scrape: async () => {
      await register.getSingleMetric('nodejs_eventloop_lag_seconds')?.get();
      const gauge = await register.getSingleMetric('nodejs_eventloop_lag_max_seconds')?.get();
      return (gauge?.values[0]?.value ?? NaN) * 1_000;
    },
  };
}

it('a pause without work is no delay', async () => {
  const { time, work, scrape } = openGauges();
  await work();
  await sleep(50);
  // Without a scrape, which would clear the time of the latest sample.
  await time.advance(301_000);
  blockEventLoop(500);
  // eslint-disable-next-line no-restricted-properties -- the histogram measures real time
  const startedAt = performance.now();
  await work();
  await sleep(50);
  const max = await scrape();
  // eslint-disable-next-line no-restricted-properties -- the histogram measures real time
  expect(max).toBeLessThan(1.01 * (performance.now() - startedAt));
});

it('a delay before a pause without work is in the next scrape', async () => {
  const { time, work, scrape } = openGauges();
  await work();
  await sleep(30);
  blockEventLoop(200);
  await sleep(30);
  await time.advance(60_000);
  await work();
  expect(await scrape()).toBeGreaterThan(190);
});

it('a delay of a process without work is measured, by the lateness of a timer of 500 ms', async () => {
  const { time, scrape } = openGauges();
  await time.advance(6_000);
  await scrape();
  time.run();
  blockEventLoop(800);
  await eventually(async () => (await scrape()) > 250);
});
