import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Gauge, Registry } from 'prom-client';
import { clock, MAX_TIMER_MS } from '../clock/clock.ts';
import { turnBudget } from '../event-loop/turn-budget.ts';

/** Precision of prom-client's own histogram, which cannot be stopped: its timer is never due. */
export const UNUSED_PRECISION_MS = MAX_TIMER_MS;
/** Time after the latest work in which the histogram stays on. */
const IN_USE_MS = 5_000;
/** Time without a scrape after which the histogram is switched off, too. */
const MAX_SCRAPE_INTERVAL_MS = 300_000;
const TICK_MS = 500;

/**
 * Measures the delay of the event loop for prom-client's gauges `nodejs_eventloop_lag_…`. The histogram is on while the process
 * has work: its timer of 10 ms takes most of the CPU of an idle process. Else only the lateness of a timer of 500 ms is measured.
 */
export function measureEventLoopDelay(register: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const gauge = (name: string): Gauge => register.getSingleMetric(`nodejs_eventloop_lag_${name}seconds`) as Gauge;
  const lag = gauge('') as Gauge & { collect: () => void };
  const measureLag = lag.collect.bind(lag);
  const hasWork = (): boolean => clock.now() - turnBudget.beganAt < IN_USE_MS;
  let isOn = false;
  let scrapedAt = clock.now();
  let tickAt = scrapedAt;
  let maxLateMs = 0;
  const turnOff = (): void => {
    isOn = false;
    delay.disable();
  };
  // prom-client's sets all gauges, from its own histogram.
  lag.collect = () => {
    measureLag();
    const { count, min, max, mean, stddev } = delay;
    const [p50, p90, p99] = [50, 90, 99].map((part) => delay.percentile(part));
    const values = Object.entries({ min, max, mean, stddev, p50, p90, p99 });
    for (const [name, value = 0] of values) gauge(`${name}_`).set(count === 0 ? 0 : value / 1e9);
    gauge('max_').set(Math.max(count === 0 ? 0 : max / 1e9, maxLateMs / 1e3));
    delay.reset();
    maxLateMs = 0;
    scrapedAt = clock.now();
    // Only here no sample is lost: the next start resets the histogram.
    if (!hasWork()) turnOff();
  };
  clock
    .setInterval(() => {
      const now = clock.now();
      maxLateMs = Math.max(maxLateMs, now - tickAt - TICK_MS);
      tickAt = now;
      if (hasWork()) {
        // Else the first sample is the time since the latest one before the pause.
        if (!isOn) delay.reset();
        isOn = true;
        delay.enable();
      } else if (now - scrapedAt > MAX_SCRAPE_INTERVAL_MS) turnOff();
    }, TICK_MS)
    .unref();
}
