import { setImmediate as turn } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { turnBudget } from '../../gateway/event-loop/turn-budget.ts';
import { measureEventLoopDelay, UNUSED_PRECISION_MS } from '../../gateway/metrics/event-loop-delay.ts';
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
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: UNUSED_PRECISION_MS });
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

/** Blocks the event loop, then lets the timer of the histogram, of 10 ms, fire once. */
async function block(ms: number): Promise<void> {
  blockEventLoop(ms);
  await turn();
  await turn();
}

it('a pause without work is no delay', async () => {
  const { time, work, scrape } = openGauges();
  // On a busy machine, a further delay may be as long as the pause.
  await eventually(async () => {
    await work();
    await block(15);
    // Without a scrape, which would clear the time of the latest sample.
    await time.advance(301_000);
    blockEventLoop(500);
    await work();
    await block(15);
    await block(15);
    const max = await scrape();
    return max > 0 && max < 400;
  });
});

it('a delay before a pause without work is in the next scrape', async () => {
  const { time, work, scrape } = openGauges();
  await work();
  // The first sample begins at the first firing.
  await block(15);
  await block(200);
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
