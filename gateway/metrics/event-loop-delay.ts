import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Gauge, Registry } from 'prom-client';
import { clock } from '../clock/clock.ts';
import { turnBudget } from '../event-loop/turn-budget.ts';

/** Precision of prom-client's own histogram, which cannot be stopped: its timer is never due. */
export const NEVER_MS = 2 ** 31 - 1;
/** Time after the latest work or scrape in which the delay is measured. */
const IN_USE_MS = 5_000;

/**
 * Measures the delay of the event loop for prom-client's gauges `nodejs_eventloop_lag_…` while the process has work: the timer of
 * 10 ms takes most of the CPU of an idle process.
 */
export function measureEventLoopDelay(register: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const gauge = (name: string): Gauge => register.getSingleMetric(`nodejs_eventloop_lag_${name}seconds`) as Gauge;
  const lag = gauge('') as Gauge & { collect: () => void };
  const measureLag = lag.collect.bind(lag);
  let scrapedAt = -Infinity;
  // prom-client's sets all gauges, from its own histogram.
  lag.collect = () => {
    measureLag();
    const { min, max, mean, stddev } = delay;
    const values = {
      min,
      max,
      mean,
      stddev,
      p50: delay.percentile(50),
      p90: delay.percentile(90),
      p99: delay.percentile(99),
    };
    for (const [name, value] of Object.entries(values)) gauge(`${name}_`).set(delay.count === 0 ? 0 : value / 1e9);
    delay.reset();
    scrapedAt = clock.now();
  };
  clock
    .setInterval(() => {
      if (clock.now() - Math.max(turnBudget.beganAt, scrapedAt) < IN_USE_MS) delay.enable();
      else delay.disable();
    }, 500)
    .unref();
}
