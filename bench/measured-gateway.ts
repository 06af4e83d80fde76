import { monitorEventLoopDelay } from 'node:perf_hooks';
import '../gateway/main.ts';

/**
 * Runs the gateway and sends measurements to the parent process on request: memory after a garbage collection
 * (`--expose-gc`), and event loop delay since the previous request.
 */
export interface Measures {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

process.on('message', () => {
  const delays = { delayP50Ms: delay.percentile(50), delayP99Ms: delay.percentile(99), delayMaxMs: delay.max };
  globalThis.gc?.();
  delay.reset();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
    ...Object.fromEntries(Object.entries(delays).map(([name, nanoseconds]) => [name, nanoseconds / 1e6])),
  });
});
